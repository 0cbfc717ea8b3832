//! A command line that cannot be run.

use crate::render::messages::Messages;
use crate::render::printer::Printer;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use ferrum_trace_analyze::{is_hidden, visible};
use std::process::ExitCode;

/// Prints an error about the command line, or the help or version that it asks for.
pub(crate) fn refuse(error: clap::Error) -> ExitCode {
    let error = visible_error(error);
    let (text, messages) = (error.render().ansi().to_string(), Messages::default());
    match error.use_stderr() {
        true => messages.print(&text),
        false => _ = Printer::new(messages, false).text(&text),
    }
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Replaces hidden characters in what an error quotes from the command line: a glob may stand for files whose names
/// look like flags.
fn visible_error(mut error: clap::Error) -> clap::Error {
    // The usage has line breaks and quotes nothing.
    let quoted = error.context().filter(|(kind, _)| *kind != ContextKind::Usage);
    let cleaned: Vec<_> = quoted.map(|(kind, value)| (kind, visible_value(value))).collect();
    for (kind, value) in cleaned {
        error.insert(kind, value);
    }
    error
}

fn visible_value(value: &ContextValue) -> ContextValue {
    match value {
        ContextValue::String(text) => ContextValue::String(visible(text)),
        ContextValue::Strings(texts) => ContextValue::Strings(texts.iter().map(|text| visible(text)).collect()),
        ContextValue::StyledStr(text) => ContextValue::StyledStr(visible_styled(text)),
        ContextValue::StyledStrs(texts) => ContextValue::StyledStrs(texts.iter().map(visible_styled).collect()),
        other => other.clone(),
    }
}

/// Removes the colors too if there are hidden characters.
fn visible_styled(text: &StyledStr) -> StyledStr {
    match text.to_string() {
        plain if plain.contains(is_hidden) => StyledStr::from(visible(&plain)),
        _ => text.clone(),
    }
}

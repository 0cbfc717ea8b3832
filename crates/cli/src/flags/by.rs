//! The keys of `--by`.

use super::selection::ARG_PREFIX;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, Error};
use std::ffi::OsStr;

/// A key to group by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum By {
    Name,
    #[default]
    Cat,
    Track,
    Process,
    Layer,
    Step,
    Phase,
    Batch,
    /// The name of the enclosing slice.
    Parent,
    /// The value of this argument.
    Arg(String),
}

impl By {
    /// Returns the name in flags, in tables and in JSON.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Arg(name) => format!("{ARG_PREFIX}{name}"),
            other => other.word().to_owned(),
        }
    }

    /// Returns the text of a row whose slices do not have the key: `(no layer)`.
    pub(crate) fn none(&self) -> String {
        format!("(no {})", self.arg().unwrap_or(self.word()))
    }

    /// Returns the argument of the key, if it is one.
    pub(crate) fn arg(&self) -> Option<&str> {
        match self {
            Self::Arg(name) => Some(name),
            _ => None,
        }
    }

    /// Returns the word of the key in the list of possible values.
    fn word(&self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Cat => "cat",
            Self::Track => "track",
            Self::Process => "process",
            Self::Layer => "layer",
            Self::Step => "step",
            Self::Phase => "phase",
            Self::Batch => "batch",
            Self::Parent => "parent",
            Self::Arg(_) => "arg:NAME",
        }
    }
}

/// Parses one of these keys, or `arg:NAME`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByParser(pub(crate) &'static [By]);

impl ByParser {
    fn words(self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(By::word).chain([By::Arg(String::new()).word()])
    }
}

impl TypedValueParser for ByParser {
    type Value = By;

    fn parse_ref(&self, command: &Command, flag: Option<&Arg>, value: &OsStr) -> Result<By, Error> {
        let text = value.to_str().unwrap_or_default();
        if let Some(name) = text.strip_prefix(ARG_PREFIX).filter(|name| !name.is_empty()) {
            return Ok(By::Arg(name.to_owned()));
        }
        let word = PossibleValuesParser::new(self.words()).parse_ref(command, flag, value)?;
        let by = self.0.iter().find(|by| by.word() == word).cloned();
        by.ok_or_else(|| Error::new(ErrorKind::InvalidValue).with_cmd(command))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue>>> {
        Some(Box::new(self.words().map(PossibleValue::new)))
    }
}

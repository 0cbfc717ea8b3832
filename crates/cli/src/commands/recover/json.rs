//! The object of `recover`.

use crate::input::recovery::{KeepReason, Recovered};
use crate::render::json::{RecordingObject, VERSION};
use ferrum_trace_format::spool::layout::StopReason;
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct RecoverObject<'a> {
    version: u32,
    file: String,
    output: String,
    pid: u32,
    events: u64,
    threads: usize,
    dropped: u64,
    stop_reason: Option<&'static str>,
    recorder: RecordingObject<'a>,
    finished: bool,
    live: bool,
    kept: Option<&'static str>,
    damaged: u64,
    missing_events_max: u64,
    diagnostics: Vec<DiagnosticObject<'a>>,
}

#[derive(Serialize)]
struct DiagnosticObject<'a> {
    offset: u64,
    message: &'a str,
}

impl<'a> RecoverObject<'a> {
    pub(crate) fn new(recovered: &'a Recovered) -> Self {
        let summary = &recovered.summary;
        let diagnostics = summary.diagnostics.iter();
        Self {
            version: VERSION,
            file: recovered.input.name(),
            output: recovered.target.name(),
            pid: summary.pid,
            events: summary.events,
            threads: summary.threads,
            dropped: summary.dropped,
            stop_reason: summary.stop_reason.map(StopReason::as_str),
            recorder: (&summary.recording).into(),
            finished: summary.finished,
            live: recovered.is_live(),
            kept: recovered.kept.as_ref().map(KeepReason::name),
            damaged: summary.n_diagnostics,
            missing_events_max: summary.n_missing_max,
            diagnostics: diagnostics.map(|it| DiagnosticObject { offset: it.offset, message: &it.message }).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::paths::Input;
    use crate::output::target::Target;
    use crate::render::json::line;
    use ferrum_trace_format::spool::{Diagnostic, Summary};
    use ferrum_trace_model::Recording;

    #[test]
    fn every_field_has_its_name() {
        let summary = Summary {
            pid: 7,
            process: "engine".to_owned(),
            events: 5,
            dropped: 3,
            threads: 2,
            stop_reason: Some(StopReason::NoSpace),
            finished: true,
            recording: Recording {
                dropped: 3,
                dropped_by_thread: vec![("main 7".to_owned(), 3)],
                stop_reason: Some(StopReason::NoSpace),
                ..Recording::default()
            },
            diagnostics: vec![Diagnostic { offset: 64, message: "odd \"thing\"".to_owned() }],
            n_diagnostics: 9,
            n_missing_max: 40,
            ..Summary::default()
        };
        let input = Input::Spool("t.spool".into());
        let found = Recovered { input, target: Target::Stdout, summary, kept: None, cleanup_errors: Vec::new() };
        let mut out = Vec::new();
        line(&mut out, &RecoverObject::new(&found)).unwrap();
        let expected = concat!(
            r#"{"version":1,"file":"t.spool","output":"-","pid":7,"events":5,"threads":2,"dropped":3,"#,
            r#""stop_reason":"no_space","recorder":{"process":null,"rank":null,"part":null,"recorded":null,"#,
            r#""dropped":3,"dropped_by_thread":{"main 7":3},"stop_reason":"no_space","limit_bytes":null,"#,
            r#""ring_bytes":null,"overwritten_chunks":0,"unfinished":0,"unfinished_by_thread":{},"lost_texts":0,"damaged_places":0,"#,
            r#""missing_events_max":0,"dumps_refused":{},"trigger":null},"#,
            r#""finished":true,"live":false,"kept":null,"damaged":9,"missing_events_max":40,"#,
            r#""diagnostics":[{"offset":64,"message":"odd \"thing\""}]}"#,
            "\n"
        );
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}

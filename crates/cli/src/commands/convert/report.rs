//! The result that `convert` prints.

use ferrum_trace_analyze::convert::Summary;
use ferrum_trace_analyze::repair::Changes;
use ferrum_trace_format::chrome::read::Losses;
use ferrum_trace_model::Recordings;

/// The result of a conversion.
pub(crate) enum Converted {
    Chrome(Changes),
    Other(Box<Summary>),
}

impl Converted {
    /// Returns the parts that could not be read.
    pub(crate) fn losses(&self) -> Losses {
        match self {
            // They are among the repairs.
            Self::Chrome(_) => Losses::default(),
            Self::Other(summary) => summary.losses.clone(),
        }
    }

    /// Returns the facts that the recorder has stored in the trace.
    pub(crate) fn recordings(&self) -> &Recordings {
        match self {
            Self::Chrome(changes) => &changes.recordings,
            Self::Other(summary) => &summary.recordings,
        }
    }

    /// Returns further remarks.
    pub(crate) fn notes(&self) -> Vec<String> {
        let Self::Other(summary) = self else { return Vec::new() };
        let mut notes = Vec::new();
        if summary.has_no_steps {
            notes.push("no steps found; the whole trace is treated as one step of the phase `prefill`".to_owned());
        }
        if let Some(phase) = summary.missing_phase {
            notes.push(format!(
                "the trace has no {phase} steps: a phase without time stands in for them, since vLLM's plot needs one"
            ));
        }
        let unknown =
            [("prompt_len", summary.has_unknown_prompts), ("tensor_parallel_size", summary.has_unknown_devices)];
        for (key, _) in unknown.into_iter().filter(|(_, is_unknown)| *is_unknown) {
            notes.push(format!("`{key}` is null: the trace does not tell it"));
        }
        notes
    }
}

//! Strata: groups of steps that are expected to take equally long.

use crate::steps::{BatchRange, Mark};
use ferrum_trace_model::vocab::Phase;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Batch sizes and prompt lengths up to this number are strata of their own; larger ones are grouped by powers of two.
const EXACT_MAX: u64 = 16;

/// Group of steps of one phase, batch size and number of prompt tokens.
///
/// The boundaries do not depend on the steps that a run happens to have, so that all runs have the same strata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Stratum {
    /// The phase, if known.
    pub phase: Option<Phase>,
    /// Range of batch sizes, if known.
    pub batch: Option<BatchRange>,
    /// Range of the number of prompt tokens; `None` for steps without prompt tokens.
    pub prompt: Option<BatchRange>,
}

impl Stratum {
    /// Returns the stratum of a step.
    pub fn of(mark: &Mark) -> Self {
        let prompt = mark.prefill_tokens.filter(|&tokens| tokens > 0);
        Self { phase: mark.phase, batch: mark.batch.map(range), prompt: prompt.map(range) }
    }
}

fn range(size: u64) -> BatchRange {
    if size <= EXACT_MAX { BatchRange { from: size, to: size } } else { BatchRange::around(size) }
}

impl fmt::Display for Stratum {
    /// Writes, for example, `decode, batch 8` or `prefill, batch 1, prompt 33..64`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.phase.map_or(NO_PHASE, Phase::as_str))?;
        for (word, range) in [(BATCH, self.batch), (PROMPT, self.prompt)] {
            match range {
                Some(BatchRange { from, to }) if from == to => write!(f, ", {word} {from}")?,
                Some(BatchRange { from, to }) => write!(f, ", {word} {from}..{to}")?,
                None => {}
            }
        }
        Ok(())
    }
}

const NO_PHASE: &str = "any phase";
const BATCH: &str = "batch";
const PROMPT: &str = "prompt";

impl From<Stratum> for String {
    fn from(stratum: Stratum) -> Self {
        stratum.to_string()
    }
}

impl TryFrom<String> for Stratum {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        parse(&text).ok_or_else(|| format!("expected a group of steps such as `decode, batch 8`, found `{text}`"))
    }
}

fn parse(text: &str) -> Option<Stratum> {
    let mut fields = text.split(", ");
    let phase = match fields.next()? {
        NO_PHASE => None,
        phase => Some(Phase::from_text(phase)?),
    };
    let mut stratum = Stratum { phase, ..Stratum::default() };
    for field in fields {
        let (word, range) = field.split_once(' ')?;
        let (from, to) = range.split_once("..").unwrap_or((range, range));
        let range = Some(BatchRange { from: from.parse().ok()?, to: to.parse().ok()? });
        match word {
            BATCH => stratum.batch = range,
            PROMPT => stratum.prompt = range,
            _ => return None,
        }
    }
    Some(stratum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::StepSource;

    fn mark(batch: Option<u64>, prompt: Option<u64>) -> Mark {
        Mark { batch, prefill_tokens: prompt, ..Mark::new(StepSource::Ferrum, Some(Phase::Decode)) }
    }

    #[test]
    fn a_stratum_is_parsed_from_its_text() {
        let cases = [
            (mark(Some(8), None), "decode, batch 8"),
            (mark(Some(8), Some(0)), "decode, batch 8"),
            (mark(Some(40), Some(700)), "decode, batch 33..64, prompt 513..1024"),
            (mark(None, None), "decode"),
            (Mark::new(StepSource::Profiler, None), "any phase"),
        ];
        for (mark, text) in cases {
            let stratum = Stratum::of(&mark);
            assert_eq!(stratum.to_string(), text);
            assert_eq!(Stratum::try_from(text.to_owned()), Ok(stratum));
        }
        for wrong in ["", "walk", "decode, batch", "decode, batch x", "decode, colour 7"] {
            assert!(Stratum::try_from(wrong.to_owned()).unwrap_err().contains("found"), "{wrong}");
        }
    }
}

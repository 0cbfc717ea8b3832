//! `steps`: what an engine's steps take, and why.

use super::Unread;
use crate::args::StepsArgs;
use crate::interrupt;
use crate::out::json::StepsObject;
use crate::out::printer::Printer;
use crate::out::words::Words;
use crate::out::{absent, steps as out};
use crate::source::{Passes, Source};
use crate::trouble::Trouble;
use crate::verdict::Verdict;
use ferrum_trace_analyze::{Nesting, STEP_ARGS, Steps, steps};
use ferrum_trace_format::chrome::read::{LoadOptions, Loaded, load};

/// What is looked for.
const LOOKED_FOR: &[&str] = &[
    "slices of category `step`",
    "marks of vLLM such as `execute_context_1(512)_generation_3(3)`",
    "marks of SGLang such as `step[DECODE bs=64]`",
    "annotations that begin with `prefill`, `decode` or `mixed`",
    "`ProfilerStep#1`",
];

pub fn run(args: &StepsArgs) -> Verdict {
    interrupt::install("nothing was written");
    let words = Words { verbose: args.verbose };
    let mut is_first = true;
    let mut printer = Printer::new(words, args.json);
    super::each_trace(super::expand(&args.inputs), Passes::One, Unread::Ends, &mut printer, |source, printer| {
        let stepped = Stepped::of(source, args)?;
        let verdict = if args.json {
            printer.object(&StepsObject::new(source, &stepped, args.each))
        } else {
            let gap = if std::mem::take(&mut is_first) { "" } else { "\n" };
            let verdict = printer.text(&format!("{gap}{}", stepped.text(source, args.each)));
            words.losses(&source.words, &stepped.loaded.losses, &stepped.notes);
            verdict
        };
        let found = if stepped.steps.steps.is_empty() { Verdict::Finding } else { Verdict::Fine };
        Ok(verdict.max(found))
    })
}

/// All that is said of a trace.
pub struct Stepped {
    pub loaded: Loaded,
    pub notes: Vec<String>,
    pub steps: Steps,
}

impl Stepped {
    fn of(source: &Source, args: &StepsArgs) -> Result<Self, Trouble> {
        let options = LoadOptions { args: STEP_ARGS.map(str::to_owned).to_vec(), ..LoadOptions::default() };
        let opened = source.open().map_err(|error| source.trouble(&error))?;
        let loaded = load(opened, &options).map_err(|error| source.trouble(&error))?;
        let nesting = Nesting::of(&loaded.trace);
        let selected = args.selection.selection().apply(&loaded.trace);
        let steps = steps(&loaded.trace, &nesting, &selected, &args.options());
        let mut notes = source.facts().notes();
        if steps.n_tracks > 1 {
            let n_tracks = steps.n_tracks;
            notes.push(format!(
                "steps are on {n_tracks} tracks: tokens are counted on each, `--filter track=ID` picks one"
            ));
        }
        Ok(Self { notes, steps, loaded })
    }

    fn text(&self, source: &Source, each: bool) -> String {
        if self.steps.steps.is_empty() {
            return absent::text(source, &self.loaded.trace, "steps", LOOKED_FOR);
        }
        out::text(source, self, each)
    }
}

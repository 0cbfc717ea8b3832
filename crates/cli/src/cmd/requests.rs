//! `requests`: how long requests take, and what they wait for.

use super::Unread;
use crate::args::RequestsArgs;
use crate::interrupt;
use crate::out::json::RequestsObject;
use crate::out::printer::Printer;
use crate::out::units::count;
use crate::out::words::Words;
use crate::out::{absent, requests as out};
use crate::source::{Passes, Source};
use crate::trouble::Trouble;
use crate::verdict::Verdict;
use ferrum_trace_analyze::{Nesting, REQUEST_ARGS, Requests, STEP_ARGS, requests};
use ferrum_trace_format::chrome::read::{LoadOptions, Loaded, load};

/// What stands for the request with the largest latency.
const SLOWEST: &str = "slowest";

/// What is looked for.
const LOOKED_FOR: &[&str] =
    &["asynchronous events (b, n, e) of category `request`, with a slice `request` from arrival to end"];

pub fn run(args: &RequestsArgs) -> Verdict {
    interrupt::install("nothing was written");
    let words = Words { verbose: args.verbose };
    let mut is_first = true;
    let mut printer = Printer::new(words, args.json);
    super::each_trace(super::expand(&args.inputs), Passes::One, Unread::Ends, &mut printer, |source, printer| {
        let requested = Requested::of(source, args)?;
        let verdict = if args.json {
            printer.object(&RequestsObject::new(source, &requested, args))
        } else {
            let gap = if std::mem::take(&mut is_first) { "" } else { "\n" };
            let verdict = printer.text(&format!("{gap}{}", requested.text(source, args)));
            words.losses(&source.words, &requested.loaded.losses, &requested.notes);
            verdict
        };
        let found = if requested.requests.requests.is_empty() { Verdict::Finding } else { Verdict::Fine };
        Ok(verdict.max(found))
    })
}

/// All that is said of a trace.
pub struct Requested {
    pub loaded: Loaded,
    pub notes: Vec<String>,
    pub requests: Requests,
    /// The requests that are to be explained, by their places.
    pub explained: Vec<usize>,
}

impl Requested {
    fn of(source: &Source, args: &RequestsArgs) -> Result<Self, Trouble> {
        let wanted = STEP_ARGS.iter().chain(&REQUEST_ARGS).map(|&key| key.to_owned()).collect();
        let opened = source.open().map_err(|error| source.trouble(&error))?;
        let loaded = load(opened, &LoadOptions { args: wanted, ..LoadOptions::default() })
            .map_err(|error| source.trouble(&error))?;
        let nesting = Nesting::of(&loaded.trace);
        let requests = requests(&loaded.trace, &nesting, args.arrived.clone(), &args.slos);
        let mut notes = source.facts().notes();
        notes.extend(oddities(&requests));
        let explained = if requests.requests.is_empty() {
            Vec::new()
        } else {
            explained(source, &loaded, &requests, &args.explain)?
        };
        Ok(Self { loaded, notes, requests, explained })
    }

    fn text(&self, source: &Source, args: &RequestsArgs) -> String {
        if self.requests.requests.is_empty() {
            return absent::text(source, &self.loaded.trace, "requests", LOOKED_FOR);
        }
        out::text(source, self, args)
    }
}

/// What is odd about the requests of a trace.
fn oddities(requests: &Requests) -> Vec<String> {
    let mut notes = Vec::new();
    if requests.n_strays > 0 {
        let strays = count(requests.n_strays, "event");
        notes.push(format!(
            "{strays} of category `request` without a request around: its begin or its end is not in the trace"
        ));
    }
    let n_miscounted = requests.figures.n_miscounted;
    if n_miscounted > 0 {
        let miscounted = count(n_miscounted, "request");
        notes.push(format!("{miscounted} with another number of output tokens at the end than came"));
    }
    notes
}

fn explained(source: &Source, loaded: &Loaded, requests: &Requests, ids: &[String]) -> Result<Vec<usize>, Trouble> {
    let mut places = Vec::new();
    for id in ids {
        let found = match id.as_str() {
            SLOWEST => requests.by_latency().into_iter().take(1).collect(),
            id => requests.find(&loaded.trace, id),
        };
        if found.is_empty() {
            let what = match id.as_str() {
                SLOWEST => "expected a request that has ended, found none".to_owned(),
                id => format!("expected a request with the id `{id}`, found none"),
            };
            return Err(Trouble::new(source.words.clone(), what).hint("`requests --each` lists the ids"));
        }
        places.extend(found);
    }
    Ok(places)
}

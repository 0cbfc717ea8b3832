//! Reads arbitrary settings of a recording. They are accepted or refused, with one line for each invalid part.

#![no_main]

use ferrum_trace::__private::read_settings;
use ferrum_trace::{Categories, Trigger, Window};
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 12] = [
    "FERRUM_TRACE_LIMIT",
    "FERRUM_TRACE_RING",
    "FERRUM_TRACE_ROTATE",
    "FERRUM_TRACE_WINDOW",
    "FERRUM_TRACE_CATEGORIES",
    "FERRUM_TRACE_TRIGGER",
    "FERRUM_TRACE_DUMPS",
    "FERRUM_TRACE_CLOCK",
    "FERRUM_TRACE_OUT",
    "RANK",
    "OMPI_COMM_WORLD_RANK",
    "SLURM_PROCID",
];

fuzz_target!(|text: &str| {
    // Each line is a value; the names are used in turn.
    let lines = text.lines().map(|line| (line, line.matches(',').count() + 1));
    let vars: Vec<_> = NAMES.into_iter().cycle().zip(lines).collect();
    let n_parts: usize = vars.iter().map(|(_, (_, n_parts))| n_parts).sum();
    // The first of several values counts, so this one is used only without another.
    let out = ("FERRUM_TRACE_OUT", "trace.json");
    let complaints = read_settings(vars.iter().map(|&(name, (value, _))| (name, value)).chain([out]));
    // A ring with rotation is one complaint, about a line that has no other.
    assert!(complaints.len() <= n_parts);
    // A value that was read is formatted such that it can be read again.
    for part in text.split([',', '\n']) {
        if let Ok(trigger) = part.parse::<Trigger>() {
            assert_eq!(trigger.to_string().parse(), Ok(trigger));
        }
        let _ = (part.parse::<Window>(), part.parse::<Categories>());
    }
});

//! Whatever the settings of a recording are, they are read or complained about, in one line for each part that is wrong.

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
    // A line is a value; the names take turns.
    let lines = text.lines().map(|line| (line, line.matches(',').count() + 1));
    let vars: Vec<_> = NAMES.into_iter().cycle().zip(lines).collect();
    let n_parts: usize = vars.iter().map(|(_, (_, n_parts))| n_parts).sum();
    // Of several values the first counts, so that this one does where there is no other.
    let out = ("FERRUM_TRACE_OUT", "trace.json");
    let complaints = read_settings(vars.iter().map(|&(name, (value, _))| (name, value)).chain([out]));
    // A ring that is asked to rotate is one complaint, about a line that has no other.
    assert!(complaints.len() <= n_parts);
    // What is read is written as it can be read.
    for part in text.split([',', '\n']) {
        if let Ok(trigger) = part.parse::<Trigger>() {
            assert_eq!(trigger.to_string().parse(), Ok(trigger));
        }
        let _ = (part.parse::<Window>(), part.parse::<Categories>());
    }
});

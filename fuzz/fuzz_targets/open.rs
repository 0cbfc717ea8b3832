//! Opens arbitrary bytes as a trace: compressed, truncated or something else. They are read or refused.

#![no_main]

use ferrum_trace_format::chrome::read::{LoadOptions, load};
use ferrum_trace_format::open::open;
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;

fuzz_target!(|bytes: &[u8]| {
    let Ok(opened) = open(Cursor::new(bytes.to_vec())) else {
        return;
    };
    let notes = opened.notes.clone();
    let _ = load(opened, &LoadOptions { args: Vec::new(), n_workers: 1 });
    assert!(notes.all().len() <= bytes.len() + 1000);
});

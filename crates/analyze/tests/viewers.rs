//! Leaves repaired files for the step `viewers` of `cargo xtask check`, which opens them in Perfetto's trace_processor.

use ferrum_trace_analyze::repair::{RepairOptions, repair};
use std::fs;
use std::io::{Cursor, Read};
use std::path::Path;

/// Leaves the repaired file, and the counts that Perfetto must find in it.
fn leave(name: &str, file: &str, expectation: &str) {
    let open = || Ok(Box::new(Cursor::new(file.to_owned().into_bytes())) as Box<dyn Read + Send>);
    let mut out = Vec::new();
    repair(&open, &mut out, &RepairOptions::default()).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("viewer-check");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(name), out).unwrap();
    fs::write(folder.join(format!("{name}.expect")), expectation).unwrap();
}

#[test]
fn slices_that_do_not_nest_are_left_for_the_viewers() {
    let file = r#"[
        {"ph":"M","name":"thread_name","pid":1,"tid":11,"args":{"name":"main"}},
        {"ph":"X","name":"first","pid":1,"tid":11,"ts":100,"dur":100},
        {"ph":"X","name":"second","pid":1,"tid":11,"ts":150,"dur":100},
        {"ph":"X","name":"third","pid":1,"tid":11,"ts":180,"dur":5},
        {"ph":"X","name":"inner","pid":1,"tid":12,"ts":100,"dur":5},
        {"ph":"X","name":"outer","pid":1,"tid":12,"ts":100,"dur":50},
        {"ph":"X","name":"zero","pid":1,"tid":0,"ts":100,"dur":50},
        {"ph":"X","name":"one","pid":1,"tid":1,"ts":120,"dur":50},
        {"ph":"X","name":"text","pid":1,"tid":"stream 7","ts":120,"dur":50},
        {"ph":"X","name":"large","pid":1,"tid":1099511627777,"ts":120,"dur":50},"#;
    leave("repaired-slices.json", file, "slices=9\ninstants=0\nunended=0\ndepth=2\nthreads=7\n");
}

#[test]
fn begins_and_ends_are_left_for_the_viewers() {
    let file = r#"{"traceEvents":[
        {"ph":"B","name":"a","pid":1,"tid":11,"ts":100},
        {"ph":"E","name":"other","pid":1,"tid":11,"ts":130,"args":{"k":1}},
        {"ph":"E","name":"a","pid":1,"tid":11,"ts":140},
        {"ph":"B","name":"never closed","pid":1,"tid":11,"ts":150},
        {"ph":"E","name":"late","pid":1,"tid":12,"ts":130},
        {"ph":"B","name":"late","pid":1,"tid":12,"ts":100},
        {"ph":"B","name":"with x","pid":1,"tid":13,"ts":100},
        {"ph":"X","name":"x","pid":1,"tid":13,"ts":100,"dur":10},
        {"ph":"E","name":"with x","pid":1,"tid":13,"ts":130},
        {"ph":"B","name":"zero","pid":1,"tid":13,"ts":130},
        {"ph":"E","name":"zero","pid":1,"tid":13,"ts":130},
        {"ph":"X","name":"no duration","pid":1,"tid":13,"ts":200},
        {"ph":"Z","name":"unknown","pid":1,"tid":13,"ts":300}"#;
    leave("repaired-begins.json", file, "slices=8\ninstants=3\nunended=0\ndepth=2\n");
}

#[test]
fn flows_and_async_events_are_left_for_the_viewers() {
    let file = r#"{"traceEvents":[
        {"ph":"X","name":"\u00e9 \ud83d\ude00 \"","pid":1,"tid":11,"ts":-100,"dur":500},
        {"ph":"X","name":"dst","pid":1,"tid":12,"ts":"100.5","dur":"50"},
        {"ph":"s","name":"f","pid":1,"tid":11,"ts":10,"id":"req-1"},
        {"ph":"f","name":"f","pid":1,"tid":12,"ts":110,"id":"req-1"},
        {"ph":"s","name":"f","pid":1,"tid":11,"ts":20,"id":"req-1"},
        {"ph":"f","name":"f","pid":1,"tid":12,"ts":120,"id":"req-1"},
        {"ph":"f","name":"f","pid":1,"tid":12,"ts":130,"id":"req-1"},
        {"ph":"f","name":"lost","pid":1,"tid":12,"ts":130,"id":9},
        {"ph":"b","name":"r","cat":"q","pid":1,"tid":11,"ts":10,"id":1},
        {"ph":"b","name":"r","cat":"q","pid":2,"tid":11,"ts":15,"id":1},
        {"ph":"e","name":"r","cat":"q","pid":1,"tid":11,"ts":20,"id":1},
        {"ph":"e","name":"r","cat":"q","pid":2,"tid":11,"ts":25,"id":1},
        {"ph":"b","name":"open","cat":"q","pid":1,"tid":11,"ts":30,"id":2},
        {"ph":"S","name":"old","cat":"q","pid":1,"tid":11,"ts":30,"id":3},
        {"ph":"F","name":"old","cat":"q","pid":1,"tid":11,"ts":40,"id":3},
        {"ph":"C","name":"c","pid":1,"tid":11,"ts":30,"args":{"a":"7","b":null,"c":true}}
    ]}"#;
    leave("repaired-flows.json", file, "slices=6\ninstants=0\nunended=0\nflows=3\ncounters=2\n");
}

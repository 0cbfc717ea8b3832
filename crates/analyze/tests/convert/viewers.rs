//! Leaves a Perfetto trace with events of every kind for the step `viewers` of `cargo xtask check`.

use crate::converted;
use ferrum_trace_analyze::convert::Target;
use std::fs;
use std::path::Path;

/// Slices of every kind (8, and 1 that does not nest, and 1 that never ends), async slices (4), points (6), counters (3
/// values), flows (4: one with a step, one that binds to the next slice, one with `bind_id`), ids that are not numbers.
const TRACE: &str = r#"[
{"ph":"M","name":"process_name","pid":1,"args":{"name":"engine"}},
{"ph":"M","name":"process_labels","pid":1,"args":{"labels":"GPU 0"}},
{"ph":"M","name":"process_sort_index","pid":1,"args":{"sort_index":-1}},
{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"main"}},
{"ph":"M","name":"thread_sort_index","pid":1,"tid":1,"args":{"sort_index":5}},
{"ph":"X","name":"step","cat":"step","ts":-5,"dur":100,"pid":1,"tid":1,"args":{"n":1,"list":[1,{"a":null}],"text":"é\n"}},
{"ph":"X","name":"layer","ts":-5,"dur":50,"pid":1,"tid":1,"args":{"big":18446744073709551615,"float":0.1,"truth":true}},
{"ph":"X","name":"nothing","ts":-5,"dur":0,"pid":1,"tid":1},
{"ph":"B","name":"layer","ts":45,"pid":1,"tid":1,"args":{"a":1}},
{"ph":"E","ts":95,"pid":1,"tid":1,"args":{"b":2}},
{"ph":"X","name":"kernel","ts":10,"dur":20,"pid":0,"tid":"stream 7"},
{"ph":"X","name":"overlapping kernel","ts":20,"dur":20,"pid":0,"tid":"stream 7"},
{"ph":"B","name":"never ends","ts":30,"pid":1,"tid":3},
{"ph":"X","name":"inside of it","ts":40,"dur":1,"pid":1,"tid":3},
{"ph":"X","name":"out","ts":100,"dur":1,"pid":1,"tid":2,"bind_id":"0x1","flow_out":true},
{"ph":"X","name":"in","ts":110,"dur":1,"pid":1,"tid":2,"bind_id":"0x1","flow_in":true},
{"ph":"b","name":"request","cat":"serve","id":"r1","ts":0,"pid":1,"tid":1},
{"ph":"b","name":"prefill","cat":"serve","id":"r1","ts":1,"pid":1,"tid":1},
{"ph":"n","name":"token","cat":"serve","id":"r1","ts":2,"pid":1,"tid":1},
{"ph":"e","name":"prefill","cat":"serve","id":"r1","ts":3,"pid":1,"tid":1},
{"ph":"b","name":"request","cat":"serve","id":"r2","ts":2,"pid":1,"tid":1},
{"ph":"e","name":"request","cat":"serve","id":"r1","ts":8,"pid":1,"tid":1},
{"ph":"e","name":"request","cat":"serve","id":"r2","ts":9,"pid":1,"tid":1},
{"ph":"S","name":"old","cat":"serve","id":"7","ts":20,"pid":1,"tid":1},
{"ph":"T","name":"old","cat":"serve","id":"7","ts":21,"pid":1,"tid":1,"args":{"step":"one"}},
{"ph":"F","name":"old","cat":"serve","id":"7","ts":22,"pid":1,"tid":1},
{"ph":"i","name":"thread's","ts":5,"pid":1,"tid":1,"s":"t"},
{"ph":"I","name":"process's","ts":5,"pid":1,"tid":1,"s":"p"},
{"ph":"i","name":"everybody's","ts":5,"pid":1,"tid":1,"s":"g"},
{"ph":"R","name":"mark","ts":5,"pid":1,"tid":1},
{"ph":"C","name":"memory","ts":1,"pid":1,"args":{"used":1,"free":2.5}},
{"ph":"C","name":"memory","ts":2,"pid":1,"args":{"used":-3}},
{"ph":"s","name":"launch","cat":"ac2g","id":1,"ts":-5,"pid":1,"tid":1},
{"ph":"t","name":"launch","cat":"ac2g","id":1,"ts":10,"pid":0,"tid":"stream 7"},
{"ph":"f","name":"launch","cat":"ac2g","id":1,"ts":40,"pid":0,"tid":"stream 7","bp":"e"},
{"ph":"s","name":"launch","cat":"ac2g","id":1,"ts":50,"pid":1,"tid":1},
{"ph":"f","name":"launch","cat":"ac2g","id":1,"ts":105,"pid":1,"tid":2},
{"ph":"N","name":"object","ts":1,"pid":1,"tid":1,"id":"0x1"}
]"#;

#[test]
fn a_perfetto_trace_with_all_kinds_of_events_is_left_for_the_viewers() {
    let (pftrace, summary) = converted(Target::Perfetto, TRACE);
    assert_eq!((summary.n_slices, summary.n_instants, summary.n_counter_values), (14, 6, 3));
    assert_eq!((summary.n_flow_points, summary.left.unbound_flow_points, summary.n_moved), (7, 0, 1));
    assert_eq!((summary.shift_ns, summary.left.unclosed), (5000, 1));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("viewer-check");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("converted.pftrace"), pftrace).unwrap();
    let expectation = "slices=20\ninstants=7\nunended=1\ndepth=4\nflows=4\ncounters=3\nthreads=5\nprocesses=2\n";
    fs::write(folder.join("converted.pftrace.expect"), expectation).unwrap();
}

//! Leaves merged files for the step `viewers` of `cargo xtask check`, which opens them in Perfetto's trace_processor.

use crate::merged;
use crate::world::{Host, Work, Writer, traces};
use std::path::Path;

#[test]
fn ranks_of_two_hosts_are_left_for_the_viewers() {
    let hosts =
        [(0, 0), (3_000_000_000, 40_000)].map(|(offset_ns, drift_ppb)| Host { offset_ns, drift_ppb, n_ranks: 2 });
    let work = Work { writer: Writer::Ferrum, n_steps: 10, step_ns: 1_000_000, network_ns: 20_000, seed: 3 };
    let made = merged(&traces(&hosts, &work));
    made.assert_clean();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("viewer-check");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("merged-ranks.json"), &made.bytes).unwrap();
    std::fs::write(folder.join("merged-ranks.json.expect"), "slices=80\nthreads=4\nprocesses=4\ndepth=2\n").unwrap();
}

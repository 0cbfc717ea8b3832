//! Properties of paths on random traces.

use super::super::build::{Built, build};
use super::super::graph::Dependency;
use super::super::node::Node;
use super::super::piece::Piece;
use super::super::report::pieces_of;
use super::super::retime::{Change, Order, Retimed};
use super::super::timing::Timing;
use super::super::window::Window;
use super::{add_arg, add_flow};
use crate::structure::nesting::Nesting;
use crate::test_traces;
use ferrum_trace_model::{Trace, TrackId};
use proptest::prelude::*;

/// No change.
struct Unchanged;

impl Change for Unchanged {
    fn cost(&self, _: u32, _: &Node, cost: i64) -> i64 {
        cost
    }

    fn lag(&self, _: u32, it: &Dependency) -> i64 {
        it.lag
    }
}

/// A slice of a random trace: track, name, start, duration, correlation.
type RandomSlice = (usize, usize, i64, i64, u32);

/// Process, thread and category of each track.
const TRACKS: [(&str, &str); 5] = [("1", "1"), ("1", "2"), ("2", "1"), ("0", "7"), ("0", "8")];
/// Names of slices of threads, with their categories.
const HOST: [(&str, &str); 6] = [
    ("cpu_op", "aten::mm"),
    ("cuda_runtime", "cudaLaunchKernel"),
    ("cuda_runtime", "cudaDeviceSynchronize"),
    ("cuda_runtime", "cudaMemcpy"),
    ("", "wait for work"),
    ("comm", "all_reduce"),
];

fn slices() -> impl Strategy<Value = Vec<RandomSlice>> {
    prop::collection::vec((0..TRACKS.len(), 0..HOST.len(), 0_i64..60, 0_i64..20, 0_u32..6), 1..40)
}

fn flows() -> impl Strategy<Value = Vec<(u32, i64, u32, i64)>> {
    prop::collection::vec((0_u32..3, 0_i64..70, 0_u32..3, 0_i64..10), 0..5)
}

/// Builds a trace with launches, synchronization, flows and collectives at random places.
fn random_trace(slices: &[RandomSlice], flows: &[(u32, i64, u32, i64)]) -> Trace {
    let described: Vec<_> = slices
        .iter()
        .map(|&(track, name, start, duration, _)| {
            let (pid, tid) = TRACKS[track];
            let (category, name) = if pid == "0" { ("kernel", "gemm") } else { HOST[name] };
            (pid, tid, category, name, start, start + duration)
        })
        .collect();
    let mut trace = test_traces::trace(&described);
    let values: Vec<(u32, String)> = slices.iter().zip(0..).map(|(it, order)| (order, it.4.to_string())).collect();
    let values: Vec<(u32, &str)> = values.iter().map(|(order, value)| (*order, value.as_str())).collect();
    add_arg(&mut trace, "correlation", &values);
    let n_tracks = trace.tracks.len() as u32;
    for (id, &(from, sent, to, delay)) in flows.iter().enumerate() {
        add_flow(&mut trace, &id.to_string(), [(from % n_tracks, sent), (to % n_tracks, sent + delay)]);
    }
    trace
}

/// Windows of a trace: the whole, and some ranges.
fn windows(trace: &Trace, built: &Built) -> Vec<Window> {
    let mut windows = vec![Window::whole(trace, built)];
    for range in [(0, 30), (10, 45), (33, 34)] {
        windows.push(Window::of_time(trace, built, range, Some(TrackId(0))));
    }
    windows
}

/// Checks that pieces cover a window.
fn assert_tiles(window: &Window, pieces: &[Piece]) {
    let mut now = window.from;
    for piece in pieces {
        assert_eq!(piece.start, now, "no gap and no overlap");
        assert!(piece.end > piece.start, "no empty piece");
        now = piece.end;
    }
    assert!(now == window.to || window.duration() <= 0, "the window is covered to its end");
}

/// Checks that the graph reproduces the recording.
fn assert_reproduces(built: &Built, window: &Window) {
    let order = Order::of(&built.graph, window);
    let retimed = Retimed::of(&built.graph, window, &order, &Unchanged);
    for &node in &order.nodes {
        assert_eq!(retimed.start(node), built.graph.nodes[node as usize].start, "node {node}");
    }
    if let Some(last) = window.last(built) {
        assert_eq!(retimed.end(window).0, built.graph.nodes[last as usize].end.min(window.to));
    }
}

/// A change that shortens the nodes that a function selects.
struct Shorter<F>(F, i64);

impl<F: Fn(u32) -> bool> Change for Shorter<F> {
    fn cost(&self, node: u32, _: &Node, cost: i64) -> i64 {
        if (self.0)(node) { cost / self.1 } else { cost }
    }

    fn lag(&self, target: u32, it: &Dependency) -> i64 {
        if (self.0)(target) { it.lag / self.1 } else { it.lag }
    }
}

/// Checks that shorter work does not make the window longer.
fn assert_shorter(built: &Built, window: &Window, is_changed: impl Fn(u32) -> bool, divisor: i64) {
    let order = Order::of(&built.graph, window);
    let before = Retimed::of(&built.graph, window, &order, &Unchanged).end(window).0;
    let change = Shorter(is_changed, divisor);
    let after = Retimed::of(&built.graph, window, &order, &change).end(window).0;
    assert!(after <= before, "{after} > {before}");
}

/// Returns true for the nodes whose slices are on a path.
fn on_path<'a>(built: &'a Built, pieces: &'a [Piece]) -> impl Fn(u32) -> bool + 'a {
    let mut slices: Vec<u32> = pieces.iter().filter_map(|piece| piece.slice).collect();
    slices.sort_unstable();
    move |node| slices.binary_search(&built.graph.nodes[node as usize].slice).is_ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn pieces_cover_the_window(slices in slices(), flows in flows()) {
        let trace = random_trace(&slices, &flows);
        let built = build(&trace, &Nesting::of(&trace));
        for window in windows(&trace, &built) {
            assert_tiles(&window, &pieces_of(&built, &window));
        }
    }

    #[test]
    fn the_unchanged_graph_reproduces_the_recording(slices in slices(), flows in flows()) {
        let trace = random_trace(&slices, &flows);
        let built = build(&trace, &Nesting::of(&trace));
        for window in windows(&trace, &built) {
            assert_reproduces(&built, &window);
        }
    }

    #[test]
    fn shorter_work_never_makes_the_window_longer(
        slices in slices(),
        flows in flows(),
        seed in 0_u32..1000,
        divisor in 1_i64..5,
    ) {
        let trace = random_trace(&slices, &flows);
        let built = build(&trace, &Nesting::of(&trace));
        for window in windows(&trace, &built) {
            let pieces = pieces_of(&built, &window);
            assert_shorter(&built, &window, on_path(&built, &pieces), divisor);
            assert_shorter(&built, &window, |node| node.wrapping_mul(2_654_435_761).wrapping_add(seed) % 3 == 0, divisor);
        }
    }

    #[test]
    fn nodes_of_a_thread_do_not_overlap_and_have_its_self_times(slices in slices(), flows in flows()) {
        let trace = random_trace(&slices, &flows);
        let nesting = Nesting::of(&trace);
        let built = build(&trace, &nesting);
        let mut sums = vec![0_i64; trace.slices.len()];
        for (track, _) in trace.tracks.iter().filter(|(track, _)| !built.works.is_device_track[track.index()]) {
            let nodes = &built.graph.nodes[built.graph.of_track(track)];
            prop_assert!(nodes.windows(2).all(|pair| pair[0].end <= pair[1].start));
            for node in nodes.iter().filter(|node| node.slice != super::super::node::NONE) {
                sums[node.slice as usize] += node.end - node.start;
            }
        }
        for (slice, &sum) in sums.iter().enumerate().filter(|(slice, _)| built.works.is_host(&trace, *slice)) {
            prop_assert_eq!(sum, nesting.self_time[slice]);
        }
    }
}

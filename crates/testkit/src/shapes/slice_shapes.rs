//! Slices of threads.

use super::{List, Shape};
use std::io;

pub(super) const SHAPES: &[Shape] = &[
    Shape { name: "nested-slices", write: nested },
    Shape { name: "nested-slices-of-many-names", write: nested_names },
    Shape { name: "nested-slices-inner-first", write: nested_inner_first },
    Shape { name: "nested-begins", write: nested_begins },
    Shape { name: "deep-stacks-with-leaves", write: deep_leaves },
    Shape { name: "names", write: names },
    Shape { name: "categories", write: categories },
    Shape { name: "threads", write: threads },
    Shape { name: "processes", write: processes },
    Shape { name: "overlapping-slices", write: overlapping },
    Shape { name: "overlapping-slices-that-shrink", write: overlapping_shrinking },
    Shape { name: "equal-slices", write: equal },
    Shape { name: "empty-slices-at-one-time", write: empty },
    Shape { name: "begins-without-ends", write: begins },
    Shape { name: "ends-without-begins", write: ends },
    Shape { name: "begins-without-ends-on-many-threads", write: begins_of_threads },
    Shape { name: "args-with-many-keys", write: many_keys },
    Shape { name: "args-that-are-long", write: long_args },
    Shape { name: "args-that-nest", write: nested_args },
];

fn nested(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |depth| {
        let duration = 2 * (n - depth);
        format!(r#"{{"ph":"X","name":"f","ts":{depth},"dur":{duration},"pid":1,"tid":1}}"#)
    })
}

fn nested_names(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |depth| {
        let duration = 2 * (n - depth);
        format!(r#"{{"ph":"X","name":"function {depth}","cat":"c","ts":{depth},"dur":{duration},"pid":1,"tid":1}}"#)
    })
}

fn nested_inner_first(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events((0..n).rev(), |depth| {
        let duration = 2 * (n - depth);
        format!(r#"{{"ph":"X","name":"f","ts":{depth},"dur":{duration},"pid":1,"tid":1}}"#)
    })
}

fn nested_begins(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n / 2, |depth| format!(r#"{{"ph":"B","name":"f {depth}","ts":{depth},"pid":1,"tid":1}}"#))?;
    list.events(n / 2..n, |end| format!(r#"{{"ph":"E","ts":{end},"pid":1,"tid":1}}"#))
}

/// Half of the slices are nested, the others are short and in the innermost one.
fn deep_leaves(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n / 2, |depth| {
        let duration = 2 * n - 2 * depth;
        format!(r#"{{"ph":"X","name":"f","ts":{depth},"dur":{duration},"pid":1,"tid":1}}"#)
    })?;
    list.events(0..n / 2, |leaf| {
        let start = n / 2 + leaf;
        format!(r#"{{"ph":"X","name":"leaf {leaf}","ts":{start},"dur":0.5,"pid":1,"tid":1}}"#)
    })
}

fn names(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |slice| format!(r#"{{"ph":"X","name":"name {slice}","ts":{slice},"dur":1,"pid":1,"tid":1}}"#))
}

fn categories(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |slice| {
        format!(r#"{{"ph":"X","name":"f","cat":"category {slice}","ts":{slice},"dur":1,"pid":1,"tid":1}}"#)
    })
}

fn threads(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |slice| format!(r#"{{"ph":"X","name":"f","ts":{slice},"dur":1,"pid":1,"tid":{slice}}}"#))
}

fn processes(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |slice| format!(r#"{{"ph":"X","name":"f","ts":{slice},"dur":1,"pid":{slice},"tid":1}}"#))
}

/// Each slice partly overlaps all others.
fn overlapping(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |slice| format!(r#"{{"ph":"X","name":"f","ts":{slice},"dur":{n},"pid":1,"tid":1}}"#))
}

/// Slices that partly overlap, alternating with slices that nest.
fn overlapping_shrinking(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |slice| {
        let duration = if slice % 2 == 0 { 2 * n } else { 2 * (n - slice) };
        format!(r#"{{"ph":"X","name":"f","ts":{slice},"dur":{duration},"pid":1,"tid":1}}"#)
    })
}

fn equal(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |_| r#"{"ph":"X","name":"f","ts":5,"dur":7,"pid":1,"tid":1}"#.to_owned())
}

fn empty(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |slice| format!(r#"{{"ph":"X","name":"f {}","ts":5,"dur":0,"pid":1,"tid":1}}"#, slice % 7))
}

fn begins(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |begin| format!(r#"{{"ph":"B","name":"f","ts":{begin},"pid":1,"tid":1}}"#))
}

fn ends(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |end| format!(r#"{{"ph":"E","name":"f","ts":{end},"pid":1,"tid":1}}"#))
}

fn begins_of_threads(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |begin| format!(r#"{{"ph":"B","name":"f","ts":{begin},"pid":1,"tid":{begin}}}"#))
}

fn many_keys(list: &mut List<'_>, n: u64) -> io::Result<()> {
    let keys: Vec<String> = (0..n).map(|key| format!(r#""key {key}":{key}"#)).collect();
    let keys = keys.join(",");
    list.event(format_args!(r#"{{"ph":"X","name":"f","ts":1,"dur":1,"pid":1,"tid":1,"args":{{{keys}}}}}"#))
}

fn long_args(list: &mut List<'_>, n: u64) -> io::Result<()> {
    let text = "a \\\"long\\\" text ".repeat(n as usize);
    list.event(format_args!(r#"{{"ph":"X","name":"f","ts":1,"dur":1,"pid":1,"tid":1,"args":{{"text":"{text}"}}}}"#))
}

/// Each event has arguments that are 100 objects deep.
fn nested_args(list: &mut List<'_>, n: u64) -> io::Result<()> {
    let (open, close) = (r#"{"a":"#.repeat(100), "}".repeat(100));
    list.events(0..n / 10, |slice| {
        format!(r#"{{"ph":"X","name":"f","ts":{slice},"dur":1,"pid":1,"tid":1,"args":{open}1{close}}}"#)
    })
}

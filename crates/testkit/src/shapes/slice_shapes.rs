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
    list.begin()?;
    for depth in 0..n {
        let duration = 2 * (n - depth);
        list.event(format_args!(r#"{{"ph":"X","name":"f","ts":{depth},"dur":{duration},"pid":1,"tid":1}}"#))?;
    }
    Ok(())
}

fn nested_names(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.begin()?;
    for depth in 0..n {
        let duration = 2 * (n - depth);
        list.event(format_args!(
            r#"{{"ph":"X","name":"function {depth}","cat":"c","ts":{depth},"dur":{duration},"pid":1,"tid":1}}"#
        ))?;
    }
    Ok(())
}

fn nested_inner_first(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.begin()?;
    for depth in (0..n).rev() {
        let duration = 2 * (n - depth);
        list.event(format_args!(r#"{{"ph":"X","name":"f","ts":{depth},"dur":{duration},"pid":1,"tid":1}}"#))?;
    }
    Ok(())
}

fn nested_begins(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.begin()?;
    for depth in 0..n / 2 {
        list.event(format_args!(r#"{{"ph":"B","name":"f {depth}","ts":{depth},"pid":1,"tid":1}}"#))?;
    }
    for end in n / 2..n {
        list.event(format_args!(r#"{{"ph":"E","ts":{end},"pid":1,"tid":1}}"#))?;
    }
    Ok(())
}

/// Half of the slices are nested, the other half are short ones in the innermost.
fn deep_leaves(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.begin()?;
    for depth in 0..n / 2 {
        let duration = 2 * n - 2 * depth;
        list.event(format_args!(r#"{{"ph":"X","name":"f","ts":{depth},"dur":{duration},"pid":1,"tid":1}}"#))?;
    }
    for leaf in 0..n / 2 {
        let start = n / 2 + leaf;
        list.event(format_args!(r#"{{"ph":"X","name":"leaf {leaf}","ts":{start},"dur":0.5,"pid":1,"tid":1}}"#))?;
    }
    Ok(())
}

fn names(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.begin()?;
    for slice in 0..n {
        list.event(format_args!(r#"{{"ph":"X","name":"name {slice}","ts":{slice},"dur":1,"pid":1,"tid":1}}"#))?;
    }
    Ok(())
}

fn categories(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.begin()?;
    for slice in 0..n {
        list.event(format_args!(
            r#"{{"ph":"X","name":"f","cat":"category {slice}","ts":{slice},"dur":1,"pid":1,"tid":1}}"#
        ))?;
    }
    Ok(())
}

fn threads(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.begin()?;
    for slice in 0..n {
        list.event(format_args!(r#"{{"ph":"X","name":"f","ts":{slice},"dur":1,"pid":1,"tid":{slice}}}"#))?;
    }
    Ok(())
}

fn processes(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.begin()?;
    for slice in 0..n {
        list.event(format_args!(r#"{{"ph":"X","name":"f","ts":{slice},"dur":1,"pid":{slice},"tid":1}}"#))?;
    }
    Ok(())
}

/// Each overlaps all others in part.
fn overlapping(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.begin()?;
    for slice in 0..n {
        list.event(format_args!(r#"{{"ph":"X","name":"f","ts":{slice},"dur":{n},"pid":1,"tid":1}}"#))?;
    }
    Ok(())
}

/// Groups of slices that overlap in part, and in each a stack that does not.
fn overlapping_shrinking(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.begin()?;
    for slice in 0..n {
        let duration = if slice % 2 == 0 { 2 * n } else { 2 * (n - slice) };
        list.event(format_args!(r#"{{"ph":"X","name":"f","ts":{slice},"dur":{duration},"pid":1,"tid":1}}"#))?;
    }
    Ok(())
}

fn equal(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.begin()?;
    for _ in 0..n {
        list.event(format_args!(r#"{{"ph":"X","name":"f","ts":5,"dur":7,"pid":1,"tid":1}}"#))?;
    }
    Ok(())
}

fn empty(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.begin()?;
    for slice in 0..n {
        list.event(format_args!(r#"{{"ph":"X","name":"f {}","ts":5,"dur":0,"pid":1,"tid":1}}"#, slice % 7))?;
    }
    Ok(())
}

fn begins(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.begin()?;
    for begin in 0..n {
        list.event(format_args!(r#"{{"ph":"B","name":"f","ts":{begin},"pid":1,"tid":1}}"#))?;
    }
    Ok(())
}

fn ends(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.begin()?;
    for end in 0..n {
        list.event(format_args!(r#"{{"ph":"E","name":"f","ts":{end},"pid":1,"tid":1}}"#))?;
    }
    Ok(())
}

fn begins_of_threads(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.begin()?;
    for begin in 0..n {
        list.event(format_args!(r#"{{"ph":"B","name":"f","ts":{begin},"pid":1,"tid":{begin}}}"#))?;
    }
    Ok(())
}

fn many_keys(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.begin()?;
    let keys: Vec<String> = (0..n).map(|key| format!(r#""key {key}":{key}"#)).collect();
    let keys = keys.join(",");
    list.event(format_args!(r#"{{"ph":"X","name":"f","ts":1,"dur":1,"pid":1,"tid":1,"args":{{{keys}}}}}"#))
}

fn long_args(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.begin()?;
    let text = "a \\\"long\\\" text ".repeat(n as usize);
    list.event(format_args!(r#"{{"ph":"X","name":"f","ts":1,"dur":1,"pid":1,"tid":1,"args":{{"text":"{text}"}}}}"#))
}

/// Each event has arguments that are 100 objects deep.
fn nested_args(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.begin()?;
    let (open, close) = (r#"{"a":"#.repeat(100), "}".repeat(100));
    for slice in 0..n / 10 {
        list.event(format_args!(
            r#"{{"ph":"X","name":"f","ts":{slice},"dur":1,"pid":1,"tid":1,"args":{open}1{close}}}"#
        ))?;
    }
    Ok(())
}

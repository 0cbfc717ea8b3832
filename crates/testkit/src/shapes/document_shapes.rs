//! Metadata, fields around the events, and damaged events.

use super::{List, Shape};
use std::io;

pub(super) const SHAPES: &[Shape] = &[
    Shape { name: "fields", write: fields },
    Shape { name: "fields-of-one-key", write: equal_fields },
    Shape { name: "thread-names", write: thread_names },
    Shape { name: "process-names", write: process_names },
    Shape { name: "one-thread-renamed", write: renames },
    Shape { name: "metadata-of-other-tools", write: other_metadata },
    Shape { name: "about-with-many-keys", write: about_keys },
    Shape { name: "about-again-and-again", write: about_again },
    Shape { name: "samples", write: samples },
    Shape { name: "objects", write: objects },
    Shape { name: "unknown-phases", write: unknown },
    Shape { name: "damaged-events", write: damaged },
];

fn slice(list: &mut List<'_>) -> io::Result<()> {
    list.event(format_args!(r#"{{"ph":"X","name":"f","ts":1,"dur":1,"pid":1,"tid":1}}"#))
}

fn fields(list: &mut List<'_>, n: u64) -> io::Result<()> {
    for field in 0..n {
        list.field(&format!("field {field}"), &field.to_string())?;
    }
    slice(list)
}

fn equal_fields(list: &mut List<'_>, n: u64) -> io::Result<()> {
    for field in 0..n {
        list.field("field", &field.to_string())?;
    }
    slice(list)
}

fn thread_names(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |thread| {
        format!(r#"{{"ph":"M","name":"thread_name","pid":1,"tid":{thread},"args":{{"name":"worker {thread}"}}}}"#)
    })?;
    slice(list)
}

fn process_names(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |process| {
        format!(r#"{{"ph":"M","name":"process_name","pid":{process},"args":{{"name":"python {process}"}}}}"#)
    })?;
    slice(list)
}

fn renames(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |time| {
        format!(r#"{{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{{"name":"worker {time}"}}}}"#)
    })?;
    slice(list)
}

fn other_metadata(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |key| {
        format!(r#"{{"ph":"M","name":"metadata {key}","pid":1,"tid":1,"args":{{"key {key}":"value {key}"}}}}"#)
    })?;
    slice(list)
}

fn about_keys(list: &mut List<'_>, n: u64) -> io::Result<()> {
    let keys: Vec<String> = (0..n).map(|key| format!(r#""key {key}":{key}"#)).collect();
    let keys = keys.join(",");
    list.event(format_args!(r#"{{"ph":"M","name":"ferrum_trace","pid":1,"args":{{{keys}}}}}"#))?;
    slice(list)
}

fn about_again(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |time| format!(
            r#"{{"ph":"M","name":"ferrum_trace","pid":{time},"args":{{"host":"host {time}","rank":{time},"start_monotonic_ns":{time},"boot_id":"b"}}}}"#
        ))?;
    slice(list)
}

fn samples(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |at| format!(r#"{{"ph":"P","name":"sample","id":"1","ts":{at},"pid":1,"tid":1}}"#))
}

fn objects(list: &mut List<'_>, n: u64) -> io::Result<()> {
    for at in 0..n / 3 {
        for phase in ["N", "O", "D"] {
            list.event(format_args!(
                r#"{{"ph":"{phase}","cat":"c","name":"object","id":{at},"ts":{at},"pid":1,"tid":1,"args":{{"snapshot":{{"n":{at}}}}}}}"#
            ))?;
        }
    }
    Ok(())
}

fn unknown(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |at| format!(r#"{{"ph":"?","name":"f {at}","ts":{at},"pid":1,"tid":1}}"#))
}

/// Every second event is cut off in a string.
fn damaged(list: &mut List<'_>, n: u64) -> io::Result<()> {
    for at in 0..n / 2 {
        list.event(format_args!(r#"{{"ph":"X","name":"f","ts":{at},"dur":1,"pid":1,"tid":1}}"#))?;
        list.event(format_args!(r#"{{"ph":"X","name":"cut {at}","ts":[{at},"dur":{{1,"pid":"1"#))?;
    }
    Ok(())
}

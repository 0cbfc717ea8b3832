//! Async events, flows, counters and instants.

use super::{List, Shape};
use std::io;

pub(super) const SHAPES: &[Shape] = &[
    Shape { name: "nested-asyncs-of-one-id", write: one_id },
    Shape { name: "nested-asyncs-of-one-id-and-many-names", write: one_id_names },
    Shape { name: "open-asyncs-of-many-ids", write: many_ids },
    Shape { name: "overlapping-asyncs-of-one-id", write: overlapping_ids },
    Shape { name: "asyncs-one-after-the-other", write: asyncs_in_turn },
    Shape { name: "legacy-asyncs", write: legacy },
    Shape { name: "async-instants-without-begins", write: async_instants },
    Shape { name: "async-begins-without-ends", write: async_begins },
    Shape { name: "async-ends-without-begins", write: async_ends },
    Shape { name: "flows-of-one-id", write: flows_one_id },
    Shape { name: "flow-steps-of-one-id", write: flow_steps },
    Shape { name: "flows-of-many-ids", write: flows_many_ids },
    Shape { name: "flows-without-slices", write: flows_unbound },
    Shape { name: "bound-flows", write: bound_flows },
    Shape { name: "counters-of-many-names", write: counter_names },
    Shape { name: "counter-with-many-keys", write: counter_keys },
    Shape { name: "counter-at-one-time", write: counter_at_once },
    Shape { name: "instants-at-one-time", write: instants },
];

fn one_id(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n / 2, |begin| {
        format!(r#"{{"ph":"b","cat":"c","name":"a","id":"0x1","ts":{begin},"pid":1,"tid":1}}"#)
    })?;
    list.events(n / 2..n, |end| format!(r#"{{"ph":"e","cat":"c","name":"a","id":"0x1","ts":{end},"pid":1,"tid":1}}"#))
}

fn one_id_names(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n / 2, |begin| {
        format!(r#"{{"ph":"b","cat":"c","name":"a {begin}","id":"0x1","ts":{begin},"pid":1,"tid":1}}"#)
    })?;
    list.events(n / 2..n, |end| {
        let name = n - 1 - end;
        format!(r#"{{"ph":"e","cat":"c","name":"a {name}","id":"0x1","ts":{end},"pid":1,"tid":1}}"#)
    })
}

fn many_ids(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n / 2, |begin| {
        format!(r#"{{"ph":"b","cat":"c","name":"a","id":{begin},"ts":{begin},"pid":1,"tid":1}}"#)
    })?;
    list.events(n / 2..n, |end| {
        let id = end - n / 2;
        format!(r#"{{"ph":"e","cat":"c","name":"a","id":{id},"ts":{end},"pid":1,"tid":1}}"#)
    })
}

/// The names differ, so that the first to begin is the first to end.
fn overlapping_ids(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n / 2, |begin| {
        format!(r#"{{"ph":"b","cat":"c","name":"a {begin}","id":1,"ts":{begin},"pid":1,"tid":1}}"#)
    })?;
    list.events(n / 2..n, |end| {
        let name = end - n / 2;
        format!(r#"{{"ph":"e","cat":"c","name":"a {name}","id":1,"ts":{end},"pid":1,"tid":1}}"#)
    })
}

fn asyncs_in_turn(list: &mut List<'_>, n: u64) -> io::Result<()> {
    for at in 0..n / 2 {
        list.event(format_args!(r#"{{"ph":"b","cat":"c","name":"a {at}","id":1,"ts":{at},"pid":1,"tid":1}}"#))?;
        list.event(format_args!(r#"{{"ph":"e","cat":"c","name":"a {at}","id":1,"ts":{at}.5,"pid":1,"tid":1}}"#))?;
    }
    Ok(())
}

fn legacy(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n / 3, |at| format!(r#"{{"ph":"S","cat":"c","name":"a","id":{at},"ts":{at},"pid":1,"tid":1}}"#))?;
    for at in n / 3..2 * (n / 3) {
        let id = at - n / 3;
        list.event(format_args!(r#"{{"ph":"T","cat":"c","name":"a","id":{id},"ts":{at},"pid":1,"tid":1}}"#))?;
        list.event(format_args!(r#"{{"ph":"F","cat":"c","name":"a","id":{id},"ts":{at}.5,"pid":1,"tid":1}}"#))?;
    }
    Ok(())
}

fn async_instants(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |at| format!(r#"{{"ph":"n","cat":"c","name":"a","id":{at},"ts":{at},"pid":1,"tid":1}}"#))
}

fn async_begins(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |at| format!(r#"{{"ph":"b","cat":"c","name":"a","id":1,"ts":{at},"pid":1,"tid":1}}"#))
}

fn async_ends(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |at| format!(r#"{{"ph":"e","cat":"c","name":"a","id":1,"ts":{at},"pid":1,"tid":1}}"#))
}

/// Writes a slice for a flow to bind to.
fn slice(list: &mut List<'_>, at: u64) -> io::Result<()> {
    list.event(format_args!(r#"{{"ph":"X","name":"f","ts":{at},"dur":1,"pid":1,"tid":1}}"#))
}

fn flows_one_id(list: &mut List<'_>, n: u64) -> io::Result<()> {
    for at in 0..n / 3 {
        slice(list, at)?;
        list.event(format_args!(r#"{{"ph":"s","cat":"c","name":"flow","id":1,"ts":{at}.1,"pid":1,"tid":1}}"#))?;
        list.event(format_args!(
            r#"{{"ph":"f","bp":"e","cat":"c","name":"flow","id":1,"ts":{at}.2,"pid":1,"tid":1}}"#
        ))?;
    }
    Ok(())
}

fn flow_steps(list: &mut List<'_>, n: u64) -> io::Result<()> {
    for at in 0..n / 2 {
        slice(list, at)?;
        let phase = if at == 0 { "s" } else { "t" };
        list.event(format_args!(r#"{{"ph":"{phase}","cat":"c","name":"flow","id":1,"ts":{at}.1,"pid":1,"tid":1}}"#))?;
    }
    Ok(())
}

fn flows_many_ids(list: &mut List<'_>, n: u64) -> io::Result<()> {
    for at in 0..n / 4 {
        slice(list, at)?;
        list.event(format_args!(r#"{{"ph":"s","cat":"c","name":"flow","id":{at},"ts":{at}.1,"pid":1,"tid":1}}"#))?;
    }
    for at in n / 4..n / 2 {
        slice(list, at)?;
        let id = at - n / 4;
        list.event(format_args!(
            r#"{{"ph":"f","bp":"e","cat":"c","name":"flow","id":{id},"ts":{at}.1,"pid":1,"tid":1}}"#
        ))?;
    }
    Ok(())
}

fn flows_unbound(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |at| {
        let phase = ["s", "t", "f"][(at % 3) as usize];
        let id = at / 3;
        format!(r#"{{"ph":"{phase}","cat":"c","name":"flow","id":{id},"ts":{at},"pid":1,"tid":1}}"#)
    })
}

fn bound_flows(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |at| {
        format!(
            r#"{{"ph":"X","name":"f","ts":{at},"dur":1,"pid":1,"tid":1,"bind_id":"7","flow_in":true,"flow_out":true}}"#
        )
    })
}

fn counter_names(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |at| format!(r#"{{"ph":"C","name":"counter {at}","ts":{at},"pid":1,"args":{{"value":{at}}}}}"#))
}

fn counter_keys(list: &mut List<'_>, n: u64) -> io::Result<()> {
    let keys: Vec<String> = (0..n).map(|key| format!(r#""key {key}":{key}"#)).collect();
    let keys = keys.join(",");
    list.event(format_args!(r#"{{"ph":"C","name":"counter","ts":1,"pid":1,"args":{{{keys}}}}}"#))
}

fn counter_at_once(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |at| format!(r#"{{"ph":"C","name":"counter","ts":1,"pid":1,"args":{{"value":{at}}}}}"#))
}

fn instants(list: &mut List<'_>, n: u64) -> io::Result<()> {
    list.events(0..n, |at| format!(r#"{{"ph":"i","s":"t","name":"i {at}","ts":1,"pid":1,"tid":1}}"#))
}

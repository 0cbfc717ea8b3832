//! Steps, layers, requests, collectives and kernels of inference engines.

use super::{List, Shape};
use std::io;

pub(super) const SHAPES: &[Shape] = &[
    Shape { name: "steps", write: steps },
    Shape { name: "nested-steps", write: nested_steps },
    Shape { name: "overlapping-steps", write: overlapping_steps },
    Shape { name: "nested-modules-in-a-step", write: modules },
    Shape { name: "layers", write: layers },
    Shape { name: "nested-layers", write: nested_layers },
    Shape { name: "requests", write: requests },
    Shape { name: "open-requests", write: open_requests },
    Shape { name: "request-with-many-tokens", write: tokens },
    Shape { name: "collectives", write: collectives },
    Shape { name: "collectives-of-many-names", write: collective_names },
    Shape { name: "kernels", write: kernels },
    Shape { name: "kernels-of-nested-calls", write: nested_calls },
];

fn step(list: &mut List<'_>, start: u64, duration: u64, thread: u64) -> io::Result<()> {
    list.event(format_args!(
        r#"{{"ph":"X","cat":"step","name":"decode","ts":{start},"dur":{duration},"pid":1,"tid":{thread},"args":{{"phase":"decode","batch":4,"decode_tokens":4}}}}"#
    ))
}

fn steps(list: &mut List<'_>, n: u64) -> io::Result<()> {
    for at in 0..n / 2 {
        step(list, 4 * at, 3, 1)?;
        let start = 4 * at + 1;
        list.event(format_args!(r#"{{"ph":"X","cat":"gemm","name":"op","ts":{start},"dur":1,"pid":1,"tid":1}}"#))?;
    }
    Ok(())
}

fn nested_steps(list: &mut List<'_>, n: u64) -> io::Result<()> {
    for depth in 0..n / 2 {
        step(list, depth, 2 * (n / 2 - depth), 1)?;
        list.event(format_args!(r#"{{"ph":"X","cat":"gemm","name":"op","ts":{depth},"dur":1,"pid":1,"tid":2}}"#))?;
    }
    Ok(())
}

fn overlapping_steps(list: &mut List<'_>, n: u64) -> io::Result<()> {
    for at in 0..n / 2 {
        step(list, at, n, at % 3)?;
        list.event(format_args!(r#"{{"ph":"X","cat":"gemm","name":"op","ts":{at},"dur":1,"pid":1,"tid":7}}"#))?;
    }
    Ok(())
}

fn modules(list: &mut List<'_>, n: u64) -> io::Result<()> {
    step(list, 0, 4 * n, 1)?;
    list.events(0..n, |depth| {
        let (start, duration) = (depth + 1, 2 * (n - depth));
        format!(
            r#"{{"ph":"X","cat":"module","name":"nn.Module: M_{depth}","ts":{start},"dur":{duration},"pid":1,"tid":1}}"#
        )
    })
}

fn layer(list: &mut List<'_>, number: u64, start: u64, duration: u64) -> io::Result<()> {
    list.event(format_args!(
        r#"{{"ph":"X","cat":"layer","name":"layer","ts":{start},"dur":{duration},"pid":1,"tid":1,"args":{{"layer":{number}}}}}"#
    ))
}

fn layers(list: &mut List<'_>, n: u64) -> io::Result<()> {
    for number in 0..n {
        layer(list, number, 2 * number, 1)?;
    }
    Ok(())
}

fn nested_layers(list: &mut List<'_>, n: u64) -> io::Result<()> {
    for number in 0..n {
        layer(list, number, number, 2 * (n - number))?;
    }
    Ok(())
}

/// Writes an event of a request.
fn of_request(list: &mut List<'_>, phase: char, name: &str, id: u64, at: u64) -> io::Result<()> {
    list.event(format_args!(
        r#"{{"ph":"{phase}","cat":"request","name":"{name}","id":{id},"ts":{at},"pid":1,"tid":1,"args":{{"request":"{id}"}}}}"#
    ))
}

fn requests(list: &mut List<'_>, n: u64) -> io::Result<()> {
    step(list, 0, 100 * n, 1)?;
    for id in 0..n / 4 {
        of_request(list, 'b', "request", id, 5 * id)?;
        of_request(list, 'n', "first token", id, 5 * id + 2)?;
        of_request(list, 'n', "token", id, 5 * id + 3)?;
        of_request(list, 'e', "request", id, 5 * id + 4)?;
    }
    Ok(())
}

/// All requests are open during the steps.
fn open_requests(list: &mut List<'_>, n: u64) -> io::Result<()> {
    for id in 0..n / 4 {
        of_request(list, 'b', "request", id, id)?;
    }
    for id in 0..n / 4 {
        step(list, n + 2 * id, 1, 1)?;
        of_request(list, 'n', "first token", id, 2 * n + id)?;
        of_request(list, 'e', "request", id, 4 * n + id)?;
    }
    Ok(())
}

fn tokens(list: &mut List<'_>, n: u64) -> io::Result<()> {
    of_request(list, 'b', "request", 1, 0)?;
    for at in 1..n {
        of_request(list, 'n', if at == 1 { "first token" } else { "token" }, 1, at)?;
    }
    of_request(list, 'e', "request", 1, n)
}

fn collective(list: &mut List<'_>, name: &str, at: u64) -> io::Result<()> {
    let start = 3 * at;
    list.event(format_args!(
        r#"{{"ph":"X","cat":"comm","name":"{name}","ts":{start},"dur":2,"pid":1,"tid":1,"args":{{"number":{at}}}}}"#
    ))
}

fn collectives(list: &mut List<'_>, n: u64) -> io::Result<()> {
    (0..n).try_for_each(|at| collective(list, "all_reduce", at))
}

fn collective_names(list: &mut List<'_>, n: u64) -> io::Result<()> {
    (0..n).try_for_each(|at| collective(list, &format!("all_reduce {at}"), at))
}

fn launch(list: &mut List<'_>, number: u64, at: u64) -> io::Result<()> {
    list.event(format_args!(
        r#"{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":{at},"dur":0.5,"pid":1,"tid":1,"args":{{"correlation":{number}}}}}"#
    ))?;
    list.event(format_args!(r#"{{"ph":"s","cat":"ac2g","name":"ac2g","id":{number},"ts":{at},"pid":1,"tid":1}}"#))
}

fn kernel(list: &mut List<'_>, number: u64, at: u64) -> io::Result<()> {
    list.event(format_args!(
        r#"{{"ph":"X","cat":"kernel","name":"gemm","ts":{at},"dur":0.5,"pid":0,"tid":7,"args":{{"correlation":{number},"device":0,"stream":7}}}}"#
    ))?;
    list.event(format_args!(
        r#"{{"ph":"f","bp":"e","cat":"ac2g","name":"ac2g","id":{number},"ts":{at},"pid":0,"tid":7}}"#
    ))
}

/// All kernels are launched before the first runs.
fn kernels(list: &mut List<'_>, n: u64) -> io::Result<()> {
    for number in 0..n / 4 {
        launch(list, number, number)?;
    }
    for number in 0..n / 4 {
        kernel(list, number, n + number)?;
    }
    Ok(())
}

/// Kernels are launched from deeper and deeper calls.
fn nested_calls(list: &mut List<'_>, n: u64) -> io::Result<()> {
    step(list, 0, 8 * n, 1)?;
    for number in 0..n / 5 {
        let (start, duration) = (2 * number + 1, 4 * (n - number));
        list.event(format_args!(
            r#"{{"ph":"X","cat":"python_function","name":"nn.Module: M_{number}","ts":{start},"dur":{duration},"pid":1,"tid":1}}"#
        ))?;
        launch(list, number, start + 1)?;
        kernel(list, number, 3 * n + number)?;
    }
    Ok(())
}

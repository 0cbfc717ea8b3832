//! Writes a trace that is expensive to read: `shapes NAME N FILE`. Without arguments it lists the shapes.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool prints")]

use ferrum_trace_testkit::shapes::Shape;
use std::fs::File;
use std::io::BufWriter;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let result = match &words[..] {
        [] => {
            Shape::all().for_each(|shape| println!("{}", shape.name));
            Ok(())
        }
        [name, n, path] => write(name, n, path),
        _ => Err("expected no arguments, or NAME N FILE".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(complaint) => {
            eprintln!("shapes: {complaint}");
            ExitCode::from(2)
        }
    }
}

fn write(name: &str, n: &str, path: &str) -> Result<(), String> {
    let shape = Shape::all().find(|shape| shape.name == name).ok_or_else(|| format!("unknown shape `{name}`"))?;
    let n = n.parse().map_err(|_| format!("expected a number, found `{n}`"))?;
    let file = File::create(path).map_err(|error| format!("{path}: {error}"))?;
    shape.write(&mut BufWriter::new(file), n).map_err(|error| format!("{path}: {error}"))
}

//! Reads a file into columns.

use super::column_pool::ColumnPool;
use super::columns::ArgsOf;
use super::losses::Losses;
use super::merge::Merge;
use super::pairing::pair;
use super::renumbering::Limits;
use super::scanner::DocumentShape;
use super::whole_file::{Outline, read};
use crate::Error;
use ferrum_trace_model::{Recordings, Trace};
use std::io::Read;

/// Options for loading a file.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Keys of the arguments to keep.
    pub args: Vec<String>,
    /// Number of threads.
    pub n_workers: usize,
}

impl Default for LoadOptions {
    /// Keeps no arguments and uses all processors.
    fn default() -> Self {
        let n_workers = std::thread::available_parallelism().map_or(1, usize::from);
        Self { args: Vec::new(), n_workers }
    }
}

/// A file loaded into memory.
#[derive(Debug)]
pub struct Loaded {
    /// The events.
    pub trace: Trace,
    /// The parts that could not be read.
    pub losses: Losses,
    /// Facts that the recorder states about the recordings in the file.
    pub recordings: Recordings,
    /// The structure of the document.
    pub shape: DocumentShape,
    /// The other fields of the object around the list, with their values as JSON.
    pub fields: Vec<(String, Vec<u8>)>,
}

/// Reads a file into columns and pairs begins and ends to slices. The number of distinct names and tracks is bounded by
/// the default [`Limits`].
///
/// # Errors
///
/// If the file cannot be read, is not a trace, or has more than four billion events.
pub fn load(input: impl Read + Send, options: &LoadOptions) -> Result<Loaded, Error> {
    load_all(input, options, ArgsOf::AllEvents, Limits::default())
}

/// Reads a file as [`load`] does, with other limits.
///
/// # Errors
///
/// The errors of [`load`].
pub fn load_within(input: impl Read + Send, options: &LoadOptions, limits: Limits) -> Result<Loaded, Error> {
    load_all(input, options, ArgsOf::AllEvents, limits)
}

/// Reads a file as [`load`] does, but keeps the arguments of async events only. Parsing the arguments of every slice
/// would take noticeably longer.
///
/// # Errors
///
/// The errors of [`load`].
pub fn load_async_args(input: impl Read + Send, options: &LoadOptions) -> Result<Loaded, Error> {
    load_all(input, options, ArgsOf::AsyncEvents, Limits::default())
}

fn load_all(input: impl Read + Send, options: &LoadOptions, args_of: ArgsOf, limits: Limits) -> Result<Loaded, Error> {
    let pool = ColumnPool::new(&options.args, args_of);
    let mut merge = Merge::new(&options.args, limits, &pool);
    let Outline { shape, recordings } =
        read(input, options.n_workers, || pool.take(), |columns| merge.append(columns))?;
    merge.count_replaced_names();
    let Merge { mut trace, begin_ends, losses, fields, .. } = merge;
    pair(&mut trace, &begin_ends);
    fill_equal_columns(&mut trace);
    Ok(Loaded { trace, losses, recordings, shape, fields })
}

/// Copies the values of a key that was requested several times to all its columns. The reader fills the first.
fn fill_equal_columns(trace: &mut Trace) {
    for place in 1..trace.args.len() {
        let (earlier, later) = trace.args.split_at_mut(place);
        if let Some(same) = earlier.iter().find(|column| column.key == later[0].key) {
            later[0].clone_from(same);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrum_trace_model::ArgValue;

    #[test]
    fn a_key_that_is_requested_twice_has_two_equal_columns() {
        let json = br#"[{"ph":"X","name":"a","ts":0,"dur":1,"pid":1,"tid":1,"args":{"k":7,"l":8}}]"#;
        let args = ["k", "l", "k"].map(str::to_owned).to_vec();
        let trace = load(&json[..], &LoadOptions { args, ..LoadOptions::default() }).unwrap().trace;
        let found: Vec<_> = trace.args.iter().map(|column| (&*column.key, column.of(0))).collect();
        let value = |number| Some(ArgValue::Integer(number));
        assert_eq!(found, [("k", value(7)), ("l", value(8)), ("k", value(7))]);
    }
}

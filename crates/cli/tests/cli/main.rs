//! Whole runs of the command: arguments, exit code, standard output, standard error, and the files that are left.

/// A child process that records, and is killed or lives on.
mod maker;
mod merge;
/// Running the command in a folder of its own.
mod scene;

/// Async operations in `summary`.
mod asyncs;
/// `check`.
mod check;
/// `convert`.
mod convert;
/// Spools with something wrong in them, and files that are no spools.
mod damage;
/// Help, version, completions, manual pages, and commands that do not exist.
mod help;
/// Being told to end while a trace is written.
mod interruption;
/// `--json`.
mod json;
/// `layers`, and pictures of it.
mod layers;
/// Spools whose process still records.
mod live;
/// What the recorder counted as lost, in every command and every format.
mod losses;
/// `-o`, `--force`, `--keep`, and the name that a trace gets.
mod output;
/// Perfetto traces, written in every way.
#[cfg(unix)]
mod perfetto;
/// `record`.
mod record;
/// What a killed process left, and how it is found.
mod recover;
/// `repair`.
mod repair;
/// `requests`.
mod requests;
/// Whatever a trace comes in: pipes, globs, packed, broken, growing, missing.
mod sources;
/// Pipes.
mod stdio;
/// `steps`.
mod steps;
/// `summary`, and files without a command.
mod summary;

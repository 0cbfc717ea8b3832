//! A test that runs itself again as a child, with an environment of its own: there it plays, here it looks.

use std::process::{Command, Output};

const IS_CHILD: &str = "FERRUM_BENCH_CORE_CHILD";

/// Whether this is the child.
pub fn is_child() -> bool {
    std::env::var_os(IS_CHILD).is_some()
}

/// Runs the test of that name again, as a child.
pub fn run(test: &str, prepare: impl FnOnce(&mut Command)) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    // One thread: the test runs in `main`, which then returns.
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(IS_CHILD, "1");
    for variable in ["FERRUM_TRACE_OUT", "FERRUM_TRACE_LIMIT", "FERRUM_TRACE_CLOCK", "RUST_BACKTRACE"] {
        command.env_remove(variable);
    }
    prepare(&mut command);
    command.output().unwrap()
}

/// What a child said to standard error, line by line.
pub fn lines(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stderr).lines().map(String::from).collect()
}

//! Runs a test again as a child process, with an environment of its own: the child records, the parent checks.

use std::process::{Command, Output};

const IS_CHILD: &str = "FERRUM_BENCH_CORE_CHILD";

/// Returns true in the child.
pub(crate) fn is_child() -> bool {
    std::env::var_os(IS_CHILD).is_some()
}

/// Runs the test with this name again, as a child.
pub(crate) fn run(test: &str, prepare: impl FnOnce(&mut Command)) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    // One thread: the test runs in `main`, which then returns.
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(IS_CHILD, "1");
    for variable in ["FERRUM_TRACE_OUT", "FERRUM_TRACE_LIMIT", "FERRUM_TRACE_CLOCK", "RUST_BACKTRACE"] {
        command.env_remove(variable);
    }
    prepare(&mut command);
    let output = command.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("running 1 test"), "no test has the name `{test}`: {stdout}");
    output
}

/// Lines of a child's standard error.
pub(crate) fn lines(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stderr).lines().map(String::from).collect()
}

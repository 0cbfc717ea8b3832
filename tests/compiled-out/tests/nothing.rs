//! With the feature `compiled-out`, nothing is recorded and nothing is executed.

use std::path::Path;
use std::process::Command;

#[test]
fn nothing_is_recorded_whatever_the_environment_says() {
    // The variable cannot be set in this process once tests run in parallel; the recorder must not even read it.
    assert_eq!(compiled_out::instrumented(&[1, 2, 3]), 6);
    assert!(!compiled_out::everything_else());
    assert!(!Path::new("never.json").exists() && !Path::new("never.json.spool").exists());
    assert!(ferrum_trace::Recorder::builder().path("never.json").start().is_err());
}

/// The output of a binutils program for this executable.
fn binutils(tool: &str, arguments: &[&str]) -> String {
    let program = std::env::current_exe().unwrap();
    let output = Command::new(tool).args(arguments).arg(program).output().expect("binutils are installed");
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn address(function: &str) -> String {
    let symbols = binutils("nm", &[]);
    let line = symbols.lines().find(|line| line.ends_with(&format!(" {function}"))).expect("the function exists");
    line.split(' ').next().unwrap().to_owned()
}

fn instructions(function: &str) -> Vec<String> {
    let text = binutils("objdump", &["-d", "--no-show-raw-insn", "--no-addresses"]);
    let body = text.split(&format!("<{function}>:\n")).nth(1).expect("the function is in the disassembly");
    body.lines().take_while(|line| !line.is_empty()).map(|line| line.trim().to_owned()).collect()
}

#[test]
fn a_call_site_has_no_instruction() {
    let expected = compiled_out::add_without_span(5, 6);
    assert_eq!((compiled_out::add_with_span(5, 6), compiled_out::add_with_llm_vocabulary(5, 6)), (expected, expected));
    for function in ["add_with_span", "add_with_llm_vocabulary"] {
        // The compiler merges functions with identical instructions.
        if address(function) != address("add_without_span") {
            assert_eq!(instructions(function), instructions("add_without_span"));
        }
    }
}

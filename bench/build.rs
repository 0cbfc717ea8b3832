//! Passes the version of the compiler to the program, for the header of a saved run.

use std::process::Command;

fn main() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc)
        .arg("--version")
        .output()
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .unwrap_or_default();
    println!("cargo::rustc-env=BENCH_RUSTC={}", version.trim());
    println!("cargo::rerun-if-changed=build.rs");
}

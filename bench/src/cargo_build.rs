//! Builds programs of this workspace and finds them.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::contenders::Outcome;

/// Messages of cargo about the programs that it built.
#[derive(Debug)]
pub(crate) struct Built {
    messages: String,
}

/// A line of cargo's JSON messages.
#[derive(Deserialize)]
struct CargoMessage {
    target: Option<CargoTarget>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct CargoTarget {
    name: String,
}

/// Builds the programs of these packages, optimized.
pub(crate) fn build(packages: &[&str]) -> Outcome<Built> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--release", "--bins", "--message-format", "json-render-diagnostics"]);
    for package in packages {
        cargo.args(["-p", package]);
    }
    let output = cargo.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("the build failed ({})", output.status).into());
    }
    Ok(Built { messages: String::from_utf8_lossy(&output.stdout).into_owned() })
}

impl Built {
    /// Returns the path of a program.
    pub(crate) fn program(&self, name: &str) -> Outcome<PathBuf> {
        let parsed = self.messages.lines().filter_map(|line| serde_json::from_str::<CargoMessage>(line).ok());
        let of_name =
            |message: CargoMessage| message.target.filter(|target| target.name == name).and(message.executable);
        parsed.filter_map(of_name).next().ok_or_else(|| format!("cargo built no program `{name}`").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn programs_are_found_in_the_messages_of_cargo() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"engine","kind":["lib"]},"executable":null}
{"reason":"compiler-artifact","target":{"name":"engine","kind":["bin"]},"executable":"release/engine"}
{"reason":"build-finished","success":true}"#;
        let built = Built { messages: messages.to_owned() };
        assert_eq!(built.program("engine").unwrap(), Path::new("release/engine"));
        assert!(built.program("ferrum-trace").unwrap_err().to_string().contains("`ferrum-trace`"));
    }
}

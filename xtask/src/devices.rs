//! The step `devices`: the timelines of `crates/device` on drivers that compute on the processor, so on any machine.

use crate::Result;
use crate::task::Task;
use crate::toolchain::{has_subcommand, has_target};
use crate::workspace::Workspace;

/// Packages of Debian with drivers that need no device: lavapipe for Vulkan, PoCL for OpenCL and what finds it.
const DRIVERS: [&str; 3] = ["mesa-vulkan-drivers", "pocl-opencl-icd", "ocl-icd-libopencl1"];

const PACKAGE: &str = "-p ferrum-trace-device --features wgpu-vulkan,opencl,cuda,metal";
/// The one place where Metal is.
const MAC: &str = "aarch64-apple-darwin";

/// Lints and tests with everything that is off otherwise. The tests fail where a driver is missing.
pub fn check(workspace: &Workspace) -> Result {
    need_drivers(workspace)?;
    cargo(workspace, &format!("clippy --all-targets {PACKAGE} -- -D warnings"))?;
    if has_target(workspace, MAC) {
        cargo(workspace, &format!("clippy -p ferrum-trace-device --features metal --target {MAC} -- -D warnings"))?;
    } else {
        println!("not compiled: Metal, which takes `rustup target add {MAC}`");
    }
    Task::cargo(workspace).words("doc --no-deps").words(PACKAGE).env("RUSTDOCFLAGS", "-D warnings").run()?;
    if has_subcommand(workspace, "nextest") {
        cargo(workspace, &format!("nextest run --all-targets --no-fail-fast {PACKAGE}"))?;
    } else {
        cargo(workspace, &format!("test --all-targets --no-fail-fast {PACKAGE}"))?;
    }
    cargo(workspace, &format!("test --doc {PACKAGE}"))
}

/// Installs what is missing. On other systems than Debian the tests find a driver, or fail.
fn need_drivers(workspace: &Workspace) -> Result {
    if Task::new(workspace, "dpkg").words("--version").output().is_err() {
        println!("not installed: drivers, which are known by their names in Debian ({})", DRIVERS.join(", "));
        return Ok(());
    }
    let missing: Vec<&str> = DRIVERS.into_iter().filter(|package| !is_installed(workspace, package)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let install = || {
        Task::new(workspace, "apt-get").words("update --quiet").run()?;
        let task = Task::new(workspace, "apt-get").words("install --yes --quiet --no-install-recommends");
        task.words(&missing.join(" ")).env("DEBIAN_FRONTEND", "noninteractive").run()
    };
    install().map_err(|complaint| {
        let packages = missing.join(" ");
        format!("{complaint}\n\nhint: the tests of devices need a driver each: as root, `apt-get install {packages}`")
    })
}

/// A package that was removed may still be known.
fn is_installed(workspace: &Workspace, package: &str) -> bool {
    let task = Task::new(workspace, "dpkg-query").words("--show --showformat=${db:Status-Status}").arg(package);
    task.output().is_ok_and(|status| status == b"installed")
}

fn cargo(workspace: &Workspace, words: &str) -> Result {
    Task::cargo(workspace).words(words).run()
}

//! The step `devices`: tests `crates/device` on software drivers, so on any machine.

use crate::Result;
use crate::task::Task;
use crate::toolchain::{has_subcommand, has_target};
use crate::workspace::Workspace;

/// Debian packages with software drivers: lavapipe for Vulkan, PoCL for OpenCL, and the OpenCL loader.
const DRIVERS: [&str; 3] = ["mesa-vulkan-drivers", "pocl-opencl-icd", "ocl-icd-libopencl1"];

const PACKAGE: &str = "-p ferrum-trace-device --features wgpu-vulkan,opencl,cuda,metal";
/// Metal exists on macOS only.
const MAC: &str = "aarch64-apple-darwin";

/// Runs lints and tests with all optional features. The tests fail if a driver is missing.
pub(crate) fn check(workspace: &Workspace) -> Result {
    need_drivers(workspace)?;
    cargo(workspace, &format!("clippy --all-targets {PACKAGE} -- -D warnings"))?;
    if has_target(workspace, MAC) {
        cargo(workspace, &format!("clippy -p ferrum-trace-device --features metal --target {MAC} -- -D warnings"))?;
    } else {
        println!("not compiled: Metal, which needs `rustup target add {MAC}`");
    }
    Task::cargo(workspace).words("doc --no-deps").words(PACKAGE).env("RUSTDOCFLAGS", "-D warnings").run()?;
    if has_subcommand(workspace, "nextest") {
        cargo(workspace, &format!("nextest run --all-targets --no-fail-fast {PACKAGE}"))?;
    } else {
        cargo(workspace, &format!("test --all-targets --no-fail-fast {PACKAGE}"))?;
    }
    cargo(workspace, &format!("test --doc {PACKAGE}"))
}

/// Installs missing drivers. On systems other than Debian they must be there already, or the tests fail.
fn need_drivers(workspace: &Workspace) -> Result {
    if Task::new(workspace, "dpkg").words("--version").output().is_err() {
        println!("not installed: drivers, since this is not Debian ({})", DRIVERS.join(", "));
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
        format!("{complaint}\n\nhint: the device tests need these drivers: as root, `apt-get install {packages}`")
    })
}

/// Returns true if the package is installed; `dpkg-query` also lists removed packages.
fn is_installed(workspace: &Workspace, package: &str) -> bool {
    let task = Task::new(workspace, "dpkg-query").words("--show --showformat=${db:Status-Status}").arg(package);
    task.output().is_ok_and(|status| status == b"installed")
}

fn cargo(workspace: &Workspace, words: &str) -> Result {
    Task::cargo(workspace).words(words).run()
}

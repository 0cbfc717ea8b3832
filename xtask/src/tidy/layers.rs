//! The folders of a crate are layers: a module uses its own folder and those below, and modules do not form large
//! cycles.

use std::collections::BTreeSet;

use super::Finding;
use super::cycles;
use super::file::TextFile;
use super::modules::{Dependency, Modules};

/// The layers of one crate.
struct Crate {
    /// Path of its `src`.
    source_folder: &'static str,
    /// Files in `src` that may use everything, and that nothing may use.
    top: &'static [&'static str],
    /// Folders in `src`, from the bottom up.
    layers: &'static [&'static str],
    /// Files in `src` that everything may use, and that use no folder.
    base: &'static [&'static str],
}

/// The crates whose layers are checked. A crate without an entry has no order.
const CRATES: &[Crate] = &[
    Crate {
        source_folder: "crates/record/src",
        top: &["lib.rs", "macros.rs"],
        layers: &[
            "os",
            "util",
            "memory",
            "thread",
            "recording",
            "flight",
            "process",
            "watch",
            "lifecycle",
            "server",
            "probe",
            "face",
        ],
        base: &["error.rs", "stats.rs"],
    },
    Crate {
        source_folder: "crates/analyze/src",
        top: &["lib.rs", "test_traces.rs"],
        layers: &[
            "visible",
            "xml",
            "stats",
            "opener",
            "kineto",
            "structure",
            "launches",
            "figures",
            "ops",
            "steps",
            "captures",
            "requests",
            "path",
            "roofline",
            "engines",
            "runs",
            "compare",
            "check",
            "rewrite",
            "path_trace",
            "repair",
            "flame_graph",
            "convert",
            "merge",
        ],
        base: &[],
    },
    Crate {
        source_folder: "crates/cli/src",
        top: &["main.rs"],
        layers: &["os", "render", "flags", "output", "input", "sides", "recording", "commands"],
        base: &["exit_status.rs", "user_error.rs"],
    },
];

/// Modules that may depend on each other in a circle.
const CYCLE_MAX: usize = 3;

const THIS_FILE: &str = "xtask/src/tidy/layers.rs";

pub(super) fn findings(files: &[TextFile]) -> Vec<Finding> {
    CRATES.iter().flat_map(|it| it.findings(files)).collect()
}

/// A file's place in the order of its crate.
struct Layer<'a> {
    rank: usize,
    /// The name of the folder, or of the file if it is directly in `src`.
    name: &'a str,
}

impl Crate {
    fn findings(&self, files: &[TextFile]) -> Vec<Finding> {
        let modules = Modules::new(files, self.source_folder);
        let dependencies = modules.dependencies();
        let unknown = (0..modules.len()).map(|idx| modules.file(idx)).filter(|file| self.layer(file).is_none());
        let mut findings: Vec<Finding> =
            unknown.map(|file| file.finding(0, format!("the file belongs to no layer of {THIS_FILE}"))).collect();
        findings.extend(dependencies.iter().filter_map(|it| self.upward_use(&modules, it)));
        findings.extend(self.cycles(&modules, &dependencies));
        findings
    }

    fn layer<'a>(&self, file: &'a TextFile) -> Option<Layer<'a>> {
        let path = self.in_source_folder(file);
        let name = path.split('/').next().unwrap_or(path);
        let folder = name.strip_suffix(".rs").unwrap_or(name);
        if self.base.contains(&path) {
            return Some(Layer { rank: 0, name });
        }
        if self.top.contains(&path) {
            return Some(Layer { rank: self.layers.len() + 1, name });
        }
        let idx = self.layers.iter().position(|layer| *layer == folder)?;
        Some(Layer { rank: idx + 1, name: folder })
    }

    fn in_source_folder<'a>(&self, file: &'a TextFile) -> &'a str {
        file.path.strip_prefix(self.source_folder).map_or(file.path.as_str(), |path| path.trim_start_matches('/'))
    }

    /// The finding for a path that goes through a layer above its own.
    fn upward_use(&self, modules: &Modules<'_>, dependency: &Dependency) -> Option<Finding> {
        let from = modules.file(dependency.from);
        let layer = self.layer(from)?;
        let mut trail = dependency.trail.iter().map(|idx| modules.file(*idx));
        let (above, upper) = trail.find_map(|file| {
            let upper = self.layer(file).filter(|upper| upper.rank > layer.rank)?;
            Some((file, upper))
        })?;
        let message = format!("`{}` may not use `{}` (`{}`): see {THIS_FILE}", layer.name, upper.name, above.path);
        Some(from.finding(dependency.line_idx, message))
    }

    /// A finding for each group of modules that reach each other and are too many. Facades are no modules of their own.
    fn cycles(&self, modules: &Modules<'_>, dependencies: &[Dependency]) -> Vec<Finding> {
        let mut edges = vec![Vec::new(); modules.len()];
        for it in dependencies.iter().filter(|it| !modules.is_facade(it.from) && !modules.is_facade(it.to)) {
            edges[it.from].push(it.to);
        }
        let components = cycles::components(&edges);
        let large = components.iter().filter(|members| members.len() > CYCLE_MAX);
        large.map(|members| self.cycle(modules, &edges, members)).collect()
    }

    fn cycle(&self, modules: &Modules<'_>, edges: &[Vec<usize>], members: &[usize]) -> Finding {
        let name = |idx: usize| self.in_source_folder(modules.file(idx)).trim_end_matches(".rs");
        let uses = members.iter().map(|&from| {
            let inside: BTreeSet<&str> =
                edges[from].iter().filter(|to| members.contains(to)).map(|&to| name(to)).collect();
            format!("{} -> {}", name(from), Vec::from_iter(inside).join(", "))
        });
        let uses: Vec<String> = uses.collect();
        let message =
            format!("{} modules depend on each other, {CYCLE_MAX} at most: {}", members.len(), uses.join("; "));
        modules.file(members[0]).finding(0, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRATE: Crate =
        Crate { source_folder: "a/src", top: &["lib.rs"], layers: &["low", "high"], base: &["error.rs"] };

    fn complaints(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<TextFile> =
            files.iter().map(|(path, text)| TextFile::new(&format!("a/src/{path}"), text.to_string())).collect();
        CRATE.findings(&files).iter().map(ToString::to_string).collect()
    }

    const ROOT: (&str, &str) =
        ("lib.rs", "mod error; mod high; mod low;\npub use error::Error;\npub use high::top::f;\n");
    const ERROR: (&str, &str) = ("error.rs", "pub struct Error;\n");
    const HIGH: (&str, &str) = ("high/mod.rs", "pub mod top;\npub use top::f as renamed;\n");
    const LOW: (&str, &str) = ("low/mod.rs", "pub mod bottom;\n");

    fn with_bottom(bottom: &str) -> Vec<String> {
        let top = ("high/top.rs", "use crate::Error;\nuse crate::low::bottom::g;\npub fn f() { g() }\n");
        complaints(&[ERROR, HIGH, top, ROOT, ("low/bottom.rs", bottom), LOW])
    }

    #[test]
    fn a_layer_may_use_itself_the_base_and_those_below() {
        assert_eq!(with_bottom("use crate::Error;\nuse super::h;\npub fn g() {}\n"), [""; 0]);
    }

    #[test]
    fn an_upward_use_is_found_with_its_line_and_both_layers() {
        let expected =
            "a/src/low/bottom.rs:2: `low` may not use `high` (`a/src/high/mod.rs`): see xtask/src/tidy/layers.rs";
        for path in ["crate::high::top::f()", "super::super::high::top::f()", "crate::high::renamed()"] {
            assert_eq!(with_bottom(&format!("pub fn g() {{\n  {path}\n}}\n")), [expected], "`{path}`");
        }
    }

    #[test]
    fn a_use_through_the_root_is_an_upward_use_too() {
        let found = with_bottom("use crate::f;\npub fn g() {}\n");
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("a/src/low/bottom.rs:1: `low` may not use `high`"), "{}", found[0]);
    }

    #[test]
    fn nothing_may_use_the_root_itself() {
        let found = complaints(&[("lib.rs", "mod low;\npub const A: u8 = 1;\n"), ("low.rs", "use crate::A;\n")]);
        assert_eq!(
            found,
            ["a/src/low.rs:1: `low` may not use `lib.rs` (`a/src/lib.rs`): see xtask/src/tidy/layers.rs"]
        );
    }

    #[test]
    fn a_base_file_may_use_no_folder() {
        let found = complaints(&[("error.rs", "use crate::low;\n"), ("lib.rs", ""), LOW]);
        assert_eq!(
            found,
            ["a/src/error.rs:1: `error.rs` may not use `low` (`a/src/low/mod.rs`): see xtask/src/tidy/layers.rs"]
        );
    }

    #[test]
    fn a_file_without_a_layer_is_found() {
        let expected = "a/src/new/mod.rs:1: the file belongs to no layer of xtask/src/tidy/layers.rs";
        assert_eq!(complaints(&[("lib.rs", "mod new;\n"), ("new/mod.rs", "")]), [expected]);
    }

    /// Files of one folder that each use the next, and the last one the first.
    fn circle(len: usize) -> Vec<String> {
        let module =
            |idx: usize| (format!("low/m{idx}.rs"), format!("use super::m{};\nfn f() {{}}\n", (idx + 1) % len));
        let modules: Vec<(String, String)> = (0..len).map(module).collect();
        let mut files: Vec<(&str, &str)> = modules.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        files.extend([("lib.rs", "mod low;\n"), ("low/mod.rs", "mod m0; mod m1; mod m2; mod m3;\npub use m0::f;\n")]);
        complaints(&files)
    }

    #[test]
    fn a_cycle_of_four_modules_is_found_and_one_of_three_is_not() {
        assert_eq!(circle(3), [""; 0]);
        assert_eq!(
            circle(4),
            [
                "a/src/low/m0.rs:1: 4 modules depend on each other, 3 at most: low/m0 -> low/m1; low/m1 -> low/m2; low/m2 -> low/m3; low/m3 -> low/m0"
            ]
        );
    }

    #[test]
    fn a_facade_does_not_close_a_cycle() {
        let module = |next: &str| format!("use super::{next};\nfn f() {{}}\n");
        let (a, b, c) = (module("b::f"), module("c::f"), "use super::d;\nfn f() {}\n");
        let files = [
            ("lib.rs", "mod low;\n"),
            ("low/a.rs", &a),
            ("low/b.rs", &b),
            ("low/c.rs", c),
            ("low/d/mod.rs", "pub use super::a::f;\n"),
            ("low/mod.rs", "mod a; mod b; mod c; mod d;\n"),
        ];
        assert_eq!(complaints(&files), [""; 0]);
    }

    #[test]
    fn uses_in_tests_comments_and_literals_do_not_count() {
        let bottom = "// crate::high::top::f\npub fn g() -> &'static str { \"crate::high::top::f\" }\n#[cfg(test)]\nmod tests { use crate::high::top::f; }\n";
        assert_eq!(with_bottom(bottom), [""; 0]);
    }
}

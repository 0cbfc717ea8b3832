//! The modules of one crate and the dependencies between their files.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::file::TextFile;
use super::rust_paths::{self, FileNames};

/// A dependency of one file on another, at the first line that names it.
#[derive(Debug, PartialEq)]
pub(super) struct Dependency {
    pub from: usize,
    pub line_idx: usize,
    /// The file that the path ends in.
    pub to: usize,
    /// Files of the modules that the path goes through, in its order, `to` at the end.
    pub trail: Vec<usize>,
}

/// The files of a crate, without those that are compiled for tests only.
pub(super) struct Modules<'a> {
    files: Vec<File<'a>>,
    modules: HashMap<Vec<String>, Module>,
    /// The file of each macro. An exported one is named as if it was declared at the root.
    macros: HashMap<String, usize>,
}

struct File<'a> {
    file: &'a TextFile,
    module: Vec<String>,
    names: FileNames,
}

/// A module with a file of its own, or an inline one.
#[derive(Default)]
struct Module {
    file: usize,
    imports: HashMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    items: HashSet<String>,
}

/// Length limit for a chain of imports. An import of an external crate can appear to refer to itself.
const IMPORTS_MAX: usize = 16;

/// The end of a path.
struct Target {
    module: Vec<String>,
    /// Files of the modules that the path goes through, the file of `module` at the end.
    trail: Vec<usize>,
    /// True if the path goes on to an item of the module.
    is_item: bool,
}

/// The target of a name that is looked up in a module.
enum Reexport {
    /// The name is the module's own, or unknown.
    None,
    External,
    Of(Target),
}

impl Target {
    /// The same target, reached through other modules first.
    fn through(self, files: &[usize]) -> Self {
        let mut trail = [files, &self.trail].concat();
        trail.dedup();
        Self { trail, ..self }
    }
}

impl<'a> Modules<'a> {
    /// `source_folder` is the path of a crate's `src`, without a slash at the end.
    pub(super) fn new(files: &'a [TextFile], source_folder: &str) -> Self {
        let prefix = format!("{source_folder}/");
        let rust = files.iter().filter_map(|file| {
            let module = module_path(file.path.strip_prefix(&prefix)?)?;
            Some(File { file, module, names: rust_paths::names(&file.code) })
        });
        let mut files: Vec<File<'_>> = rust.collect();
        // The program beside a library is a crate of its own, which names the library from outside.
        if files.iter().any(|it| it.file.path == format!("{prefix}lib.rs")) {
            files.retain(|it| it.file.path != format!("{prefix}main.rs"));
        }
        let below = |file: &File<'_>, inner: &Vec<String>| [file.module.clone(), inner.clone()].concat();
        let tests: Vec<Vec<String>> =
            files.iter().flat_map(|file| file.names.test_modules.iter().map(|inner| below(file, inner))).collect();
        files.retain(|file| !tests.iter().any(|test| file.module.starts_with(test)));
        let mut modules = HashMap::new();
        let mut macros = HashMap::new();
        for (file_idx, file) in files.iter().enumerate() {
            declare(&mut modules, file_idx, file);
            macros.extend(file.names.macros.iter().map(|name| (name.clone(), file_idx)));
        }
        Self { files, modules, macros }
    }

    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    pub(super) fn file(&self, file_idx: usize) -> &'a TextFile {
        self.files[file_idx].file
    }

    /// True if the file only declares modules and imports or re-exports names.
    pub(super) fn is_facade(&self, file_idx: usize) -> bool {
        !self.files[file_idx].names.has_code
    }

    /// Each pair of files of which the first names something of the second, once for each trail.
    pub(super) fn dependencies(&self) -> Vec<Dependency> {
        (0..self.files.len()).flat_map(|from| self.dependencies_of(from)).collect()
    }

    fn dependencies_of(&self, from: usize) -> Vec<Dependency> {
        let File { module, names, .. } = &self.files[from];
        let imports = names.imports.iter().map(|it| (&it.scope, &it.segments, it.line_idx));
        let paths = names.paths.iter().map(|it| (&it.scope, &it.segments, it.line_idx));
        let mut found: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
        for (scope, segments, line_idx) in imports.chain(paths) {
            let scope = [module.clone(), scope.clone()].concat();
            let trail = self.resolve(&scope, segments, 0).map(|target| target.trail).unwrap_or_default();
            if trail.last().is_some_and(|to| *to != from) {
                let first = found.entry(trail).or_insert(line_idx);
                *first = line_idx.min(*first);
            }
        }
        let dependency = |(trail, line_idx): (Vec<usize>, usize)| {
            let to = *trail.last()?;
            Some(Dependency { from, line_idx, to, trail })
        };
        found.into_iter().filter_map(dependency).collect()
    }

    /// Follows a path from the module that it is written in. `None` if it leads out of the crate.
    fn resolve(&self, scope: &[String], segments: &[String], n_imports: usize) -> Option<Target> {
        let (mut module, mut rest) = match segments.first()?.as_str() {
            "crate" => (Vec::new(), &segments[1..]),
            "self" => (scope.to_vec(), &segments[1..]),
            "super" => (scope.to_vec(), segments),
            name if self.declares(scope, name) => (scope.to_vec(), segments),
            _ => return None,
        };
        while let Some(("super", after)) = rest.split_first().map(|(first, after)| (first.as_str(), after)) {
            module.pop()?;
            rest = after;
        }
        self.walk(module, rest, n_imports)
    }

    fn declares(&self, module: &[String], name: &str) -> bool {
        let inner = [module, &[name.to_string()]].concat();
        self.modules.contains_key(&inner) || self.modules.get(module).is_some_and(|it| it.imports.contains_key(name))
    }

    /// Goes from a module into the modules and re-exports that `segments` name, until an item or the last segment.
    fn walk(&self, path: Vec<String>, segments: &[String], n_imports: usize) -> Option<Target> {
        let module = self.modules.get(&path)?;
        let Some((name, rest)) = segments.split_first() else {
            return Some(Target { module: path, trail: vec![module.file], is_item: false });
        };
        let inner = [path.clone(), vec![name.clone()]].concat();
        if let Some(child) = self.modules.get(&inner) {
            return Some(self.walk(inner, rest, n_imports)?.through(&[child.file]));
        }
        let target = match self.reexport(&path, module, name, n_imports) {
            Reexport::None => return Some(Target { module: path, trail: vec![module.file], is_item: true }),
            Reexport::External => return None,
            Reexport::Of(target) => target,
        };
        if target.is_item || rest.is_empty() {
            return Some(target);
        }
        Some(self.walk(target.module, rest, n_imports + 1)?.through(&target.trail))
    }

    fn reexport(&self, path: &[String], module: &Module, name: &str, n_imports: usize) -> Reexport {
        if module.items.contains(name) {
            return Reexport::None;
        }
        if let Some(import) = module.imports.get(name) {
            let target = if n_imports < IMPORTS_MAX { self.resolve(path, import, n_imports + 1) } else { None };
            return target.map_or(Reexport::External, Reexport::Of);
        }
        let macro_file = self.macros.get(name).filter(|_| path.is_empty());
        let exported_macro = macro_file.map(|&file| Target {
            module: self.files[file].module.clone(),
            trail: vec![file],
            is_item: true,
        });
        self.through_glob(path, module, name, n_imports).or(exported_macro).map_or(Reexport::None, Reexport::Of)
    }

    /// The module of an item that `module` re-exports with `*`.
    fn through_glob(&self, path: &[String], module: &Module, name: &str, n_imports: usize) -> Option<Target> {
        let globs = module.globs.iter().filter(|_| n_imports < IMPORTS_MAX);
        let targets = globs.filter_map(|glob| self.resolve(path, glob, n_imports + 1));
        let mut owners = targets.filter(|target| {
            let has_item = self.modules.get(&target.module).is_some_and(|it| it.items.contains(name));
            has_item && target.module != path
        });
        owners.next().map(|target| Target { is_item: true, ..target })
    }
}

/// The module of a file, from its path in `src`: `a/mod.rs` and `a.rs` are `a`. `None` if it is no Rust.
fn module_path(path: &str) -> Option<Vec<String>> {
    let mut module: Vec<String> = path.strip_suffix(".rs")?.split('/').map(String::from).collect();
    if module == ["lib"] || module == ["main"] || module.last().is_some_and(|name| name == "mod") {
        module.pop();
    }
    Some(module)
}

fn declare(modules: &mut HashMap<Vec<String>, Module>, file_idx: usize, file: &File<'_>) {
    let inline = file.names.inline_modules.iter().map(|inner| [file.module.clone(), inner.clone()].concat());
    for path in [file.module.clone()].into_iter().chain(inline) {
        modules.insert(path, Module { file: file_idx, ..Module::default() });
    }
    for import in &file.names.imports {
        let scope = [file.module.clone(), import.scope.clone()].concat();
        if let Some(module) = modules.get_mut(&scope) {
            match &import.name {
                Some(name) => drop(module.imports.insert(name.clone(), import.segments.clone())),
                None => module.globs.push(import.segments.clone()),
            }
        }
    }
    for (scope, name) in &file.names.items {
        let scope = [file.module.clone(), scope.clone()].concat();
        if let Some(module) = modules.get_mut(&scope) {
            module.items.insert(name.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Vec<TextFile> {
        files.iter().map(|(path, text)| TextFile::new(&format!("src/{path}"), text.to_string())).collect()
    }

    /// Each dependency as `from:line -> trail`.
    fn dependencies(files: &[(&str, &str)]) -> Vec<String> {
        let files = tree(files);
        let modules = Modules::new(&files, "src");
        let name = |idx: usize| modules.file(idx).path.trim_start_matches("src/");
        let line = |it: &Dependency| {
            let trail: Vec<&str> = it.trail.iter().map(|idx| name(*idx)).collect();
            assert_eq!(trail.last(), Some(&name(it.to)));
            format!("{}:{} -> {}", name(it.from), it.line_idx + 1, trail.join(" -> "))
        };
        modules.dependencies().iter().map(line).collect()
    }

    #[test]
    fn imports_and_paths_lead_to_the_file_of_the_item() {
        let files = [
            ("a.rs", "use crate::b::B;\nfn f() { super::c::d::g() }\n"),
            ("b.rs", "pub struct B;\n"),
            ("c/d.rs", "pub fn g() {}\n"),
            ("c/mod.rs", "pub mod d;\n"),
            ("lib.rs", "mod a; mod b; mod c;\n"),
        ];
        assert_eq!(dependencies(&files), ["a.rs:1 -> b.rs", "a.rs:2 -> c/mod.rs -> c/d.rs"]);
    }

    #[test]
    fn a_reexport_leads_to_the_file_that_it_names() {
        let files = [
            ("a.rs", "use crate::{B, c::D};\n"),
            ("b.rs", "pub struct B;\n"),
            ("c/d.rs", "pub struct D;\n"),
            ("c/mod.rs", "mod d;\npub use d::*;\n"),
            ("lib.rs", "mod a; mod b; mod c;\npub use b::B;\n"),
        ];
        let found = dependencies(&files);
        assert_eq!(found[..2], ["a.rs:1 -> b.rs", "a.rs:1 -> c/mod.rs -> c/d.rs"]);
    }

    #[test]
    fn a_path_through_an_imported_module_is_followed() {
        let files = [
            ("a.rs", "use crate::c;\nfn f() { c::d::g() }\n"),
            ("c/d.rs", "pub fn g() {}\n"),
            ("c/mod.rs", "pub mod d;\n"),
            ("lib.rs", "mod a; mod c;\n"),
        ];
        assert_eq!(dependencies(&files), ["a.rs:1 -> c/mod.rs", "a.rs:2 -> c/mod.rs -> c/d.rs"]);
    }

    #[test]
    fn an_item_of_the_root_and_an_exported_macro_have_their_files() {
        let files = [
            ("a.rs", "fn f() { crate::VERSION; crate::m!() }\n"),
            ("lib.rs", "mod a; mod macros;\nconst VERSION: u8 = 1;\n"),
            ("macros.rs", "#[macro_export]\nmacro_rules! m { () => {} }\n"),
        ];
        assert_eq!(dependencies(&files), ["a.rs:1 -> lib.rs", "a.rs:1 -> macros.rs"]);
    }

    #[test]
    fn inline_modules_belong_to_their_file() {
        let files = [
            ("a.rs", "mod inner { use super::f; use super::super::b::g; }\nfn f() { inner::h() }\n"),
            ("b.rs", "pub fn g() {}\n"),
            ("lib.rs", "mod a; mod b;\n"),
        ];
        assert_eq!(dependencies(&files), ["a.rs:1 -> b.rs"]);
    }

    #[test]
    fn external_crates_and_test_files_are_left_out() {
        let files = [
            ("a.rs", "use std::fmt;\nuse b::b;\nfn f(g: fmt::Result) { b::c() }\n#[cfg(test)]\nmod tests;\n"),
            ("a/tests.rs", "use crate::d;\n"),
            ("d.rs", "pub fn g() {}\n"),
            ("lib.rs", "mod a; mod d;\n"),
        ];
        assert_eq!(dependencies(&files), [""; 0]);
    }

    #[test]
    fn a_reexport_of_another_crate_is_left_out() {
        let files = [("a.rs", "use crate::B;\n"), ("lib.rs", "mod a;\npub use b::B;\n")];
        assert_eq!(dependencies(&files), [""; 0]);
    }

    #[test]
    fn the_program_beside_a_library_is_left_out() {
        let files = tree(&[("lib.rs", ""), ("main.rs", "fn main() {}\n")]);
        assert_eq!(Modules::new(&files, "src").len(), 1);
        assert_eq!(Modules::new(&files[1..], "src").len(), 1);
    }

    #[test]
    fn a_file_that_only_declares_and_reexports_is_a_facade() {
        let files = tree(&[("a.rs", "fn f() {}\n"), ("lib.rs", "mod a;\npub use a::f;\n")]);
        let modules = Modules::new(&files, "src");
        assert_eq!((modules.is_facade(0), modules.is_facade(1)), (false, true));
    }
}

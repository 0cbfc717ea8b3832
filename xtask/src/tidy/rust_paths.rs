//! Modules, imports and paths of one Rust file, without its test modules.
//!
//! The input is code without comments and literals (see [`super::rust_code`]). It is split into tokens, not parsed:
//! that is enough to find `use` declarations and paths such as `crate::memory::Chunk`.

/// Declarations and paths of one file.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FileNames {
    /// Inline modules (`mod a { … }`), as paths below the file's own module.
    pub inline_modules: Vec<Vec<String>>,
    /// Modules with a file of their own that are compiled for tests only.
    pub test_modules: Vec<Vec<String>>,
    pub imports: Vec<Import>,
    pub paths: Vec<PathUse>,
    /// Names of macros by example (`macro_rules!`).
    pub macros: Vec<String>,
    /// Functions, types and constants, each with the inline module that it is in.
    pub items: Vec<(Vec<String>, String)>,
    /// True if the file has more than declarations of modules and imports.
    pub has_code: bool,
}

/// A leaf of a `use` declaration.
#[derive(Debug, PartialEq)]
pub(super) struct Import {
    /// Path of the enclosing inline module; empty at the top of the file.
    pub scope: Vec<String>,
    /// The name that it declares; `None` for a glob.
    pub name: Option<String>,
    pub segments: Vec<String>,
    pub line_idx: usize,
}

/// A path of two or more segments outside `use`.
#[derive(Debug, PartialEq)]
pub(super) struct PathUse {
    pub scope: Vec<String>,
    pub segments: Vec<String>,
    pub line_idx: usize,
}

const ITEM_KEYWORDS: [&str; 8] = ["fn", "struct", "enum", "union", "trait", "type", "const", "static"];

/// Reads the names of a file from its code.
pub(super) fn names(code: &str) -> FileNames {
    let tokens = tokens(code);
    let mut reader = Reader { tokens: &tokens, at: 0, depth: 0, scope: Vec::new(), found: FileNames::default() };
    while reader.at < tokens.len() {
        reader.step();
    }
    reader.found
}

/// A word, `::`, or one other character.
#[derive(Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    line_idx: usize,
}

fn tokens(code: &str) -> Vec<Token<'_>> {
    code.lines().enumerate().flat_map(|(line_idx, line)| line_tokens(line, line_idx)).collect()
}

fn line_tokens(line: &str, line_idx: usize) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let len = match first {
            _ if rest.starts_with("r#") => 2 + word_len(&rest[2..]),
            _ if is_word(first) => word_len(rest),
            _ if rest.starts_with("::") => 2,
            _ => first.len_utf8(),
        };
        found.push(Token { text: rest[..len].trim_start_matches("r#"), line_idx });
        rest = rest[len..].trim_start();
    }
    found
}

fn is_word(ch: char) -> bool {
    ch.is_alphanumeric() || ch == '_'
}

fn word_len(text: &str) -> usize {
    text.find(|ch| !is_word(ch)).unwrap_or(text.len())
}

struct Reader<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    /// Number of braces that are open.
    depth: usize,
    /// Inline modules around the current token, each with the depth of its braces.
    scope: Vec<(String, usize)>,
    found: FileNames,
}

impl<'a> Reader<'a> {
    fn step(&mut self) {
        match self.text(0) {
            "#" if self.text(1) == "[" => self.attribute(),
            "#" if self.text(1) == "!" && self.text(2) == "[" => self.at = self.group_end(self.at + 2),
            "mod" if is_name(self.text(1)) => self.module(),
            "use" if self.text(1) != "<" => self.import(),
            "macro_rules" if self.text(1) == "!" => self.macro_rules(),
            "impl" => self.item(""),
            keyword if ITEM_KEYWORDS.contains(&keyword) && is_name(self.text(1)) => self.item(self.text(1)),
            "{" => self.open(),
            "}" => self.close(),
            word if is_name(word) && self.text(1) == "::" => self.path(),
            _ => self.at += 1,
        }
    }

    /// The token `offset` after the current one, or an empty string.
    fn text(&self, offset: usize) -> &'a str {
        self.tokens.get(self.at + offset).map_or("", |token| token.text)
    }

    fn open(&mut self) {
        self.depth += 1;
        self.at += 1;
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        while self.scope.last().is_some_and(|(_, depth)| *depth > self.depth) {
            self.scope.pop();
        }
        self.at += 1;
    }

    fn scope(&self) -> Vec<String> {
        self.scope.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Index after the bracket that closes the one at `start`.
    fn group_end(&self, start: usize) -> usize {
        let mut depth = 0_usize;
        for (idx, token) in self.tokens.iter().enumerate().skip(start) {
            match token.text {
                "[" | "(" | "{" => depth += 1,
                "]" | ")" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return idx + 1;
            }
        }
        self.tokens.len()
    }

    fn attribute(&mut self) {
        let end = self.group_end(self.at + 1);
        let words: Vec<&str> = self.tokens[self.at..end].iter().map(|token| token.text).collect();
        self.at = end;
        let is_also_otherwise = words.contains(&"not") || words.contains(&"any");
        if words.get(2) == Some(&"cfg") && words.contains(&"test") && !is_also_otherwise {
            self.skip_item();
        }
    }

    /// Skips an item, statement or field that exists in tests only. A module in a file of its own is remembered.
    fn skip_item(&mut self) {
        while self.text(0) == "#" {
            self.at = self.group_end(self.at + 1);
        }
        if self.text(0) == "pub" {
            self.at = if self.text(1) == "(" { self.group_end(self.at + 1) } else { self.at + 1 };
        }
        if self.text(0) == "mod" && self.text(2) == ";" {
            let path = [self.scope(), vec![self.text(1).into()]].concat();
            self.found.test_modules.push(path);
        }
        let is_field = self.text(1) == ":";
        while self.at < self.tokens.len() {
            match self.text(0) {
                "(" | "[" => self.at = self.group_end(self.at),
                "{" => {
                    self.at = self.group_end(self.at);
                    return;
                }
                "}" => return,
                ";" => {
                    self.at += 1;
                    return;
                }
                "," if is_field => {
                    self.at += 1;
                    return;
                }
                _ => self.at += 1,
            }
        }
    }

    fn module(&mut self) {
        let name = self.text(1);
        if self.text(2) == "{" {
            self.depth += 1;
            self.scope.push((name.into(), self.depth));
            self.found.inline_modules.push(self.scope());
        }
        self.at += 3;
    }

    fn item(&mut self, name: &str) {
        self.found.has_code = true;
        let module_depth = self.scope.last().map_or(0, |(_, depth)| *depth);
        if self.depth == module_depth && is_name(name) {
            self.found.items.push((self.scope(), name.into()));
        }
        self.at += 1;
    }

    fn macro_rules(&mut self) {
        self.found.has_code = true;
        self.found.macros.push(self.text(2).into());
        self.at += 3;
    }

    fn import(&mut self) {
        self.at += 1;
        self.import_tree(&[]);
    }

    /// Reads one tree of a `use` declaration, up to and without the `,`, `}` or `;` that ends it.
    fn import_tree(&mut self, prefix: &[String]) {
        let mut segments = prefix.to_vec();
        let line_idx = self.tokens.get(self.at).map_or(0, |token| token.line_idx);
        loop {
            match self.text(0) {
                "::" => self.at += 1,
                "{" => {
                    self.at += 1;
                    while !matches!(self.text(0), "}" | ";" | "") {
                        self.import_tree(&segments);
                        self.at += usize::from(self.text(0) == ",");
                    }
                    self.at += usize::from(self.text(0) == "}");
                    return;
                }
                "*" => {
                    self.at += 1;
                    return self.push_import(None, segments, line_idx);
                }
                "as" => {
                    let name = self.text(1).to_string();
                    self.at += 2;
                    return self.push_import(Some(name), segments, line_idx);
                }
                // `self` in braces stands for the module before them.
                "self" if !prefix.is_empty() => self.at += 1,
                word if is_name(word) => {
                    segments.push(word.into());
                    self.at += 1;
                }
                "," | "}" | ";" | "" => return self.push_import(segments.last().cloned(), segments, line_idx),
                // Part of a macro, such as `use $path;`.
                _ => self.at += 1,
            }
        }
    }

    fn push_import(&mut self, name: Option<String>, segments: Vec<String>, line_idx: usize) {
        if !segments.is_empty() {
            self.found.imports.push(Import { scope: self.scope(), name, segments, line_idx });
        }
    }

    fn path(&mut self) {
        let start = self.at;
        let mut segments = vec![self.text(0).to_string()];
        while self.text(1) == "::" && is_name(self.text(2)) {
            segments.push(self.text(2).into());
            self.at += 2;
        }
        self.at += 1;
        if segments.len() > 1 && !self.is_part_of_something_else(start) {
            let line_idx = self.tokens[start].line_idx;
            self.found.paths.push(PathUse { scope: self.scope(), segments, line_idx });
        }
    }

    /// True for `$crate::…`, which names the crate where the macro is expanded from outside, for the end of a longer
    /// path such as `<T>::a::b` or `::std::fmt`, and for the visibility `pub(in crate::a)`.
    fn is_part_of_something_else(&self, start: usize) -> bool {
        let before = |distance: usize| start.checked_sub(distance).map_or("", |idx| self.tokens[idx].text);
        matches!(before(1), "$" | "::" | ".") || (before(1) == "in" && before(2) == "(")
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|ch: char| ch.is_alphabetic() || ch == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rust_code::blanked;

    fn read(source: &str) -> FileNames {
        names(&blanked(source))
    }

    fn imports(source: &str) -> Vec<String> {
        let import = |it: &Import| format!("{} = {}", it.name.as_deref().unwrap_or("*"), it.segments.join("::"));
        read(source).imports.iter().map(import).collect()
    }

    fn paths(source: &str) -> Vec<String> {
        let path = |it: &PathUse| format!("{}: {}", it.line_idx + 1, it.segments.join("::"));
        read(source).paths.iter().map(path).collect()
    }

    #[test]
    fn an_import_tree_is_read_leaf_by_leaf() {
        let source = "pub(crate) use crate::{a::{self, B as C}, d::*,\n  e};\nuse super::f;\n";
        assert_eq!(
            imports(source),
            ["a = crate::a", "C = crate::a::B", "* = crate::d", "e = crate::e", "f = super::f"]
        );
        let lines: Vec<usize> = read(source).imports.iter().map(|it| it.line_idx).collect();
        assert_eq!(lines, [0, 0, 0, 1, 2]);
    }

    #[test]
    fn a_captured_lifetime_is_no_import() {
        assert_eq!(imports("fn f<'a>() -> impl Sized + use<'a> {}\n"), [""; 0]);
    }

    #[test]
    fn paths_in_code_are_found_with_their_lines() {
        let source = "fn f(a: crate::a::B) {\n  super::c::<u8>();\n  d::e::f();\n  Some(g)\n}\n";
        assert_eq!(paths(source), ["1: crate::a::B", "2: super::c", "3: d::e::f"]);
    }

    #[test]
    fn comments_literals_macro_crates_and_visibilities_are_no_paths() {
        let source = "// crate::a::b\nlet a = \"crate::a::b\";\n$crate::a::b!();\npub(in crate::a) fn f() {}\n::std::mem::drop(1);\n";
        assert_eq!(paths(source), [""; 0]);
    }

    #[test]
    fn test_modules_are_left_out() {
        let source = "#[cfg(test)]\nmod tests { use crate::a; fn f() { crate::b::c() } }\nuse crate::d;\n";
        assert_eq!(imports(source), ["d = crate::d"]);
        assert_eq!(paths(source), [""; 0]);
    }

    #[test]
    fn a_test_module_in_its_own_file_is_named() {
        let source = "#[cfg(all(test, unix))]\n#[allow(unused)]\npub(crate) mod tests;\nmod a;\n";
        assert_eq!(read(source).test_modules, [["tests"]]);
        assert!(!read(source).has_code);
    }

    #[test]
    fn an_item_or_field_for_tests_ends_where_the_next_begins() {
        let source = "#[cfg(test)]\nfn f<A, B>(a: [u8; 2]) { crate::a::b() }\nstruct S {\n  #[cfg(test)]\n  a: crate::c::D,\n  b: crate::e::F,\n}\n";
        assert_eq!(paths(source), ["6: crate::e::F"]);
    }

    #[test]
    fn code_that_is_not_only_for_tests_is_kept() {
        for condition in ["not(test)", "any(test, unix)"] {
            assert_eq!(imports(&format!("#[cfg({condition})]\nuse crate::a;\n")), ["a = crate::a"]);
        }
    }

    #[test]
    fn an_inline_module_is_the_scope_of_its_names() {
        let found = read("mod a { fn f() {}\n  mod b { use super::f; } use self::b::g; }\nuse a::f;\n");
        assert_eq!(found.inline_modules, [vec!["a"], vec!["a", "b"]]);
        let scopes: Vec<String> = found.imports.iter().map(|it| it.scope.join("::")).collect();
        assert_eq!(scopes, ["a::b", "a", ""]);
        assert_eq!(found.items, [(vec!["a".to_string()], "f".to_string())]);
    }

    #[test]
    fn only_items_of_modules_are_items() {
        let found = read("pub struct A;\nimpl A { const B: u8 = 1; fn c() {} }\nmacro_rules! d { () => {} }\n");
        let names: Vec<&str> = found.items.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["A"]);
        assert_eq!(found.macros, ["d"]);
    }

    #[test]
    fn declarations_and_imports_are_no_code() {
        assert!(!read("//! Docs.\n#![warn(missing_docs)]\npub mod a;\n#[cfg(unix)]\npub use a::B;\n").has_code);
        assert!(read("mod a;\nimpl A {}\n").has_code);
    }

    #[test]
    fn an_unfinished_file_ends_the_search() {
        for source in ["use", "use a::{", "mod", "#[cfg(test)]", "crate::", "#[", "use a as"] {
            assert!(read(source).paths.is_empty(), "`{source}`");
        }
    }
}

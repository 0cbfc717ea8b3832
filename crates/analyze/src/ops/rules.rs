//! The set of rules that classifies names.

use super::class::{ClassId, Classes};
use super::parse::{Parsed, RuleError, parse};
use super::pattern::Pattern;
use ferrum_trace_model::vocab::Op;
use std::sync::LazyLock;

/// The built-in rules, in the format of `docs/taxonomy.md`.
pub const BUILT_IN_RULES: &str = include_str!("built_in.rules");

/// Rules that map names of kernels and operations to classes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    classes: Classes,
    pub(super) stages: Vec<Vec<Rule>>,
    refinements: Vec<Refinement>,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// The class of slices that satisfy the condition.
    pub class: ClassId,
    /// The condition.
    pub condition: Condition,
}

/// Condition of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// The name of the slice matches.
    Name(Pattern),
    /// The name of a slice around the launch matches, or around the slice itself if it is on the host.
    Parent(Pattern),
}

/// A rule that replaces the class that others found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refinement {
    /// The class to replace.
    pub from: ClassId,
    /// The rule with the new class.
    pub rule: Rule,
}

/// The names that rules examine for one slice.
#[derive(Clone, Copy, Debug)]
struct Subject<'a> {
    /// The name, in lowercase.
    name: &'a str,
    /// Names of the slices around its launch.
    parents: &'a [&'a str],
}

impl Rules {
    /// Returns the built-in rules.
    pub fn built_in() -> Self {
        static BUILT_IN: LazyLock<Rules> = LazyLock::new(|| {
            let mut classes = Classes::default();
            // A test parses the text, so that it has no error here.
            let parsed = parse(BUILT_IN_RULES, &mut classes).unwrap_or_default();
            Rules { classes, stages: parsed.stages, refinements: parsed.refinements }
        });
        BUILT_IN.clone()
    }

    /// Returns the rules of a text, followed by the built-in rules unless the text has the line `only`. The classes of
    /// the built-in rules are known in both cases.
    pub fn with_own(text: &str) -> Result<Self, RuleError> {
        let mut rules = Self::built_in();
        let Parsed { mut stages, mut refinements, is_only } = parse(text, &mut rules.classes)?;
        if !is_only {
            stages.append(&mut rules.stages);
            refinements.append(&mut rules.refinements);
        }
        Ok(Self { stages, refinements, ..rules })
    }

    /// Returns the class of a name; `None` if no rule matches. Slices around it are not known, so that rules about
    /// parents do not match.
    pub fn classify(&self, name: &str) -> Option<ClassId> {
        self.classify_within(name, &[])
    }

    /// Returns the class of a name whose launch lies in slices with these names, the outermost first. `None` if no rule
    /// matches.
    pub fn classify_within(&self, name: &str, parents: &[&str]) -> Option<ClassId> {
        let whole = simplified(name);
        let head = whole.split(['<', '(']).next().unwrap_or(&whole);
        let parents: Vec<String> = parents.iter().map(|name| name.to_lowercase()).collect();
        let parents: Vec<&str> = parents.iter().map(String::as_str).collect();
        let [head, whole] = [head, &whole].map(|name| Subject { name, parents: &parents });
        let in_stage = |stage: &Vec<Rule>| first_match(stage, head).or_else(|| first_match(stage, whole));
        let class = self.stages.iter().find_map(in_stage)?;
        Some(self.refined(class, whole))
    }

    /// Returns the class of a slice on the host: that of its category if that is the name of a class, or a finer class
    /// that its name has.
    pub(crate) fn classify_in_category(&self, category: &str, by_name: Option<ClassId>) -> Option<ClassId> {
        let Some(class) = self.classes.find(category) else { return by_name };
        by_name.filter(|&finer| self.classes.is_within(finer, class)).or(Some(class))
    }

    /// Returns the name of a class.
    pub fn name(&self, class: ClassId) -> &str {
        self.classes.name(class)
    }

    /// Returns the class of a name of a class.
    pub fn class(&self, name: &str) -> Option<ClassId> {
        self.classes.find(name)
    }

    /// Returns the operation of our vocabulary that a class is, or is a part of.
    pub fn op(&self, class: ClassId) -> Option<Op> {
        self.classes.op(class)
    }

    /// Returns true if a class is another one or a part of it.
    pub fn is_within(&self, class: ClassId, outer: ClassId) -> bool {
        self.classes.is_within(class, outer)
    }

    /// Returns all classes, in the order of their declarations.
    pub fn classes(&self) -> impl Iterator<Item = ClassId> + use<> {
        self.classes.ids()
    }

    /// Returns true if a rule about parents matches this name.
    pub(crate) fn is_parent(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let matches = |rule: &Rule| matches!(&rule.condition, Condition::Parent(pattern) if pattern.matches(&name));
        self.all().any(matches)
    }

    /// Returns all rules.
    pub(super) fn all(&self) -> impl Iterator<Item = &Rule> {
        self.stages.iter().flatten().chain(self.refinements.iter().map(|it| &it.rule))
    }

    fn refined(&self, class: ClassId, subject: Subject) -> ClassId {
        let applies = |it: &&Refinement| it.from == class && it.rule.applies(subject);
        self.refinements.iter().find(applies).map_or(class, |it| it.rule.class)
    }
}

impl Rule {
    fn applies(&self, subject: Subject) -> bool {
        match &self.condition {
            Condition::Name(pattern) => pattern.matches(subject.name),
            Condition::Parent(pattern) => subject.parents.iter().any(|name| pattern.matches(name)),
        }
    }
}

fn first_match(stage: &[Rule], subject: Subject) -> Option<ClassId> {
    stage.iter().find(|rule| rule.applies(subject)).map(|rule| rule.class)
}

/// Returns a name in lowercase without parts that carry no information.
fn simplified(name: &str) -> String {
    let name = name.to_lowercase().replace("(anonymous namespace)::", "");
    name.strip_prefix("void ").map(str::to_owned).unwrap_or(name)
}

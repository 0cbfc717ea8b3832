//! Classes of operations.

use ferrum_trace_model::vocab::Op;

/// Identifies a class of one set of [`Rules`](super::Rules).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(usize);

/// A class of operations.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Class {
    name: String,
    /// The class that it is a part of.
    outer: Option<ClassId>,
}

/// The classes of a taxonomy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Classes {
    all: Vec<Class>,
}

impl Classes {
    /// Adds a class. Its name must be new.
    pub(super) fn push(&mut self, name: &str, outer: Option<ClassId>) -> ClassId {
        self.all.push(Class { name: name.to_owned(), outer });
        ClassId(self.all.len() - 1)
    }

    /// Returns the class of a name.
    pub(super) fn find(&self, name: &str) -> Option<ClassId> {
        self.all.iter().position(|class| class.name == name).map(ClassId)
    }

    /// Returns the name of a class.
    pub(super) fn name(&self, class: ClassId) -> &str {
        self.all.get(class.0).map_or("", |class| &class.name)
    }

    /// Returns the class that a class is a part of, if any.
    pub(super) fn outer(&self, class: ClassId) -> Option<ClassId> {
        self.all.get(class.0)?.outer
    }

    /// Returns true if a class is another one or a part of it.
    pub(super) fn is_within(&self, class: ClassId, outer: ClassId) -> bool {
        self.path(class).any(|it| it == outer)
    }

    /// Returns the operation of the vocabulary that a class is, or is a part of.
    pub(super) fn op(&self, class: ClassId) -> Option<Op> {
        self.path(class).find_map(|class| Op::from_text(self.name(class)))
    }

    /// Returns all classes, in the order of their declarations.
    pub(super) fn ids(&self) -> impl Iterator<Item = ClassId> + use<> {
        (0..self.all.len()).map(ClassId)
    }

    /// Returns a class and those around it. A class is declared after the one that it is in, so there is no cycle.
    fn path(&self, class: ClassId) -> impl Iterator<Item = ClassId> + '_ {
        std::iter::successors(Some(class), |&class| self.outer(class))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finer_class_has_the_operation_of_the_class_that_it_is_in() {
        let mut classes = Classes::default();
        let gemm = classes.push("gemm", None);
        let head = classes.push("lm_head", Some(gemm));
        let tied = classes.push("tied_head", Some(head));
        let other = classes.push("elementwise", None);
        assert_eq!(
            [gemm, head, tied, other].map(|it| classes.op(it)),
            [Some(Op::Gemm); 3].iter().copied().chain([None]).collect::<Vec<_>>()[..]
        );
        assert!(classes.is_within(tied, gemm) && classes.is_within(gemm, gemm) && !classes.is_within(gemm, tied));
        assert_eq!((classes.find("lm_head"), classes.find("head")), (Some(head), None));
    }
}

//! A value for each of the two engines of a comparison.

/// A value of the base and one of the new engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sides<T> {
    /// That of the base.
    pub base: T,
    /// That of the new engine.
    pub new: T,
}

/// One of the two engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The base.
    Base,
    /// The new engine.
    New,
}

impl Side {
    /// Both sides.
    pub const ALL: [Self; 2] = [Self::Base, Self::New];

    /// Returns the word for the side in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::New => "new",
        }
    }
}

impl<T> Sides<T> {
    /// Applies a function to both values.
    pub fn map<'a, U>(&'a self, mut convert: impl FnMut(&'a T) -> U) -> Sides<U> {
        Sides { base: convert(&self.base), new: convert(&self.new) }
    }

    /// Returns the value of a side.
    pub fn get(&self, side: Side) -> &T {
        match side {
            Side::Base => &self.base,
            Side::New => &self.new,
        }
    }

    /// Returns both values.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        [&self.base, &self.new].into_iter()
    }
}

impl<T: Copy> Sides<T> {
    /// Pairs the values of two such objects.
    pub(super) fn zip<U: Copy>(&self, other: Sides<U>) -> Sides<(T, U)> {
        Sides { base: (self.base, other.base), new: (self.new, other.new) }
    }
}

impl<T> Sides<Option<T>> {
    /// Returns both values; `None` if one is missing.
    pub fn both(self) -> Option<Sides<T>> {
        Some(Sides { base: self.base?, new: self.new? })
    }
}

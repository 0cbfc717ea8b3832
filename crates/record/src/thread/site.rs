//! Call sites: the places in a program that record events.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A place in the code that records events of one name. The macros make one for each use, as a `static`.
#[derive(Debug)]
pub struct Site {
    name: &'static str,
    category: &'static str,
    keys: &'static [&'static str],
    /// Number of the site, 0 until its first event.
    id: AtomicU32,
    /// Cached result of the category filter, see `process/categories.rs`.
    filter: AtomicU32,
    /// The site that got its number before this one. Changed once, under the lock of the registry.
    before: OnceLock<Option<&'static Site>>,
}

impl Site {
    /// Creates a site with its name, category (may be empty) and the keys of its arguments.
    pub const fn new(name: &'static str, category: &'static str, keys: &'static [&'static str]) -> Self {
        Self { name, category, keys, id: AtomicU32::new(0), filter: AtomicU32::new(0), before: OnceLock::new() }
    }

    /// Returns the name of the events.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the category of the events; empty if none was given.
    pub const fn category(&self) -> &'static str {
        self.category
    }

    pub(crate) const fn keys(&self) -> &'static [&'static str] {
        self.keys
    }

    /// Returns the number of the site, 0 if it has none yet.
    #[inline(always)]
    pub(crate) fn known_id(&self) -> u32 {
        // Pairs with `set_id`: a thread that loads the number may record events with it, since the definition is in the
        // spool by then.
        self.id.load(Ordering::Acquire)
    }

    pub(crate) fn set_id(&self, id: u32) {
        self.id.store(id, Ordering::Release);
    }

    pub(crate) fn filter(&self) -> u32 {
        self.filter.load(Ordering::Relaxed)
    }

    pub(crate) fn set_filter(&self, filter: u32) {
        self.filter.store(filter, Ordering::Relaxed);
    }
}

/// The sites that have numbers. They are linked through the sites themselves, since a signal handler that adds one may
/// have interrupted the allocator.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    last: Option<&'static Site>,
    n: u32,
}

impl Sites {
    pub(crate) const fn new() -> Self {
        Self { last: None, n: 0 }
    }

    /// Returns the number of sites.
    pub(crate) fn len(&self) -> u32 {
        self.n
    }

    /// Adds a site, which must be in no list.
    pub(crate) fn add(&mut self, site: &'static Site) {
        if site.before.set(self.last).is_ok() {
            self.last = Some(site);
            self.n += 1;
        }
    }

    /// Returns all sites, the last one first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'static Site> {
        std::iter::successors(self.last, |site| site.before.get().copied().flatten())
    }
}

//! Stretches that follow each other: one clock read each.

use crate::arg::Arg;
use crate::buffer;
use crate::clock;
use crate::global;
use crate::site::Site;
use crate::span::{end_at_otherwise, end_site_otherwise, now_of, open};
use ferrum_trace_format::spool::record::Kind;
use std::marker::PhantomData;
use std::sync::OnceLock;

/// Marks of one `laps!` that are known by their place; further ones cost as much as a name made at run time.
const MARKS_MAX: usize = 32;
const OFF_LEVEL: u32 = u32::MAX;

/// The place of a [`laps!`](crate::laps) in the code, and of its marks.
#[derive(Debug)]
pub struct LapSite {
    outer: Site,
    /// In the order in which they were first met, which is that of the code.
    marks: [OnceLock<Site>; MARKS_MAX],
}

impl LapSite {
    /// A site with the name, category and argument keys of the slice around the stretches.
    pub const fn new(name: &'static str, category: &'static str, keys: &'static [&'static str]) -> Self {
        Self { outer: Site::new(name, category, keys), marks: [const { OnceLock::new() }; MARKS_MAX] }
    }

    /// The number of the mark that came `n`th last time, if it is this one.
    #[inline(always)]
    fn expected_mark(&self, n: usize, name: &'static str) -> u32 {
        match self.marks.get(n).and_then(OnceLock::get) {
            // The same literal, by its address: another with the same text takes the slow way.
            Some(mark) if std::ptr::eq(mark.name(), name) => mark.known_id(),
            _ => 0,
        }
    }

    /// The number of a mark that came at another place, or for the first time.
    fn mark(&'static self, name: &'static str) -> u32 {
        let mark = self.marks.iter().map(|mark| mark.get_or_init(|| Site::new(name, self.outer.category(), &[])));
        match mark.into_iter().find(|mark| mark.name() == name) {
            Some(mark) => mark.id(),
            None => global::active().and_then(|session| session.intern(name, self.outer.category())).unwrap_or(0),
        }
    }
}

/// A slice divided into stretches, made by [`laps!`](crate::laps); ends when it is dropped.
#[must_use = "the laps end when this is dropped: bind it to a name"]
#[derive(Debug)]
pub struct Laps<const N: usize = 0> {
    site: &'static LapSite,
    start: u64,
    /// When the last stretch ended.
    last: u64,
    level: u32,
    n_marks: usize,
    args: [Arg; N],
    on_one_thread: PhantomData<*const ()>,
}

impl<const N: usize> Laps<N> {
    #[doc(hidden)]
    #[inline(always)]
    pub fn begin(mode: u8, site: &'static LapSite, args: [Arg; N]) -> Self {
        let (start, level) = open(mode);
        Self { site, start, last: start, level, n_marks: 0, args, on_one_thread: PhantomData }
    }

    #[doc(hidden)]
    #[inline(always)]
    pub fn off(site: &'static LapSite) -> Self {
        Self { site, start: 0, last: 0, level: OFF_LEVEL, n_marks: 0, args: [Arg::LOST; N], on_one_thread: PhantomData }
    }

    /// Records the stretch since the last mark, or since the begin, under this name.
    #[inline(always)]
    pub fn mark(&mut self, name: &'static str) {
        if crate::COMPILED_OUT || self.level == OFF_LEVEL {
            return;
        }
        let now = clock::ticks();
        let kind = if self.n_marks == 0 { Kind::FirstLap } else { Kind::Span };
        let site = self.site.expected_mark(self.n_marks, name);
        let is_written = buffer::current().try_lap(kind, site, self.last, now, self.level);
        self.last = if is_written { now } else { mark_otherwise(self.site, kind, name, self.last, now, self.level) };
        self.n_marks += 1;
    }
}

/// Returns when the stretch ended, on the clock of its level.
#[cold]
#[inline(never)]
fn mark_otherwise(site: &'static LapSite, kind: Kind, name: &'static str, last: u64, ticks: u64, level: u32) -> u64 {
    let now = now_of(level, ticks);
    end_at_otherwise(kind, last, now, level, &[], false, || site.mark(name));
    now
}

impl<const N: usize> Drop for Laps<N> {
    #[inline(always)]
    fn drop(&mut self) {
        if crate::COMPILED_OUT || self.level == OFF_LEVEL {
            return;
        }
        let end = clock::ticks();
        let site = self.site.outer.known_id();
        if !buffer::current().try_span(site, self.start, end, self.level, &self.args) {
            end_site_otherwise(&self.site.outer, self.start, end, self.level, self.args);
        }
    }
}

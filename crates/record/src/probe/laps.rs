//! Consecutive slices (laps) that cost one clock read each.

use crate::os::clock;
use crate::probe::span::{OFF_LEVEL, begin_at, end_at_slowly, end_site_slowly, now_of};
use crate::process::current::{self, site_id};
use crate::recording::definitions::Interned;
use crate::thread::arg::Arg;
use crate::thread::buffer;
use crate::thread::site::Site;
use crate::util::compiled_out::COMPILED_OUT;
use ferrum_trace_format::spool::record::RecordKind;
use std::marker::PhantomData;
use std::sync::OnceLock;

/// Marks of one `laps!` that are identified by position; further marks cost as much as a name made at run time.
const MARKS_MAX: usize = 32;

/// The call site of a [`laps!`](crate::laps), and of its marks.
#[derive(Debug)]
pub struct LapSite {
    outer: Site,
    /// The mark that is expected at each position: in the order of the code, with repetitions.
    marks: [OnceLock<&'static Site>; MARKS_MAX],
}

impl LapSite {
    /// Creates a site with the name, category and argument keys of the slice around the laps.
    pub const fn new(name: &'static str, category: &'static str, keys: &'static [&'static str]) -> Self {
        Self { outer: Site::new(name, category, keys), marks: [const { OnceLock::new() }; MARKS_MAX] }
    }

    /// Returns the mark at position `n`, if it has this name.
    #[inline(always)]
    fn expected_mark(&self, n: usize, name: &'static str) -> Option<&'static Site> {
        // Compares addresses: an equal literal at another address takes the slow path.
        self.marks.get(n)?.get().copied().filter(|mark| std::ptr::eq(mark.name(), name))
    }

    /// Returns the mark of this name and its position, if it occurred before at another position than `n`. If position
    /// `n` is empty, the mark is expected there from now on.
    #[inline(never)]
    fn other_mark(&self, n: usize, name: &'static str) -> Option<(&'static Site, usize)> {
        let known = self.marks.iter().map_while(|mark| mark.get().copied());
        let (place, mark) = known.enumerate().find(|(_, mark)| mark.name() == name)?;
        match self.marks.get(n) {
            Some(slot) if slot.get().is_none() && std::ptr::eq(*slot.get_or_init(|| mark), mark) => Some((mark, n)),
            _ => Some((mark, place)),
        }
    }

    /// Returns the number of a mark that occurs for the first time, at position `n`.
    fn new_mark(&'static self, n: usize, name: &'static str) -> u32 {
        // Leaked once per call site, which lives as long as a `static`.
        let make = || &*Box::leak(Box::new(Site::new(name, self.outer.category(), &[])));
        match self.marks.get(n).map(|slot| *slot.get_or_init(make)) {
            Some(mark) if mark.name() == name => site_id(mark),
            _ => {
                let interned = current::active().and_then(|session| session.intern(name, self.outer.category()));
                interned.and_then(Interned::in_spool).unwrap_or(0)
            }
        }
    }
}

/// A slice that is divided into laps, made by [`laps!`](crate::laps); ends when it is dropped.
#[must_use = "the laps end when this is dropped: bind it to a name"]
#[derive(Debug)]
pub struct Laps<const N: usize = 0> {
    site: &'static LapSite,
    start: u64,
    /// End of the last lap.
    last: u64,
    level: u32,
    /// True if a guard that was open at the last mark is still open or has ended since, so that the next lap would
    /// overlap it partly.
    is_crossed: bool,
    /// Position in `site.marks` of the next expected mark.
    place: usize,
    args: [Arg; N],
    on_one_thread: PhantomData<*const ()>,
}

impl<const N: usize> Laps<N> {
    #[doc(hidden)]
    #[inline(always)]
    pub fn begin(mode: u8, site: &'static LapSite, args: [Arg; N]) -> Self {
        let (start, level) = begin_at(mode, &site.outer, &args);
        Self { site, start, last: start, level, is_crossed: false, place: 0, args, on_one_thread: PhantomData }
    }

    #[doc(hidden)]
    #[inline(always)]
    pub fn off(site: &'static LapSite) -> Self {
        Self {
            site,
            start: 0,
            last: 0,
            level: OFF_LEVEL,
            is_crossed: false,
            place: 0,
            args: [Arg::LOST; N],
            on_one_thread: PhantomData,
        }
    }

    /// Records the lap since the last mark, or since the beginning, under this name.
    #[inline(always)]
    pub fn mark(&mut self, name: &'static str) {
        if COMPILED_OUT || self.level == OFF_LEVEL {
            return;
        }
        let buffer = buffer::current();
        let now = buffer.end_at(clock::ticks());
        let kind = if self.last == self.start { RecordKind::FirstLap } else { RecordKind::Span };
        let expected = self.site.expected_mark(self.place, name).map(|mark| (mark, self.place));
        let found = expected.or_else(|| self.site.other_mark(self.place, name));
        let (site, place) = found.map_or((0, self.place), |(mark, place)| (mark.known_id(), place));
        if !self.is_crossed && buffer.try_lap(kind, site, self.last, now, self.level) {
            self.last = now;
        } else {
            let kind = if self.is_crossed { RecordKind::Escaped } else { kind };
            (self.last, self.is_crossed) = mark_slowly(self.site, place, kind, name, self.last, now, self.level);
        }
        self.place = place + 1;
    }
}

/// Records a lap on the slow path. Returns its end, on the clock of its level, and true if a guard inside it was open
/// then.
#[cold]
#[inline(never)]
fn mark_slowly(
    site: &'static LapSite,
    place: usize,
    kind: RecordKind,
    name: &'static str,
    last: u64,
    ticks: u64,
    level: u32,
) -> (u64, bool) {
    let now = now_of(level, ticks);
    let site_id = || match site.other_mark(place, name) {
        Some((mark, _)) => site_id(mark),
        None => site.new_mark(place, name),
    };
    let nests = end_at_slowly(kind, last, now, level, &[], false, site_id);
    (now, !nests)
}

impl<const N: usize> Drop for Laps<N> {
    #[inline(always)]
    fn drop(&mut self) {
        if COMPILED_OUT || self.level == OFF_LEVEL {
            return;
        }
        if let Err(end) = buffer::current().end(self.site.outer.known_id(), self.start, self.level, &self.args) {
            end_site_slowly(&self.site.outer, self.start, end, self.level, self.args);
        }
    }
}

//! Spans: slices of a thread's time.

use crate::os::clock;
use crate::probe::flow::Flow;
use crate::probe::mode::mode;
use crate::process::attach;
use crate::process::categories;
use crate::process::current::site_id;
use crate::process::switch::{FILTERED, OFF, TICKS};
use crate::thread::arg::Arg;
use crate::thread::buffer::{self, Begun, Draft};
use crate::thread::site::Site;
use crate::util::compiled_out::COMPILED_OUT;
use ferrum_trace_format::spool::record::{RecordKind, SITE_INLINE};
use std::marker::PhantomData;

/// Level of a span that is not recorded.
pub(crate) const OFF_LEVEL: u32 = u32::MAX;
/// Set in the level of a span on the slow clock, so that it fails the comparison of the hot path.
const SLOW_BIT: u32 = 1 << 31;

/// Methods of all kinds of spans: their state and their flows.
macro_rules! recorded_and_flows {
    () => {
        /// Returns true if the span is recorded.
        pub fn is_on(&self) -> bool {
            self.level != OFF_LEVEL
        }

        /// Records the start of a flow, which ends in the span that calls [`flow_in`](Self::flow_in) with the same
        /// flow.
        pub fn flow_out(&self, flow: Flow) {
            flow.record_if(self.is_on(), RecordKind::FlowStart);
        }

        /// Records a step of a flow in this span.
        pub fn flow_step(&self, flow: Flow) {
            flow.record_if(self.is_on(), RecordKind::FlowStep);
        }

        /// Records the end of a flow in this span.
        pub fn flow_in(&self, flow: Flow) {
            flow.record_if(self.is_on(), RecordKind::FlowEnd);
        }
    };
}

/// A slice of a thread's time, from [`span!`](crate::span) until it is dropped.
///
/// It cannot move to another thread; an [`async_span!`](crate::async_span) can.
#[must_use = "a span ends when it is dropped: bind it to a name such as `_span`"]
#[derive(Debug)]
pub struct Span<const N: usize = 0> {
    site: &'static Site,
    start: u64,
    level: u32,
    args: [Arg; N],
    on_one_thread: PhantomData<*const ()>,
}

impl<const N: usize> Span<N> {
    /// Begins a span. `mode` comes from [`mode`](crate::__private::mode).
    #[doc(hidden)]
    #[inline(always)]
    pub fn begin(mode: u8, site: &'static Site, args: [Arg; N]) -> Self {
        let (start, level) = begin_at(mode, site, &args);
        Self { site, start, level, args, on_one_thread: PhantomData }
    }

    /// Returns a span that is not recorded.
    #[doc(hidden)]
    #[inline(always)]
    pub fn off(site: &'static Site) -> Self {
        Self { site, start: 0, level: OFF_LEVEL, args: [Arg::LOST; N], on_one_thread: PhantomData }
    }

    recorded_and_flows!();

    /// Moves the span elsewhere, by a copy, so that the guard itself can stay in registers.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> Self {
        let level = std::mem::replace(&mut self.level, OFF_LEVEL);
        Self { site: self.site, start: self.start, level, args: self.args, on_one_thread: PhantomData }
    }

    /// Returns the current time, for [`end_at`](Self::end_at).
    pub(crate) fn now(&self) -> u64 {
        now_of(self.level, buffer::current().end_at(clock::ticks()))
    }

    /// Ends the span at a time that [`now`](Self::now) has returned, with another site and its arguments if given.
    #[cold]
    pub(crate) fn end_at(&mut self, end: u64, other: Option<(&'static Site, &[Arg])>) {
        if !self.is_on() {
            return;
        }
        let level = std::mem::replace(&mut self.level, OFF_LEVEL);
        let (site, args) = other.unwrap_or((self.site, &self.args));
        end_at_slowly(RecordKind::Span, self.start, end, level, args, true, || site_id(site));
    }

    pub(crate) fn args(&self) -> &[Arg; N] {
        &self.args
    }

    pub(crate) fn name(&self) -> &'static str {
        self.site.name()
    }
}

impl Span {
    /// Begins a span whose name or category is made at run time. It costs some tens of nanoseconds more than
    /// [`span!`](crate::span).
    ///
    /// ```
    /// let model = String::from("llama");
    /// let _span = ferrum_trace::Span::dynamic(&format!("load {model}"), "startup");
    /// ```
    #[inline]
    pub fn dynamic(name: &str, category: &str) -> DynamicSpan {
        match mode() {
            OFF => DynamicSpan::off(),
            mode if mode & FILTERED != 0 && categories::is_name_muted(category) => DynamicSpan::off(),
            mode => DynamicSpan::begin(mode, name, category),
        }
    }
}

impl<const N: usize> Drop for Span<N> {
    #[inline(always)]
    fn drop(&mut self) {
        if COMPILED_OUT || self.level == OFF_LEVEL {
            return;
        }
        if let Err(end) = buffer::current().end(self.site.known_id(), self.start, self.level, &self.args) {
            // Copies, so that the guard itself can stay in registers.
            end_site_slowly(self.site, self.start, end, self.level, self.args);
        }
    }
}

#[cold]
#[inline(never)]
pub(crate) fn end_site_slowly<const N: usize>(site: &'static Site, start: u64, end: u64, level: u32, args: [Arg; N]) {
    end_slowly(start, end, level, &args, || site_id(site));
}

/// Begins a slice of a site. Returns its start and level; the level is [`OFF_LEVEL`] if its category is not recorded.
#[inline(always)]
pub(crate) fn begin_at<const N: usize>(mode: u8, site: &'static Site, args: &[Arg; N]) -> (u64, u32) {
    if mode != TICKS {
        return begin_at_slowly(mode, site, *args);
    }
    let Begun { start, level, is_listed } = buffer::current().begin(site.known_id(), args);
    if !is_listed {
        note_begin_slowly(site, start, level, *args);
    }
    (start, level)
}

/// Begins a slice on the slow clock, or while categories are filtered.
#[cold]
#[inline(never)]
fn begin_at_slowly<const N: usize>(mode: u8, site: &'static Site, args: [Arg; N]) -> (u64, u32) {
    if mode & FILTERED != 0 && categories::is_site_muted(site) {
        return (0, OFF_LEVEL);
    }
    let (start, level) = open(mode);
    note_begin(site, start, level, &args);
    (start, level)
}

/// Opens a level and reads the clock, in this order, so that the span does not include the recorder's work.
#[inline(always)]
pub(crate) fn open(mode: u8) -> (u64, u32) {
    let buffer = buffer::current();
    let level = buffer.open_level();
    match mode & !FILTERED {
        TICKS => (buffer.start_at(clock::ticks()), level),
        _ => (clock::advancing_nanos(), level | SLOW_BIT),
    }
}

/// Puts a slice that begins on the thread's stack of open spans.
#[inline(always)]
pub(crate) fn note_begin<const N: usize>(site: &'static Site, start: u64, level: u32, args: &[Arg; N]) {
    if !buffer::current().try_open(site.known_id(), start, level, args) {
        note_begin_slowly(site, start, level, *args);
    }
}

#[cold]
#[inline(never)]
fn note_begin_slowly<const N: usize>(site: &'static Site, start: u64, level: u32, args: [Arg; N]) {
    if level != OFF_LEVEL {
        attach::open(|| site_id(site), start, level & !SLOW_BIT, &args);
    }
}

/// Closes a level without a record.
#[cfg(feature = "tracing")]
pub(crate) fn close(level: u32) {
    let level = level & !SLOW_BIT;
    buffer::current().close_level(level);
    empty_slot(level);
}

/// Returns the current time on the clock of a level; `ticks` if that is the fast one.
pub(crate) fn now_of(level: u32, ticks: u64) -> u64 {
    if level & SLOW_BIT != 0 { clock::advancing_nanos() } else { ticks }
}

/// Ends a slice that the hot path could not end: its site has no number, the thread has no chunk, or a guard inside
/// it is still open.
pub(crate) fn end_slowly(start: u64, ticks: u64, level: u32, args: &[Arg], site_id: impl Fn() -> u32) {
    end_at_slowly(RecordKind::Span, start, now_of(level, ticks), level, args, true, site_id);
}

/// Ends a slice at a time on the clock of its level. Returns false if a guard inside it is still open.
pub(crate) fn end_at_slowly(
    kind: RecordKind,
    start: u64,
    end: u64,
    level: u32,
    args: &[Arg],
    closes: bool,
    site_id: impl Fn() -> u32,
) -> bool {
    let level = level & !SLOW_BIT;
    let nests = match closes {
        true => buffer::current().close_level(level),
        false => buffer::current().is_innermost(level),
    };
    let draft = Draft { kind: if nests { kind } else { RecordKind::Escaped }, site: 0, start, end, leading: &[], args };
    attach::record(site_id, &draft);
    if closes {
        empty_slot(level);
    }
    nests
}

/// Removes a span that has ended from the stack of open spans. A signal handler that interrupted the recorder has
/// nothing to remove: its span is not there.
fn empty_slot(level: u32) {
    if let Some(held) = buffer::current().hold() {
        held.empty_slot(level);
    }
}

/// A span with a name made at run time, see [`Span::dynamic`].
#[must_use = "a span ends when it is dropped: bind it to a name such as `_span`"]
#[derive(Debug)]
pub struct DynamicSpan {
    name: DynamicName,
    start: u64,
    level: u32,
    on_one_thread: PhantomData<*const ()>,
}

/// Reference to a name in a record: its number or, if there are too many names, the name itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DynamicName {
    site: u32,
    args: [Arg; 2],
}

impl DynamicName {
    const NONE: Self = Self { site: SITE_INLINE, args: [Arg::LOST; 2] };

    pub(crate) fn new(name: &str, category: &str) -> Self {
        match attach::site_of(name, category) {
            Some(site) => Self { site, args: [Arg::LOST; 2] },
            None => Self { site: SITE_INLINE, args: [name, category].map(crate::Value::to_arg) },
        }
    }

    pub(crate) fn args(&self) -> &[Arg] {
        if self.site == SITE_INLINE { &self.args } else { &[] }
    }

    pub(crate) fn site(&self) -> u32 {
        self.site
    }

    /// Puts a slice of this name that begins on the thread's stack of open spans.
    fn note_begin(&self, start: u64, level: u32) {
        let is_noted = self.site != SITE_INLINE && buffer::current().try_open(self.site, start, level, &[]);
        if !is_noted {
            attach::open(|| self.site, start, level & !SLOW_BIT, self.args());
        }
    }
}

impl DynamicSpan {
    fn begin(mode: u8, name: &str, category: &str) -> Self {
        let name = DynamicName::new(name, category);
        let (start, level) = open(mode);
        name.note_begin(start, level);
        Self { name, start, level, on_one_thread: PhantomData }
    }

    fn off() -> Self {
        Self { name: DynamicName::NONE, start: 0, level: OFF_LEVEL, on_one_thread: PhantomData }
    }

    recorded_and_flows!();
}

impl Drop for DynamicSpan {
    #[inline]
    fn drop(&mut self) {
        if COMPILED_OUT || self.level == OFF_LEVEL {
            return;
        }
        let end = clock::ticks();
        let name = self.name;
        let is_written =
            name.site != SITE_INLINE && buffer::current().try_span(name.site, self.start, end, self.level, &[]);
        if !is_written {
            end_slowly(self.start, end, self.level, name.args(), || name.site);
        }
    }
}

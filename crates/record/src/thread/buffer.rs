//! The buffer of a thread: the hot path.
//!
//! A buffer is a pointer to the thread's chunk, a pointer to its stack of open spans, and one word of state. Ending a
//! span reads the clock, stores two words (and one per argument) into the chunk, and publishes its new length. All
//! exceptions (no room, a time that does not fit, a guard that outlived another, an interrupting signal handler) fail
//! one comparison and go to `process/attach.rs`.
//!
//! A signal handler may record on the same thread. While the buffer is changed it is *held*: a handler that finds it
//! held does not record, and its event is counted as lost. A handler that runs before the buffer is held, or after it
//! was released, is complete before the interrupted code continues.
#![allow(unsafe_code)]

use crate::memory::chunk::{self, ChunkMemory};
use crate::memory::open_slot;
use crate::os::clock::{self, TICKS_APART};
use crate::thread::arg::Arg;
use ferrum_trace_format::spool::layout::CHUNK_BYTES;
use ferrum_trace_format::spool::layout::chunk::HEADER_WORDS;
use ferrum_trace_format::spool::record::{
    ARGS_IN_HEADER, ARGS_MAX, HEADER_BYTES, RecordKind, TIME_BITS, TIME_MASK, first_word, n_type_words, second_word,
    second_word_many, thread_word,
};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

/// Stands for a missing chunk or stack of open spans. Its limit is zero, so that nothing is ever written to it.
static NO_CHUNK: [AtomicU64; HEADER_WORDS] = [const { AtomicU64::new(0) }; HEADER_WORDS];

/// Bit of the state: the buffer is held.
const HELD: u64 = 1 << 32;

/// Distance of the prefetch ahead of the record, in words. The pages were prepared by another core, whose cache still
/// has them.
const PREFETCH_WORDS: usize = 128;

/// Maximum number of remembered levels of guards that ended before a guard inside them.
const ENDED_LEVELS: usize = 32;

/// The words of the chunk or the stack of open spans that a buffer writes to.
#[derive(Clone, Copy)]
struct Words(*const AtomicU64);

impl Words {
    /// Prefetches a word that will be written soon. The address may be past the chunk: nothing is accessed.
    #[inline(always)]
    fn prefetch(&self, word: usize) {
        let address = self.0.wrapping_add(word);
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint that faults on no address, and does nothing on processors without it.
        unsafe {
            core::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = address;
    }
}

impl ChunkMemory for Words {
    #[inline(always)]
    fn load(&self, word: usize, order: Ordering) -> u64 {
        // SAFETY: the pointer is `NO_CHUNK`, of which only the header is read since its limit is zero, or it points to
        // a chunk or a stack that `attach.rs` keeps mapped while it is set here. Callers index the header, or stay
        // below `chunk::limit` or `open_slot::limit`, which are never more than the size of the chunk or the stack,
        // whatever another process has stored there.
        unsafe { &*self.0.add(word) }.load(order)
    }

    #[inline(always)]
    fn store(&self, word: usize, value: u64, order: Ordering) {
        // SAFETY: as for `load`.
        unsafe { &*self.0.add(word) }.store(value, order)
    }
}

/// A record to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draft<'a> {
    pub kind: RecordKind,
    pub site: u32,
    /// Ticks.
    pub start: u64,
    /// Ticks.
    pub end: u64,
    pub leading: &'a [u64],
    pub args: &'a [Arg],
}

impl Draft<'_> {
    /// Returns the size in bytes, including the record for a long duration before it.
    fn size(&self) -> usize {
        let args = &self.args[..self.args.len().min(ARGS_MAX)];
        let n_many = if args.len() > ARGS_IN_HEADER { 1 + n_type_words(args.len()) } else { 0 };
        let long = if self.duration() > TIME_MASK { HEADER_BYTES + 8 } else { 0 };
        long + HEADER_BYTES + 8 * (self.leading.len() + n_many + args.len())
    }

    fn duration(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

thread_local! {
    /// The buffer for the process's recording. It has no destructor, so that reading it is one instruction.
    static BUFFER: ThreadBuffer = const { ThreadBuffer::new() };
}

/// Returns the calling thread's buffer.
#[inline(always)]
pub(crate) fn current() -> &'static ThreadBuffer {
    let buffer = BUFFER.with(std::ptr::from_ref);
    // SAFETY: a thread-local without a destructor lives as long as its thread, and the reference cannot leave the
    // thread, because cells are not Sync. (Working inside `with` would need no unsafe code, but prevents inlining.)
    unsafe { &*buffer }
}

/// Keeps the signal handlers of this thread from recording while `work` holds a lock that recording may need.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> T {
    let _held = current().hold();
    work()
}

/// A span that has begun.
#[derive(Clone, Copy)]
pub(crate) struct Begun {
    pub start: u64,
    pub level: u32,
    /// True if it is on the stack of open spans.
    pub is_listed: bool,
}

/// State of a thread that records. Nothing in it is dropped, so that it can be used until the very end of the thread.
pub(crate) struct ThreadBuffer {
    words: Cell<*const AtomicU64>,
    /// The thread's stack of open spans.
    stack: Cell<*const AtomicU64>,
    /// Number of levels of the stack.
    stack_levels: Cell<u64>,
    /// Low 32 bits: the number of open guards of this thread. [`HELD`]: the buffer is being changed. Both are in one
    /// word, so that one comparison detects every exception.
    state: Cell<u64>,
    /// The latest time that the thread has read, in ticks.
    last: Cell<u64>,
    /// Levels of guards that ended while a guard inside them was still open.
    ended: [Cell<u32>; ENDED_LEVELS],
    n_ended: Cell<usize>,
    /// The thread's number in the spool, and the session that assigned it.
    thread: Cell<u32>,
    session: Cell<u64>,
}

impl Default for ThreadBuffer {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: a buffer is only used by one thread at a time. The buffer for ending threads of a session moves between
// threads behind a lock, together with the chunk that it points to.
unsafe impl Send for ThreadBuffer {}

impl ThreadBuffer {
    pub(crate) const fn new() -> Self {
        Self {
            words: Cell::new(NO_CHUNK.as_ptr()),
            stack: Cell::new(NO_CHUNK.as_ptr()),
            stack_levels: Cell::new(0),
            state: Cell::new(0),
            last: Cell::new(0),
            ended: [const { Cell::new(0) }; ENDED_LEVELS],
            n_ended: Cell::new(0),
            thread: Cell::new(0),
            session: Cell::new(0),
        }
    }

    /// Begins a span on the fast clock: opens a level, reads the clock, and puts the span on the stack of open spans.
    /// The clock is read after the level is opened, so that the span does not include the recorder's work.
    #[inline(always)]
    pub(crate) fn begin<const N: usize>(&self, site: u32, args: &[Arg; N]) -> Begun {
        let level = self.open_level();
        let start = self.start_at(clock::ticks());
        Begun { start, level, is_listed: self.try_open(site, start, level, args) }
    }

    /// Ends a span that [`begin`](Self::begin) has begun: reads the clock and writes the record. Returns the end as an
    /// error if nothing was written: there is no room, the site has no number, or the span is not the innermost one.
    #[inline(always)]
    pub(crate) fn end<const N: usize>(&self, site: u32, start: u64, level: u32, args: &[Arg; N]) -> Result<(), u64> {
        let end = self.end_at(clock::ticks());
        if self.try_span(site, start, end, level, args) { Ok(()) } else { Err(end) }
    }

    /// Opens a level and returns it.
    #[inline(always)]
    pub(crate) fn open_level(&self) -> u32 {
        let state = self.state.get();
        self.state.set(state.wrapping_add(1));
        state as u32
    }

    /// Returns the start of a span that is opened at `ticks`: later than any time that the thread has read before.
    #[inline(always)]
    pub(crate) fn start_at(&self, ticks: u64) -> u64 {
        let start = ticks.max(self.last.get() + TICKS_APART);
        self.last.set(start);
        start
    }

    /// Returns the end of a span that is closed at `ticks`: not earlier than any time that the thread has read before.
    #[inline(always)]
    pub(crate) fn end_at(&self, ticks: u64) -> u64 {
        let end = ticks.max(self.last.get());
        self.last.set(end);
        end
    }

    fn depth(&self) -> u32 {
        self.state.get() as u32
    }

    fn set_depth(&self, depth: u32) {
        self.state.set(self.state.get() & HELD | u64::from(depth));
    }

    /// Puts a span that begins on the stack of open spans. Returns false if nothing was stored: the stack has no slot
    /// for its level, the site has no number, or a signal handler that interrupted the recorder begins the span.
    ///
    /// The buffer is held meanwhile. A handler that records in a new session gives the thread another stack and unmaps
    /// the old one, which must not happen between the load of the pointer and the stores to the slot.
    #[inline(always)]
    pub(crate) fn try_open<const N: usize>(&self, site: u32, start: u64, level: u32, args: &[Arg; N]) -> bool {
        let state = u64::from(level) + 1;
        if self.state.get() != state || site == 0 {
            return false;
        }
        self.state.set(state | HELD);
        compiler_fence(Ordering::SeqCst);
        let stack = Words(self.stack.get());
        let has_slot = u64::from(level) < open_slot::limit(&stack, self.stack_levels.get());
        if has_slot {
            open_slot::fill(&stack, level as usize, site, start, args.iter().map(Arg::type_and_word));
        }
        compiler_fence(Ordering::SeqCst);
        self.state.set(state);
        has_slot
    }

    /// Removes a span that has ended from the stack of open spans. The caller holds the buffer.
    #[inline(always)]
    fn empty_slot(&self, level: u32) {
        let stack = Words(self.stack.get());
        if u64::from(level) < open_slot::limit(&stack, self.stack_levels.get()) {
            open_slot::empty(&stack, level as usize);
        }
    }

    /// Writes the record of a span. Returns false if nothing was written, see [`end`](Self::end).
    #[inline(always)]
    pub(crate) fn try_span<const N: usize>(
        &self,
        site: u32,
        start: u64,
        end: u64,
        level: u32,
        args: &[Arg; N],
    ) -> bool {
        self.try_slice(RecordKind::Span, site, start, end, level, args, true)
    }

    /// Writes the record of a lap, within a level that stays open. Returns false if nothing was written.
    #[inline(always)]
    pub(crate) fn try_lap(&self, kind: RecordKind, site: u32, start: u64, end: u64, level: u32) -> bool {
        self.try_slice(kind, site, start, end, level, &[], false)
    }

    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn try_slice<const N: usize>(
        &self,
        kind: RecordKind,
        site: u32,
        start: u64,
        end: u64,
        level: u32,
        args: &[Arg; N],
        closes: bool,
    ) -> bool {
        let state = u64::from(level) + 1;
        // Different if this is a signal handler, or if a guard inside this one is still open.
        if N > ARGS_IN_HEADER || self.state.get() != state {
            return false;
        }
        // A signal handler before this line is complete when this code continues; one after it does not record.
        self.state.set(state | HELD);
        compiler_fence(Ordering::SeqCst);
        let words = Words(self.words.get());
        let at = chunk::len(&words);
        let next = at + (HEADER_BYTES + 8 * N) as u64;
        let since_base = end.wrapping_sub(chunk::base(&words));
        let duration = end.wrapping_sub(start);
        let is_ordinary = next <= chunk::limit(&words) && (since_base | duration) <= TIME_MASK && site != 0;
        if is_ordinary {
            words.prefetch((at / 8) as usize + PREFETCH_WORDS);
            let mut types = 0;
            let mut n = 0;
            while n < N {
                types |= (args[n].kind as u64) << (4 * n);
                chunk::put(&words, at, 2 + n, args[n].word);
                n += 1;
            }
            chunk::put(&words, at, 0, first_word(site, since_base));
            chunk::put(&words, at, 1, second_word(kind, duration, N, types));
            chunk::publish(&words, next);
            if closes {
                self.empty_slot(level);
            }
        }
        compiler_fence(Ordering::SeqCst);
        let depth_after = if closes && is_ordinary { level } else { level + 1 };
        self.state.set(u64::from(depth_after));
        is_ordinary
    }

    /// Holds the buffer, so that signal handlers do not record. Returns `None` if it is held already: the caller is a
    /// signal handler that interrupted the recorder.
    pub(crate) fn hold(&self) -> Option<Held<'_>> {
        if self.is_held() {
            return None;
        }
        self.state.set(self.state.get() | HELD);
        compiler_fence(Ordering::SeqCst);
        Some(Held { buffer: self })
    }

    /// Returns true if the caller is a signal handler that interrupted the recorder.
    pub(crate) fn is_held(&self) -> bool {
        self.state.get() & HELD != 0
    }

    /// Ends a level. Returns false if a guard inside it is still open: the slice cannot be drawn around that one.
    pub(crate) fn close_level(&self, level: u32) -> bool {
        self.forget_ended_levels();
        let is_innermost = self.depth() == level.wrapping_add(1);
        if is_innermost {
            self.set_depth(level);
        } else if let Some(slot) = self.ended.get(self.n_ended.get()) {
            slot.set(level);
            self.n_ended.set(self.n_ended.get() + 1);
        }
        is_innermost
    }

    /// Returns true if the innermost open guard has this level.
    pub(crate) fn is_innermost(&self, level: u32) -> bool {
        self.forget_ended_levels();
        self.depth() == level.wrapping_add(1)
    }

    /// Returns true if any guard is open.
    pub(crate) fn has_open_level(&self) -> bool {
        self.forget_ended_levels();
        self.depth() > 0
    }

    /// Removes the innermost levels whose guards have ended already.
    fn forget_ended_levels(&self) {
        loop {
            let ended = &self.ended[..self.n_ended.get()];
            let top = self.depth().wrapping_sub(1);
            let Some(found) = ended.iter().position(|level| level.get() == top) else {
                return;
            };
            let last = ended.len() - 1;
            ended[found].set(ended[last].get());
            self.n_ended.set(last);
            self.set_depth(top);
        }
    }
}

/// A held buffer: signal handlers do not record while this exists.
pub(crate) struct Held<'a> {
    buffer: &'a ThreadBuffer,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        self.buffer.state.set(self.buffer.state.get() & !HELD);
    }
}

impl Held<'_> {
    /// Points the buffer to another chunk, in which `thread` writes from `now` on. The caller keeps the chunk as long
    /// as it is set here. Returns false if the chunk has no room for the record that states this.
    pub(crate) fn set_chunk(&self, words: *const AtomicU64, thread: u32, now: u64) -> bool {
        self.buffer.words.set(words);
        self.buffer.thread.set(thread);
        let has_room = self.begin_segment(now);
        if !has_room {
            self.clear_chunk();
        }
        has_room
    }

    /// Removes the pointer to the chunk.
    pub(crate) fn clear_chunk(&self) {
        self.buffer.words.set(NO_CHUNK.as_ptr());
    }

    /// Points the buffer to another stack of open spans, with this number of levels. The caller keeps it as long as it
    /// is set here.
    pub(crate) fn set_stack(&self, words: *const AtomicU64, n_levels: usize) {
        self.buffer.stack.set(words);
        self.buffer.stack_levels.set(n_levels as u64);
    }

    /// Removes the pointer to the stack of open spans.
    pub(crate) fn clear_stack(&self) {
        self.buffer.stack.set(NO_CHUNK.as_ptr());
        self.buffer.stack_levels.set(0);
    }

    /// Puts a span that begins on the stack of open spans, if that has a slot for its level.
    pub(crate) fn open(&self, site: u32, start: u64, level: u32, args: &[Arg]) {
        let stack = Words(self.buffer.stack.get());
        if self.has_slot(level) {
            open_slot::fill(&stack, level as usize, site, start, args.iter().map(Arg::type_and_word));
        }
    }

    /// Removes a span that has ended from the stack of open spans.
    pub(crate) fn empty_slot(&self, level: u32) {
        self.buffer.empty_slot(level);
    }

    /// Returns true if the stack of open spans has a slot for a level.
    pub(crate) fn has_slot(&self, level: u32) -> bool {
        u64::from(level) < open_slot::limit(&Words(self.buffer.stack.get()), self.buffer.stack_levels.get())
    }

    /// Returns true if there is a chunk to write to.
    pub(crate) fn has_chunk(&self) -> bool {
        chunk::limit(&Words(self.buffer.words.get())) > 0
    }

    /// Returns the thread's number in the spool, if it has one.
    pub(crate) fn thread(&self) -> u32 {
        self.buffer.thread.get()
    }

    /// Returns the thread's number in the spool of a session, if it has one there.
    pub(crate) fn thread_in(&self, session: u64) -> Option<u32> {
        (self.buffer.session.get() == session).then(|| self.buffer.thread.get())
    }

    /// Remembers the thread's number in the spool of a session.
    pub(crate) fn set_thread(&self, session: u64, thread: u32) {
        self.buffer.session.set(session);
        self.buffer.thread.set(thread);
    }

    /// Writes a record. Returns its position in the chunk, or `None` if there is no room for it.
    pub(crate) fn append(&self, draft: &Draft<'_>) -> Option<u64> {
        let words = Words(self.buffer.words.get());
        let since_base = draft.end.wrapping_sub(chunk::base(&words));
        if since_base > TIME_MASK {
            // Some minutes after the base, and before it, times need a new base.
            return if self.begin_segment(draft.end) { self.append_since(draft, 0) } else { None };
        }
        self.append_since(draft, since_base)
    }

    /// Writes a record of two words with a given second word.
    #[inline]
    pub(crate) fn append_short(&self, site: u32, end: u64, second_word: u64) -> Option<u64> {
        let words = Words(self.buffer.words.get());
        let mut since_base = end.wrapping_sub(chunk::base(&words));
        if since_base > TIME_MASK {
            if !self.begin_segment(end) {
                return None;
            }
            since_base = 0;
        }
        let mut writer = self.writer(HEADER_BYTES)?;
        writer.words.prefetch((writer.at / 8) as usize + PREFETCH_WORDS);
        writer.put(first_word(site, since_base));
        writer.put(second_word);
        Some(writer.publish())
    }

    /// Writes a text. Returns its position in the file, or `None` if there is no room for it.
    pub(crate) fn append_text(&self, stamp: u64, text: &str, note: &str) -> Option<u64> {
        let n_bytes = text.len() + note.len();
        let mut writer = self.writer(HEADER_BYTES + 16 + n_bytes.next_multiple_of(8))?;
        writer.put(first_word(0, 0));
        writer.put(second_word(RecordKind::Text, 0, 0, 0));
        writer.put(stamp);
        writer.put(n_bytes as u64);
        writer.put_bytes(text.bytes().chain(note.bytes()), n_bytes);
        // Wraps if another process has changed the index; the text is not found then.
        let chunk_start = chunk::index(&writer.words).wrapping_mul(CHUNK_BYTES as u64);
        Some(chunk_start.wrapping_add(writer.publish()))
    }

    /// Writes a definition of `n_bytes` bytes, in a chunk of a ring. Returns its position in the chunk, or `None` if
    /// there is no room for it.
    pub(crate) fn append_definition(&self, (n_bytes, bytes): (usize, impl Iterator<Item = u8>)) -> Option<u64> {
        let mut writer = self.writer(HEADER_BYTES + 16 + n_bytes.next_multiple_of(8))?;
        writer.put(first_word(0, 0));
        writer.put(second_word(RecordKind::Definition, 0, 0, 0));
        writer.put(0);
        writer.put(n_bytes as u64);
        writer.put_bytes(bytes, n_bytes);
        Some(writer.publish())
    }

    fn append_since(&self, draft: &Draft<'_>, since_base: u64) -> Option<u64> {
        let mut writer = self.writer(draft.size())?;
        let duration = draft.duration();
        if duration > TIME_MASK {
            writer.put(first_word(0, 0));
            writer.put(second_word(RecordKind::LongDuration, 0, 0, 0));
            writer.put(duration >> TIME_BITS);
        }
        writer.put(first_word(draft.site, since_base));
        writer.put_arguments(draft, duration & TIME_MASK);
        Some(writer.publish())
    }

    fn begin_segment(&self, base: u64) -> bool {
        let Some(mut writer) = self.writer(HEADER_BYTES + 8) else {
            return false;
        };
        writer.put(thread_word(self.buffer.thread.get()));
        writer.put(second_word(RecordKind::Segment, 0, 0, 0));
        writer.put(base);
        chunk::set_base(&writer.words, base);
        writer.publish();
        true
    }

    fn writer(&self, n_bytes: usize) -> Option<RecordWriter> {
        let words = Words(self.buffer.words.get());
        let at = chunk::len(&words);
        (at + n_bytes as u64 <= chunk::limit(&words)).then_some(RecordWriter { words, at, n: 0 })
    }
}

/// Writes words one after the other, below the chunk's limit.
struct RecordWriter {
    words: Words,
    at: u64,
    n: usize,
}

impl RecordWriter {
    fn put(&mut self, word: u64) {
        chunk::put(&self.words, self.at, self.n, word);
        self.n += 1;
    }

    /// Writes `n_bytes` bytes, padded with zeros.
    fn put_bytes(&mut self, mut bytes: impl Iterator<Item = u8>, n_bytes: usize) {
        for _ in 0..n_bytes.div_ceil(8) {
            let word = std::array::from_fn(|_| bytes.next().unwrap_or(0));
            self.put(u64::from_le_bytes(word));
        }
    }

    /// Writes the record from its second word on.
    fn put_arguments(&mut self, draft: &Draft<'_>, duration: u64) {
        let args = &draft.args[..draft.args.len().min(ARGS_MAX)];
        let nibbles = |args: &[Arg]| args.iter().rev().fold(0, |types, arg| types << 4 | arg.kind as u64);
        let is_many = args.len() > ARGS_IN_HEADER;
        self.put(match is_many {
            true => second_word_many(draft.kind, duration),
            false => second_word(draft.kind, duration, args.len(), nibbles(args)),
        });
        for &word in draft.leading {
            self.put(word);
        }
        if is_many {
            self.put(args.len() as u64);
            for sixteen in args.chunks(16) {
                self.put(nibbles(sixteen));
            }
        }
        for arg in args {
            self.put(arg.word);
        }
    }

    /// Publishes the words. Returns their position.
    fn publish(self) -> u64 {
        chunk::publish(&self.words, self.at + 8 * self.n as u64);
        self.at
    }
}

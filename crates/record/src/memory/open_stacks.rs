//! The stacks of open spans of a session's threads.
//!
//! A thread gets a small stack when its first span begins, and a larger one if it nests deeper. At a rotation, open
//! spans move to the next file:
//!
//! ```text
//! the old session is closed: the limits of its stacks are zero
//! ├─ a thread that continues records its next event in the new session, and copies its own stack (`carry_over`)
//! └─ a thread that does not continue, because it hangs, has its stack copied by the rotation (`inherit`);
//!    if it continues later, it takes over that copy
//! ```

use crate::memory::chunk::{self, ChunkMemory};
use crate::memory::open_slot;
use crate::memory::segment::MappedChunk;
use ferrum_trace_format::spool::layout::CHUNK_WORDS;
use ferrum_trace_format::spool::layout::chunk::HEADER_WORDS;
use ferrum_trace_format::spool::layout::open_spans::{
    LIMIT, LINE_WORDS, NAME, NAME_BYTES, OS_ID, SLOTS, SLOTS_MAX, THREAD,
};
use std::sync::atomic::{AtomicU64, Ordering};

/// Levels of the stack that a thread gets first: 1 KiB with its header.
const FEW_LEVELS: usize = 15;

/// A stack of open spans in the spool.
#[derive(Clone, Debug)]
pub(crate) struct OpenStack {
    chunk: MappedChunk,
    /// The first word of its header in the chunk.
    at: usize,
    n_levels: usize,
}

impl OpenStack {
    /// Returns the address of the header, valid as long as this stack.
    pub(crate) fn words(&self) -> *const AtomicU64 {
        self.chunk.words().wrapping_add(self.at)
    }

    /// Returns the number of levels that it has slots for.
    pub(crate) fn n_levels(&self) -> usize {
        self.n_levels
    }

    fn is_at(&self, other: &Self) -> bool {
        self.chunk.index() == other.chunk.index() && self.at == other.at
    }

    /// Copies all slots of another stack that its thread no longer changes.
    fn copy_slots(&self, from: &Self) {
        let n_levels = self.n_levels.min(from.n_levels);
        (0..n_levels).for_each(|level| open_slot::copy(from, self, level));
    }

    /// Returns true if any span is open.
    pub(crate) fn has_open_span(&self) -> bool {
        (0..self.n_levels).any(|level| open_slot::is_filled(self, level))
    }

    /// Empties this stack and gives it to a thread, or to none.
    fn give_to(&self, owner: Option<&Owner>) {
        (0..self.n_levels).for_each(|level| open_slot::empty(self, level));
        self.store(SLOTS, self.n_levels as u64, Ordering::Relaxed);
        self.store(LIMIT, self.n_levels as u64, Ordering::Relaxed);
        let (thread, os_id, name) = owner.map_or((0, 0, ""), |owner| (owner.thread, owner.os_id, owner.name()));
        self.store(OS_ID, os_id, Ordering::Relaxed);
        let mut bytes = [0; NAME_BYTES];
        let end = name.floor_char_boundary(NAME_BYTES);
        bytes[..end].copy_from_slice(&name.as_bytes()[..end]);
        for (n, word) in bytes.as_chunks::<8>().0.iter().enumerate() {
            self.store(NAME + n, u64::from_le_bytes(*word), Ordering::Relaxed);
        }
        self.store(THREAD, thread.into(), Ordering::Release);
    }
}

impl ChunkMemory for OpenStack {
    fn load(&self, word: usize, order: Ordering) -> u64 {
        self.chunk.load(self.at + word, order)
    }

    fn store(&self, word: usize, value: u64, order: Ordering) {
        self.chunk.store(self.at + word, value, order);
    }
}

/// Maximum number of stacks of a session. Spans of further threads are recorded when they end, but are not listed while
/// they are open.
const STACKS_MAX: usize = 1 << 14;
/// Bytes of a thread's name that an [`Owner`] keeps.
const OWNER_NAME_BYTES: usize = 63;

/// A thread that owns a stack.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    /// The thread's number in the spool.
    pub thread: u32,
    /// The system's number of the thread.
    pub os_id: u64,
    name: [u8; OWNER_NAME_BYTES],
    name_len: u8,
}

impl Owner {
    /// Keeps the first bytes of the name, without an allocation: the caller may be a signal handler that interrupted
    /// the allocator.
    pub(crate) fn new(thread: u32, os_id: u64, name: &str) -> Self {
        let len = name.floor_char_boundary(OWNER_NAME_BYTES);
        let mut kept = [0; OWNER_NAME_BYTES];
        kept[..len].copy_from_slice(&name.as_bytes()[..len]);
        Self { thread, os_id, name: kept, name_len: len as u8 }
    }

    /// Returns the name of the thread, or its first bytes.
    pub(crate) fn name(&self) -> &str {
        let name = self.name.get(..self.name_len.into()).unwrap_or_default();
        std::str::from_utf8(name).unwrap_or_default()
    }
}

/// All stacks of a session.
#[derive(Debug)]
pub(crate) struct OpenStacks {
    /// All memory is reserved at the start; the system provides each page at its first use.
    entries: Vec<Entry>,
    /// The chunk that has room for more small stacks, and its first free word. The word is not read back from the
    /// chunk, which another process may change.
    chunk: Option<(MappedChunk, usize)>,
}

#[derive(Debug)]
struct Entry {
    stack: OpenStack,
    /// `None` if it is free.
    owner: Option<Owner>,
    /// Copied from the file before this one; the thread has not recorded here yet.
    is_inherited: bool,
}

impl Default for OpenStacks {
    fn default() -> Self {
        Self { entries: Vec::with_capacity(STACKS_MAX), chunk: None }
    }
}

impl OpenStacks {
    /// Returns a stack for a thread that fills the slot of `level`. `fresh` returns a chunk of open spans. `None` if
    /// there is no room, or no stack is that large.
    pub(crate) fn take(
        &mut self,
        owner: Owner,
        level: usize,
        fresh: impl FnOnce() -> Option<MappedChunk>,
    ) -> Option<OpenStack> {
        let n_levels = if level < FEW_LEVELS { FEW_LEVELS } else { SLOTS_MAX };
        let is_fit = |entry: &&mut Entry| entry.owner.is_none() && entry.stack.n_levels == n_levels;
        let stack = match self.entries.iter_mut().find(is_fit) {
            Some(free) => free.stack.clone(),
            None if level < SLOTS_MAX => self.make(n_levels, fresh)?,
            None => return None,
        };
        stack.give_to(Some(&owner));
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.stack.is_at(&stack)) {
            entry.owner = Some(owner);
        }
        Some(stack)
    }

    fn make(&mut self, n_levels: usize, fresh: impl FnOnce() -> Option<MappedChunk>) -> Option<OpenStack> {
        if self.entries.len() >= STACKS_MAX {
            return None;
        }
        let n_words = LINE_WORDS * (1 + n_levels);
        let (chunk, at) = match self.chunk.clone().filter(|(_, at)| at + n_words <= CHUNK_WORDS) {
            Some(with_room) => with_room,
            None => (fresh()?, HEADER_WORDS),
        };
        let stack = OpenStack { chunk, at, n_levels };
        // The chunk may have had other content before, which must not look like an open span.
        stack.give_to(None);
        chunk::publish(&stack.chunk, 8 * (at + n_words) as u64);
        if n_levels == FEW_LEVELS {
            self.chunk = Some((stack.chunk.clone(), at + n_words));
        }
        self.entries.push(Entry { stack: stack.clone(), owner: None, is_inherited: false });
        Some(stack)
    }

    /// Returns a larger stack for a thread, with its open spans. The small stack stays with the thread until it is put
    /// back: a signal handler may have interrupted the thread while it filled a slot there.
    pub(crate) fn grow(
        &mut self,
        owner: Owner,
        small: &OpenStack,
        level: usize,
        fresh: impl FnOnce() -> Option<MappedChunk>,
    ) -> Option<OpenStack> {
        let large = self.take(owner, level, fresh)?;
        large.copy_slots(small);
        small.store(LIMIT, 0, Ordering::Relaxed);
        small.store(THREAD, 0, Ordering::Release);
        Some(large)
    }

    /// Takes a stack back from a thread.
    pub(crate) fn put_back(&mut self, stack: &OpenStack) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.stack.is_at(stack)) {
            stack.store(LIMIT, 0, Ordering::Relaxed);
            stack.store(THREAD, 0, Ordering::Release);
            entry.owner = None;
            entry.is_inherited = false;
        }
    }

    /// Makes every thread request another stack when its next span begins. Open spans are unchanged.
    pub(crate) fn close(&self) {
        for entry in &self.entries {
            entry.stack.store(LIMIT, 0, Ordering::Relaxed);
        }
    }

    /// Returns the stack with the open spans of a thread that records its first event here. `old` is its stack in the
    /// previous file. `None` if it has no open spans.
    pub(crate) fn carry_over(
        &mut self,
        owner: Owner,
        old: Option<&OpenStack>,
        fresh: impl FnOnce() -> Option<MappedChunk>,
    ) -> Option<OpenStack> {
        let inherited = |entry: &&mut Entry| entry.is_inherited && entry.owner_has(owner.os_id);
        if let Some(entry) = self.entries.iter_mut().find(inherited) {
            entry.is_inherited = false;
            entry.stack.store(LIMIT, entry.stack.n_levels as u64, Ordering::Relaxed);
            entry.stack.store(THREAD, owner.thread.into(), Ordering::Release);
            entry.owner = Some(owner);
            return Some(entry.stack.clone());
        }
        let old = old.filter(|old| old.has_open_span())?;
        let stack = self.take(owner, old.n_levels - 1, fresh)?;
        stack.copy_slots(old);
        Some(stack)
    }

    /// Returns the threads that have open spans, with their stacks.
    pub(crate) fn with_open_spans(&self) -> Vec<(OpenStack, Owner)> {
        let is_current = |entry: &&Entry| entry.stack.load(THREAD, Ordering::Relaxed) != 0;
        let entries = self.entries.iter().filter(is_current).filter(|entry| entry.stack.has_open_span());
        entries.filter_map(|entry| Some((entry.stack.clone(), entry.owner.clone()?))).collect()
    }

    /// Copies the stack of a thread that has not recorded here yet. `define` gives the thread a number here.
    pub(crate) fn inherit(
        &mut self,
        old: &OpenStack,
        owner: Owner,
        define: impl FnOnce() -> Option<u32>,
        fresh: impl FnOnce() -> Option<MappedChunk>,
    ) {
        let os_id = owner.os_id;
        if self.entries.iter().any(|entry| entry.owner_has(os_id)) {
            return;
        }
        let Some(thread) = define() else {
            return;
        };
        let Some(stack) = self.take(Owner { thread, ..owner }, old.n_levels - 1, fresh) else {
            return;
        };
        stack.copy_slots(old);
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.stack.is_at(&stack)) {
            entry.is_inherited = true;
        }
    }
}

impl Entry {
    fn owner_has(&self, os_id: u64) -> bool {
        self.owner.as_ref().is_some_and(|owner| owner.os_id == os_id)
    }
}

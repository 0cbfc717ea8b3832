//! Attaches threads to the process's recording: the cold path of every event.
//!
//! An attached thread owns a chunk of the session, and a stack of open spans as soon as it has opened a span. Its
//! buffer (`thread/buffer.rs`) points to both. The hot path writes through the buffer; it comes here when the buffer
//! has no chunk, or the chunk is full or closed:
//!
//! ```text
//! `record`, `text`, `open`, ...       hold the buffer, so that signal handlers of this thread cannot enter
//! ├─ `attach_active`                  if the thread is not attached to the active session, because this is its first
//! │                                   event or because the recording has rotated: defines the thread there, and
//! │                                   carries its open spans over
//! ├─ `Attachment::refill`             puts the full chunk back, and takes an empty one or that of an ended thread; if
//! │                                   the session was closed meanwhile, starts again
//! └─ writes, or counts the loss
//!
//! the thread ends: `Drop`             puts the chunk and the stack back
//! └─ destructors record later events through a chunk that all ending threads share (`recording/ending_thread.rs`)
//! ```

use crate::flight::recording::Recording;
use crate::memory::chunk;
use crate::memory::open_stacks::{OpenStack, Owner};
use crate::memory::segment::MappedChunk;
use crate::os::clock;
use crate::os::thread as os_thread;
use crate::process::current;
use crate::recording::definitions::{Interned, ThreadEntry};
use crate::recording::session::Session;
use crate::thread::arg::Arg;
use crate::thread::buffer::{self, Draft, Held};
use crate::thread::{interrupted, names};
use crate::util::lock::lock;
use ferrum_trace_format::spool::record::cut_text;
use ferrum_trace_format::spool::{site_bytes, stamp_bits, text_reference};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

thread_local! {
    /// The chunk and the stack that the thread's buffer points to. Put back when the thread ends.
    static ATTACHMENT: RefCell<Option<ActiveAttachment>> = const { RefCell::new(None) };
    /// The name that the program gave the thread, and the recording in which it did.
    static NAME: RefCell<Option<(u64, String)>> = const { RefCell::new(None) };
}

/// The resources of a session that a thread owns.
pub(super) struct Attachment {
    pub(super) session: Arc<Session>,
    entry: ThreadEntry,
    /// The thread's number and name.
    owner: Owner,
    chunk: Option<MappedChunk>,
    /// The thread's open spans, if it has had any.
    stack: Option<OpenStack>,
    /// The stack that had too few levels.
    outgrown_stack: Option<OpenStack>,
    /// True if the session had no room for a stack, so that the thread does not try again.
    has_no_stack: bool,
}

/// An attachment to the process's own recording, which the thread's buffer points to.
struct ActiveAttachment {
    recording: Arc<Recording>,
    attachment: Attachment,
}

/// Records an event of the calling thread in the process's recording. Calls `site_id` while the buffer is held, so that
/// no signal handler records in between.
#[cold]
#[inline(never)]
pub(crate) fn record(site_id: impl Fn() -> u32, draft: &Draft<'_>) {
    let Some(held) = buffer::current().hold() else {
        interrupted::count();
        return;
    };
    let site = site_id();
    if site == 0 {
        // There was no room to define it.
        current::count_lost();
        return;
    }
    let write = |held: &Held<'_>| held.append(&Draft { site, ..*draft });
    let _ = write(&held).or_else(|| refill_active(&held, OnLoss::Count, write));
}

/// Puts a span that begins on the stack of open spans, if the thread has no stack yet, one that is too small, or the
/// site has no number. If there is no room for a stack, the span is still recorded when it ends.
#[cold]
#[inline(never)]
pub(crate) fn open(site_id: impl Fn() -> u32, start: u64, level: u32, args: &[Arg]) {
    let Some(held) = buffer::current().hold() else {
        return;
    };
    if held.has_slot(level) || get_stack(&held, level).is_some() {
        let site = site_id();
        if site != 0 {
            held.open(site, start, level, args);
        }
    }
}

/// Gets a stack of open spans that has a slot for `level`.
fn get_stack(held: &Held<'_>, level: u32) -> Option<()> {
    let get = |slot: &RefCell<Option<ActiveAttachment>>| {
        let mut slot = slot.try_borrow_mut().ok()?;
        attach_active(&mut slot, held, OnLoss::CountLater)?.get_stack(held, level)
    };
    ATTACHMENT.try_with(get).ok().flatten()
}

/// Returns the process's recording, without a lock if the calling thread has recorded in it. Returns `None` if there is
/// none, or in a signal handler that interrupted the recorder.
pub(crate) fn recording() -> Option<Arc<Recording>> {
    let _held = buffer::current().hold()?;
    own_recording().or_else(current::active)
}

/// Returns the process's recording if the calling thread has recorded in it. The caller holds the thread's buffer.
fn own_recording() -> Option<Arc<Recording>> {
    let own = ATTACHMENT.try_with(|slot| {
        let slot = slot.try_borrow().ok()?;
        let recording = &slot.as_ref()?.recording;
        current::is_active(recording.id()).then(|| Arc::clone(recording))
    });
    own.ok().flatten()
}

/// Returns true if the calling thread has recorded in the process's recording.
pub(crate) fn is_attached() -> bool {
    buffer::current().hold().is_some_and(|_held| own_recording().is_some())
}

/// Copies a text into the process's recording, and returns a reference to it, or `None` if it was lost.
pub(crate) fn text(text: &str) -> Option<u64> {
    write_active(OnLoss::CountLater, |held| write_text(held, text))
}

/// Returns the number of the calling thread in the process's recording. Attaches the thread if necessary.
pub(crate) fn thread_id() -> Option<u32> {
    write_active(OnLoss::CountLater, |held| held.has_chunk().then(|| held.thread()))
}

pub(super) fn write_text(held: &Held<'_>, text: &str) -> Option<u64> {
    let stamp = stamp_bits(clock::ticks());
    let (kept, note) = cut_text(text);
    let offset = held.append_text(stamp, kept, note.as_deref().unwrap_or(""))?;
    Some(text_reference(offset, stamp))
}

/// Treatment of a record that cannot be written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OnLoss {
    /// Counted as a lost event.
    Count,
    /// Not counted, because it is only a part of an event, such as the text of an argument.
    CountLater,
}

fn write_active<T>(on_loss: OnLoss, write: impl Fn(&Held<'_>) -> Option<T>) -> Option<T> {
    let Some(held) = buffer::current().hold() else {
        if on_loss == OnLoss::Count {
            interrupted::count();
        }
        return None;
    };
    write(&held).or_else(|| refill_active(&held, on_loss, write))
}

/// Attaches the thread if necessary, gets another chunk, and writes, or counts the loss.
pub(super) fn refill_active<T>(held: &Held<'_>, on_loss: OnLoss, write: impl Fn(&Held<'_>) -> Option<T>) -> Option<T> {
    let refill = |slot: &RefCell<Option<ActiveAttachment>>| {
        // The buffer is held, so the slot is not borrowed.
        let mut slot = slot.try_borrow_mut().ok()?;
        loop {
            let attachment = attach_active(&mut slot, held, on_loss)?;
            let written = attachment.refill_and_write(held, &write);
            // The recording may have rotated between any two of these lines.
            if written.is_some() || current::is_active(attachment.session.id()) {
                return attachment.count_if_lost(on_loss, written);
            }
        }
    };
    ATTACHMENT.try_with(refill).unwrap_or_else(|_| write_active_for_ending_thread(held, on_loss, &write))
}

/// Attaches the thread to the active session, if it is not attached to it.
fn attach_active<'s>(
    slot: &'s mut Option<ActiveAttachment>,
    held: &Held<'_>,
    on_loss: OnLoss,
) -> Option<&'s mut Attachment> {
    while slot.as_ref().is_none_or(|active| !current::is_active(active.recording.id())) {
        held.clear_chunk();
        let recording = current::active()?;
        // The old session may be unmapped when `before` is dropped.
        held.clear_stack();
        let before = slot.take();
        *slot = Attachment::new(recording.session()).map(|mut attachment| {
            attachment.carry_open_spans_over(held, before.as_ref().map(|before| &before.attachment));
            ActiveAttachment { recording: Arc::clone(&recording), attachment }
        });
        if slot.is_none() && current::is_active(recording.id()) {
            if on_loss == OnLoss::Count {
                recording.count_dropped(1);
            }
            return None;
        }
    }
    slot.as_mut().map(|active| &mut active.attachment)
}

fn write_active_for_ending_thread<T>(
    held: &Held<'_>,
    on_loss: OnLoss,
    write: impl Fn(&Held<'_>) -> Option<T>,
) -> Option<T> {
    loop {
        let session = current::active()?;
        let written = write_for_ending_thread(&session, Some(held), OnLoss::CountLater, &write);
        if written.is_none() && !current::is_active(session.id()) {
            continue;
        }
        if written.is_none() && on_loss == OnLoss::Count {
            session.count_dropped(1);
        }
        return written;
    }
}

/// Writes a record of a thread that is ending and has no attachment any more. Its buffer `own`, if given, has stored
/// its number.
pub(super) fn write_for_ending_thread<T>(
    session: &Session,
    own: Option<&Held<'_>>,
    on_loss: OnLoss,
    write: impl Fn(&Held<'_>) -> Option<T>,
) -> Option<T> {
    let known = own.and_then(|held| held.thread_in(session.id()));
    let is_ring = session.spool().is_ring();
    let name = if is_ring || known.is_none() { thread_name() } else { String::new() };
    let os_id = os_thread::id();
    let thread = known.or_else(|| {
        let id = session.define_thread(os_id, &name)?.id;
        own.inspect(|held| held.set_thread(session.id(), id));
        Some(id)
    });
    let Some(thread) = thread else {
        if on_loss == OnLoss::Count {
            session.count_dropped(1);
        }
        return None;
    };
    let owner = Owner { thread, os_id, name };
    let written = lock(session.ending_threads()).write(session, &owner, write);
    if written.is_none() && on_loss == OnLoss::Count {
        session.count_dropped(1);
    }
    written
}

/// Returns the number of a name made at run time in the process's recording. Returns `None` if there are too many names
/// to number, or in a signal handler that interrupted the recorder, whose event will be counted as lost.
pub(crate) fn site_of(name: &str, category: &str) -> Option<u32> {
    let held = buffer::current().hold()?;
    site_of_active(&held, name, category)
}

pub(super) fn site_of_active(held: &Held<'_>, name: &str, category: &str) -> Option<u32> {
    loop {
        if let Some(known) = names::recall(held, current::active_id(), name, category) {
            return Some(known);
        }
        let session = current::active()?;
        let id = intern(held, &session, name, category);
        // If the recording has rotated meanwhile, the number may have no definition in the new file.
        if current::is_active(session.id()) {
            return id;
        }
    }
}

#[cold]
pub(super) fn intern(held: &Held<'_>, session: &Session, name: &str, category: &str) -> Option<u32> {
    match session.intern(name, category)? {
        Interned::InSpool(id) => {
            names::remember(held, session.id(), name, category, id);
            Some(id)
        }
        Interned::InChunk => define_name_in_chunk(held, session, name, category),
    }
}

/// Defines a name in the thread's chunk of a ring, which has no room for more names that stay.
fn define_name_in_chunk(held: &Held<'_>, session: &Session, name: &str, category: &str) -> Option<u32> {
    let id = names::number_in_chunk(held);
    let write = |held: &Held<'_>| held.append_definition(site_bytes(id, names::texts_of(name, category)));
    write(held).or_else(|| refill_active(held, OnLoss::CountLater, write))?;
    names::remember_in_chunk(held, session.id(), name, category, id);
    Some(id)
}

impl Attachment {
    pub(super) fn new(session: &Arc<Session>) -> Option<Self> {
        let (os_id, name) = (os_thread::id(), thread_name());
        let entry = session.define_thread(os_id, &name)?;
        if !session.spool().is_ring() && name.is_empty() && remembered_name().is_some() {
            // An empty name that the program gave, unlike that of an unnamed thread.
            session.define_thread_name(entry.id, &name);
        }
        Some(Self {
            session: Arc::clone(session),
            owner: Owner { thread: entry.id, os_id, name },
            entry,
            chunk: None,
            stack: None,
            outgrown_stack: None,
            has_no_stack: false,
        })
    }

    /// Gives the thread a name, in a ring also for the chunks that it writes to from now on.
    fn rename(&mut self, held: &Held<'_>, name: &str) {
        name.clone_into(&mut self.owner.name);
        if !self.session.spool().is_ring() {
            self.session.define_thread_name(self.entry.id, name);
        } else if self.chunk.is_some() {
            // If there is no room, the next chunk has it.
            self.owner.define_in_chunk(held);
        }
    }

    /// Gets a stack of open spans that has a slot for `level`, in place of a smaller one.
    fn get_stack(&mut self, held: &Held<'_>, level: u32) -> Option<()> {
        if self.has_no_stack {
            return None;
        }
        let stack = self.session.open_stack(self.owner.clone(), self.stack.as_ref(), level as usize);
        self.has_no_stack = stack.is_none();
        held.set_stack(stack.as_ref()?.words());
        self.outgrown_stack = std::mem::replace(&mut self.stack, stack);
        Some(())
    }

    /// Carries the thread's open spans over, if its attachment `before` is to a part of the same recording.
    fn carry_open_spans_over(&mut self, held: &Held<'_>, before: Option<&Self>) {
        let before = before.filter(|before| before.session.recording() == self.session.recording());
        if let Some(before) = before {
            self.stack = self.session.carry_open_stack_over(self.owner.clone(), before.stack.as_ref());
        }
        if let Some(stack) = &self.stack {
            held.set_stack(stack.words());
        }
    }

    pub(super) fn refill_and_write<T>(
        &mut self,
        held: &Held<'_>,
        write: &impl Fn(&Held<'_>) -> Option<T>,
    ) -> Option<T> {
        if self.refill(held) { write(held) } else { None }
    }

    /// Counts a lost event if nothing was written.
    pub(super) fn count_if_lost<T>(&self, on_loss: OnLoss, written: Option<T>) -> Option<T> {
        if written.is_none() && on_loss == OnLoss::Count {
            self.entry.dropped.add(1);
        }
        written
    }

    /// Puts the full chunk back and takes another one; for a first chunk, preferably that of an ended thread. Returns
    /// false if there is none.
    fn refill(&mut self, held: &Held<'_>) -> bool {
        held.clear_chunk();
        let spool = self.session.spool();
        let partial = match self.chunk.take() {
            Some(full) => {
                spool.put_full(full, self.entry.id);
                None
            }
            None => spool.take_partial(),
        };
        let Some(chunk) = partial.or_else(|| self.session.fresh_chunk()) else {
            return false;
        };
        let now = self.session.clock().now();
        let chunk = self.chunk.insert(chunk);
        // The session may have been closed since it handed out the chunk. Closing marks the session as closed, then
        // closes all chunks; here a chunk is opened, then the mark is checked. With a fence on both sides, at least one
        // of the two sees the other's store.
        fence(Ordering::SeqCst);
        if !self.session.is_open() {
            chunk::revoke(chunk);
            return false;
        }
        held.set_thread(self.session.id(), self.entry.id);
        names::enter_chunk(held);
        held.set_chunk(chunk.words(), self.entry.id, now)
            && (!self.session.spool().is_ring() || self.owner.define_in_chunk(held))
    }
}

impl Drop for ActiveAttachment {
    fn drop(&mut self) {
        // When a new attachment replaces this one, the buffer is held and has been cleared already.
        let Some(held) = buffer::current().hold() else {
            return;
        };
        // The thread ends.
        held.clear_chunk();
        match &self.attachment.stack {
            // Spans are open: the process exits inside them, or their guards are in other thread-locals. They stay in
            // the trace, so the stack is never put back.
            Some(stack) if stack.has_open_span() => std::mem::forget(self.attachment.stack.take()),
            _ => held.clear_stack(),
        }
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        if let Some(chunk) = self.chunk.take().filter(|_| self.session.is_open()) {
            self.session.spool().put_partial(chunk, self.entry.id);
        }
        for stack in [self.stack.take(), self.outgrown_stack.take()].into_iter().flatten() {
            self.session.put_open_stack_back(&stack);
        }
    }
}

/// In a forked child: forgets the parent's chunk without touching it. `held` is the thread's buffer, held since before
/// the fork.
pub(crate) fn forget_in_child(held: Option<&Held<'_>>) {
    if let Some(held) = held {
        held.clear_chunk();
        held.clear_stack();
    }
    let _ = ATTACHMENT.try_with(|slot| slot.try_borrow_mut().map(|mut slot| std::mem::forget(slot.take())));
}

/// Stores the name of the calling thread, for all parts of the recording. Returns false if the thread is ending and
/// cannot store it.
pub(crate) fn remember_name(name: &str) -> bool {
    let remember = |slot: &RefCell<Option<(u64, String)>>| {
        slot.try_borrow_mut().map(|mut slot| *slot = Some((current::recording_id(), name.to_owned())))
    };
    matches!(NAME.try_with(remember), Ok(Ok(())))
}

/// Gives the calling thread a name in the process's recording. Returns false if it is not attached to that.
pub(crate) fn rename(name: &str) -> bool {
    let Some(held) = buffer::current().hold() else {
        return false;
    };
    let renamed = ATTACHMENT.try_with(|slot| {
        let mut slot = slot.try_borrow_mut().ok()?;
        let active = slot.as_mut().filter(|active| current::is_active(active.recording.id()))?;
        active.attachment.rename(&held, name);
        Some(())
    });
    matches!(renamed, Ok(Some(())))
}

/// Returns the name that the program gave the thread in this recording.
fn remembered_name() -> Option<String> {
    let of_recording = |slot: &RefCell<Option<(u64, String)>>| {
        let slot = slot.try_borrow().ok()?;
        slot.as_ref().filter(|(recording, _)| current::is_recording(*recording)).map(|(_, name)| name.clone())
    };
    NAME.try_with(of_recording).ok().flatten()
}

/// Returns the name that the program gave the thread, or its name in the standard library or the system.
///
/// `std::thread::current` is called only after the standard library has set up the thread. If a signal handler called
/// it earlier, it would create an unnamed handle, and the standard library would later abort because of it.
fn thread_name() -> String {
    if let Some(name) = remembered_name() {
        return name;
    }
    if !os_thread::knows_its_name() {
        return os_thread::name();
    }
    // May panic: the handle of an ending thread may be gone.
    let named = std::panic::catch_unwind(|| std::thread::current().name().map(str::to_owned));
    named.ok().flatten().unwrap_or_default()
}

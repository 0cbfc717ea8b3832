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
use crate::thread::buffer::{self, Draft, Held, quietly};
use crate::thread::{interrupted, names};
use crate::util::lock::lock_for_event;
use crossbeam_queue::ArrayQueue;
use ferrum_trace_format::spool::record::cut_text;
use ferrum_trace_format::spool::{site_bytes, stamp_bits, text_reference, thread_bytes};
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, OnceLock};

thread_local! {
    /// The chunk and the stack that the thread's buffer points to. Put back when the thread ends, by [`on_thread_end`]:
    /// the first use of a variable with a destructor allocates, and the thread may be in a signal handler that
    /// interrupted the allocator.
    static ATTACHMENT: RefCell<ManuallyDrop<Option<ActiveAttachment>>> =
        const { RefCell::new(ManuallyDrop::new(None)) };
    /// True if the thread has put its chunk and its stack back.
    static HAS_ENDED: Cell<bool> = const { Cell::new(false) };
    /// The name that the program gave the thread, and the recording in which it did.
    static NAME: RefCell<Option<(u64, String)>> = const { RefCell::new(None) };
    /// True if [`NAME`] was ever set. Otherwise it is not used, since its first use allocates.
    static HAS_NAME: Cell<bool> = const { Cell::new(false) };
}

/// Maximum length of a thread's name in a chunk of a ring.
const RING_NAME_BYTES: usize = 256;

/// The resources of a session that a thread owns.
pub(super) struct Attachment {
    pub(super) session: Arc<Session>,
    entry: ThreadEntry,
    chunk: Option<MappedChunk>,
    /// The thread's open spans, if it has had any.
    stack: Option<OpenStack>,
    /// The stack that had too few levels.
    outgrown_stack: Option<OpenStack>,
    /// True if the session had no room for a stack, so that the thread does not try again.
    has_no_stack: bool,
    /// True if the session has taken the stacks back.
    has_returned_stacks: bool,
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
    if HAS_ENDED.get() {
        return None;
    }
    ATTACHMENT.with(|slot| {
        let mut slot = slot.try_borrow_mut().ok()?;
        attach_active(&mut slot, held, OnLoss::CountLater)?.get_stack(held, level)
    })
}

/// Returns the process's recording, without a lock if the calling thread has recorded in it. Returns `None` if there is
/// none, or in a signal handler that interrupted the recorder.
pub(crate) fn recording() -> Option<Arc<Recording>> {
    let _held = buffer::current().hold()?;
    own_recording().or_else(|| current::active_for_event().ok().flatten())
}

/// Returns the process's recording if the calling thread has recorded in it. The caller holds the thread's buffer.
fn own_recording() -> Option<Arc<Recording>> {
    ATTACHMENT.with(|slot| {
        let slot = slot.try_borrow().ok()?;
        let recording = &slot.as_ref()?.recording;
        current::is_active(recording.id()).then(|| Arc::clone(recording))
    })
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
    if HAS_ENDED.get() {
        return write_active_for_ending_thread(held, on_loss, &write);
    }
    ATTACHMENT.with(|slot| {
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
    })
}

/// Attaches the thread to the active session, if it is not attached to it.
fn attach_active<'s>(
    slot: &'s mut Option<ActiveAttachment>,
    held: &Held<'_>,
    on_loss: OnLoss,
) -> Option<&'s mut Attachment> {
    while slot.as_ref().is_none_or(|active| !current::is_active(active.recording.id())) {
        held.clear_chunk();
        let Ok(active) = current::active_for_event() else {
            if on_loss == OnLoss::Count {
                interrupted::count();
            }
            return None;
        };
        let recording = active?;
        // The old session may be unmapped when `before` is dropped.
        held.clear_stack();
        let before = slot.take();
        *slot = Attachment::new(recording.session()).map(|mut attachment| {
            attachment.carry_open_spans_over(held, before.as_ref().map(|before| &before.attachment));
            call_on_thread_end();
            ActiveAttachment { recording: Arc::clone(&recording), attachment }
        });
        retire(before);
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
        let Ok(active) = current::active_for_event() else {
            if on_loss == OnLoss::Count {
                interrupted::count();
            }
            return None;
        };
        let session = active?;
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
    let thread = known.or_else(|| {
        let id = with_thread_name(|name| session.define_thread(os_thread::id(), name))?.id;
        own.inspect(|held| held.set_thread(session.id(), id));
        Some(id)
    });
    let Some(thread) = thread else {
        if on_loss == OnLoss::Count {
            session.count_dropped(1);
        }
        return None;
    };
    let define = |held: &Held<'_>| define_in_chunk(held, session, thread);
    let shared = lock_for_event(session.ending_threads());
    let written = shared.and_then(|mut shared| shared.write(session, thread, define, write));
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
        let session = current::active_for_event().ok().flatten()?;
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

/// Defines the calling thread in its chunk of a ring. Returns false if there is no room. Other spools have the
/// definition elsewhere.
fn define_in_chunk(held: &Held<'_>, session: &Session, thread: u32) -> bool {
    let define = |name: &str| {
        let name = &name[..name.floor_char_boundary(RING_NAME_BYTES)];
        held.append_definition(thread_bytes(thread, os_thread::id(), name)).is_some()
    };
    !session.spool().is_ring() || with_thread_name(define)
}

impl Attachment {
    pub(super) fn new(session: &Arc<Session>) -> Option<Self> {
        let entry = with_thread_name(|name| session.define_thread(os_thread::id(), name))?;
        if !session.spool().is_ring() && with_remembered_name(str::is_empty) == Some(true) {
            // An empty name that the program gave, unlike that of an unnamed thread.
            session.define_thread_name(entry.id, "");
        }
        Some(Self {
            session: Arc::clone(session),
            entry,
            chunk: None,
            stack: None,
            outgrown_stack: None,
            has_no_stack: false,
            has_returned_stacks: false,
        })
    }

    fn owner(&self) -> Owner {
        with_thread_name(|name| Owner::new(self.entry.id, os_thread::id(), name))
    }

    /// Writes the thread's new name, in a ring also to the chunks that it writes to from now on.
    fn rename(&self, held: &Held<'_>, name: &str) {
        if !self.session.spool().is_ring() {
            self.session.define_thread_name(self.entry.id, name);
        } else if self.chunk.is_some() {
            // If there is no room, the next chunk has it.
            define_in_chunk(held, &self.session, self.entry.id);
        }
    }

    /// Gets a stack of open spans that has a slot for `level`, in place of a smaller one.
    fn get_stack(&mut self, held: &Held<'_>, level: u32) -> Option<()> {
        if self.has_no_stack {
            return None;
        }
        let stack = self.session.open_stack(self.owner(), self.stack.as_ref(), level as usize);
        self.has_no_stack = stack.is_none();
        let taken = stack.as_ref()?;
        held.set_stack(taken.words(), taken.n_levels());
        self.outgrown_stack = std::mem::replace(&mut self.stack, stack);
        Some(())
    }

    /// Carries the thread's open spans over, if its attachment `before` is to a part of the same recording.
    fn carry_open_spans_over(&mut self, held: &Held<'_>, before: Option<&Self>) {
        let before = before.filter(|before| before.session.recording() == self.session.recording());
        if let Some(before) = before {
            self.stack = self.session.carry_open_stack_over(self.owner(), before.stack.as_ref());
        }
        if let Some(stack) = &self.stack {
            held.set_stack(stack.words(), stack.n_levels());
        }
    }

    /// Puts the stacks back, and keeps their memory.
    fn return_stacks(&mut self) {
        if !self.has_returned_stacks {
            let stacks = [&self.stack, &self.outgrown_stack];
            self.has_returned_stacks = self.session.put_open_stacks_back(stacks.into_iter().flatten());
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
            self.session.count_dropped_by(&self.entry);
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
        // There is room again, perhaps also for open spans.
        self.has_no_stack = false;
        held.set_thread(self.session.id(), self.entry.id);
        names::enter_chunk(held);
        held.set_chunk(chunk.words(), self.entry.id, now) && define_in_chunk(held, &self.session, self.entry.id)
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
        self.return_stacks();
    }
}

/// In a forked child: forgets the parent's chunk without touching it. `held` is the thread's buffer, held since before
/// the fork.
pub(crate) fn forget_in_child(held: Option<&Held<'_>>) {
    if let Some(held) = held {
        held.clear_chunk();
        held.clear_stack();
    }
    ATTACHMENT.with(|slot| {
        if let Ok(mut slot) = slot.try_borrow_mut() {
            std::mem::forget(slot.take());
        }
    });
    while let Some(retired) = RETIRED.get().and_then(ArrayQueue::pop) {
        std::mem::forget(retired);
    }
}

/// Attachments that were replaced. They are dropped by the keeper thread or the next start of a recording, since
/// dropping them frees memory, and the thread that replaces its attachment may be in a signal handler that interrupted
/// the allocator.
static RETIRED: OnceLock<ArrayQueue<ActiveAttachment>> = OnceLock::new();
/// Maximum number of attachments that are kept. Further ones are dropped at once.
const RETIRED_MAX: usize = 1024;

/// Retires the attachment of a thread that has another one now. Its stacks are put back at once, so that its spans are
/// not taken for those of a thread that hangs.
fn retire(attachment: Option<ActiveAttachment>) {
    if let Some((mut active, retired)) = attachment.zip(RETIRED.get()) {
        active.attachment.return_stacks();
        let _ = retired.push(active);
    }
}

/// Drops attachments that were replaced. Their threads have cleared their buffers.
pub(crate) fn drop_retired() {
    quietly(|| while RETIRED.get().and_then(ArrayQueue::pop).is_some() {});
}

/// Makes [`on_thread_end`] run when the calling thread ends.
fn call_on_thread_end() {
    #[cfg(unix)]
    os_thread::call_at_end(on_thread_end);
}

/// Prepares what threads need to attach and to end without allocating. Called when a recording starts.
pub(crate) fn prepare() {
    RETIRED.get_or_init(|| ArrayQueue::new(RETIRED_MAX));
    drop_retired();
    #[cfg(unix)]
    os_thread::prepare_end(on_thread_end);
}

/// Runs when a thread that has recorded ends: puts its chunk and its stack back.
#[cfg(unix)]
extern "C" fn on_thread_end(_value: *mut libc::c_void) {
    HAS_ENDED.set(true);
    // Nothing may unwind into the C library.
    let _ = std::panic::catch_unwind(|| {
        let attachment = ATTACHMENT.with(|slot| slot.try_borrow_mut().ok().and_then(|mut slot| slot.take()));
        drop(attachment);
    });
}

/// Stores the name of the calling thread, for all parts of the recording. Returns false if the thread is ending and
/// cannot store it.
pub(crate) fn remember_name(name: &str) -> bool {
    let remember = |slot: &RefCell<Option<(u64, String)>>| {
        slot.try_borrow_mut().map(|mut slot| *slot = Some((current::recording_id(), name.to_owned())))
    };
    let is_stored = matches!(NAME.try_with(remember), Ok(Ok(())));
    HAS_NAME.set(HAS_NAME.get() || is_stored);
    is_stored
}

/// Gives the calling thread the name that it has remembered, in the process's recording. Returns false if it is not
/// attached to that.
pub(crate) fn rename(name: &str) -> bool {
    let Some(held) = buffer::current().hold().filter(|_| !HAS_ENDED.get()) else {
        return false;
    };
    ATTACHMENT.with(|slot| {
        let Ok(slot) = slot.try_borrow() else {
            return false;
        };
        let active = slot.as_ref().filter(|active| current::is_active(active.recording.id()));
        active.inspect(|active| active.attachment.rename(&held, name)).is_some()
    })
}

/// Calls `work` with the name that the program gave the thread in this recording, if it did.
fn with_remembered_name<T>(work: impl FnOnce(&str) -> T) -> Option<T> {
    if !HAS_NAME.get() {
        return None;
    }
    let of_recording = |slot: &RefCell<Option<(u64, String)>>| {
        let slot = slot.try_borrow().ok()?;
        slot.as_ref().filter(|(recording, _)| current::is_recording(*recording)).map(|(_, name)| work(name))
    };
    NAME.try_with(of_recording).ok().flatten()
}

/// Calls `work` with the name that the program gave the thread, or its name in the standard library or the system.
/// Allocates no memory.
///
/// `std::thread::current` is called only after the standard library has set up the thread. If a signal handler called
/// it earlier, it would create an unnamed handle, and the standard library would later abort because of it.
fn with_thread_name<T>(work: impl Fn(&str) -> T) -> T {
    if let Some(done) = with_remembered_name(&work) {
        return done;
    }
    if !os_thread::knows_its_name() {
        return os_thread::with_name(work);
    }
    // May panic: the handle of an ending thread may be gone.
    let thread = std::panic::catch_unwind(std::thread::current).ok();
    work(thread.as_ref().and_then(|thread| thread.name()).unwrap_or_default())
}

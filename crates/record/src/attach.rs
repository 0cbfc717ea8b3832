//! How a thread comes to its chunks: everything that the hot path leaves over.

use crate::arg::Arg;
use crate::buffer::{self, Draft, Held, ThreadBuffer};
use crate::clock;
use crate::global;
use crate::session::{Session, ThreadEntry};
use crate::spool::{self, MappedChunk, lock};
use ferrum_trace_format::spool::record::cut_text;
use ferrum_trace_format::spool::{stamp_bits, text_reference};
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    /// What the thread's buffer points into, to be given back when the thread ends.
    static ATTACHMENT: RefCell<Option<ActiveAttachment>> = const { RefCell::new(None) };
    /// The same for recordings that are not the process's own, of which there are few.
    static PRIVATE: RefCell<Vec<(Box<ThreadBuffer>, Attachment)>> = const { RefCell::new(Vec::new()) };
}

/// Most texts that [`record_with_texts`] takes.
const TEXTS_MAX: usize = 3;

/// What a thread holds of a session.
struct Attachment {
    session: Arc<Session>,
    entry: ThreadEntry,
    chunk: Option<MappedChunk>,
}

/// An attachment to the process's own recording, which the thread's buffer points into.
struct ActiveAttachment(Attachment);

/// Keeps the signal handlers of this thread from recording while `work` holds a lock that recording may need.
pub fn quietly<T>(work: impl FnOnce() -> T) -> T {
    let _held = buffer::current().hold();
    work()
}

/// Records an event of the calling thread in the process's recording. The site is asked for its number at a moment when
/// no signal handler can come in between.
#[cold]
#[inline(never)]
pub fn record(site_id: impl Fn() -> u32, draft: &Draft<'_>) {
    write_active(|held| held.append(&Draft { site: site_id(), ..*draft }));
}

/// Copies a text into the process's recording and returns what refers to it. `None` if it was lost.
pub fn text(text: &str) -> Option<u64> {
    write_active(|held| write_text(held, text))
}

/// The number that the calling thread has in the process's recording, which it gets if it has none.
pub fn thread_id() -> Option<u32> {
    write_active(|held| held.has_chunk().then(|| held.thread()))
}

fn write_text(held: &Held<'_>, text: &str) -> Option<u64> {
    let stamp = stamp_bits(clock::ticks());
    let (kept, note) = cut_text(text);
    let offset = held.append_text(stamp, kept, note.as_deref().unwrap_or(""))?;
    Some(text_reference(offset, stamp))
}

fn write_active<T>(write: impl Fn(&Held<'_>) -> Option<T>) -> Option<T> {
    let Some(held) = buffer::current().hold() else {
        global::count_interrupted();
        return None;
    };
    write(&held).or_else(|| refill_active(&held, write))
}

/// Gets another chunk, and attaches the thread to the session first if it is not; then writes, or counts the loss.
fn refill_active<T>(held: &Held<'_>, write: impl Fn(&Held<'_>) -> Option<T>) -> Option<T> {
    let refill = |slot: &RefCell<Option<ActiveAttachment>>| {
        // Held buffers are not entered twice, so nobody else has the slot.
        let mut slot = slot.try_borrow_mut().ok()?;
        if slot.as_ref().is_none_or(|active| !global::is_active(active.0.session.id())) {
            held.clear_chunk();
            let session = global::active()?;
            *slot = Attachment::new(&session).map(ActiveAttachment);
            if slot.is_none() {
                session.count_dropped(1);
            }
        }
        slot.as_mut()?.0.refill_and_write(held, &write)
    };
    ATTACHMENT.try_with(refill).unwrap_or_else(|_| write_late(&*global::active()?, held.thread(), &write))
}

/// The thread is ending and its attachment is gone.
fn write_late<T>(session: &Session, thread: u32, write: impl Fn(&Held<'_>) -> Option<T>) -> Option<T> {
    let thread = match thread {
        0 => session.define_thread(spool::os_thread_id(), "").map_or(0, |entry| entry.id),
        thread => thread,
    };
    let written = lock(session.late()).write(session, thread, write);
    if written.is_none() {
        session.count_dropped(1);
    }
    written
}

/// Records an event with arguments of text in the process's recording, or in another if one is given.
pub fn record_with_texts(session: Option<&Arc<Session>>, draft: Draft<'_>, texts: &[&str]) {
    let write = |held: &Held<'_>| {
        let mut args = [Arg::LOST; TEXTS_MAX];
        for (arg, text) in args.iter_mut().zip(texts) {
            *arg = Arg::text_at(write_text(held, text)?);
        }
        let args = &args[..texts.len().min(TEXTS_MAX)];
        held.append(&Draft { args, ..draft })
    };
    match session {
        Some(session) => write_private(session, write),
        None => {
            write_active(write);
        }
    }
}

fn write_private<T>(session: &Arc<Session>, write: impl Fn(&Held<'_>) -> Option<T>) {
    let with_private = |private: &RefCell<Vec<(Box<ThreadBuffer>, Attachment)>>| {
        let Ok(mut private) = private.try_borrow_mut() else {
            session.count_dropped(1);
            return Some(());
        };
        let place = private.iter().position(|(_, attachment)| attachment.session.id() == session.id());
        let place = match place {
            Some(place) => place,
            None => {
                private.retain(|(_, attachment)| attachment.session.is_open());
                private.push((Box::default(), Attachment::new(session)?));
                private.len() - 1
            }
        };
        let (buffer, attachment) = &mut private[place];
        let held = buffer.hold()?;
        let written = write(&held).or_else(|| attachment.refill_and_write(&held, &write));
        written.map(|_| ())
    };
    // What could not be written has been counted on the way.
    let _ = PRIVATE.try_with(with_private).unwrap_or_else(|_| write_late(session, 0, &write).map(|_| ()));
}

impl Attachment {
    fn new(session: &Arc<Session>) -> Option<Self> {
        let name = thread_name();
        Some(Self {
            session: Arc::clone(session),
            entry: session.define_thread(spool::os_thread_id(), &name)?,
            chunk: None,
        })
    }

    fn refill_and_write<T>(&mut self, held: &Held<'_>, write: &impl Fn(&Held<'_>) -> Option<T>) -> Option<T> {
        let written = if self.refill(held) { write(held) } else { None };
        if written.is_none() {
            self.entry.dropped.add(1);
        }
        written
    }

    /// Puts the full chunk away and takes another one: at first, one that another thread has left.
    fn refill(&mut self, held: &Held<'_>) -> bool {
        held.clear_chunk();
        let spool = self.session.spool();
        let left_over = match self.chunk.take() {
            Some(full) => {
                spool.put_full(full);
                None
            }
            None => spool.take_partial(),
        };
        let Some(chunk) = left_over.or_else(|| self.session.fresh_chunk().ok()) else {
            return false;
        };
        let now = self.session.clock().now();
        let chunk = self.chunk.insert(chunk);
        held.set_chunk(chunk.words(), self.entry.id, now)
    }
}

impl Drop for ActiveAttachment {
    fn drop(&mut self) {
        // The thread ends. (When a new attachment replaces this one, the buffer is held and has been cleared already.)
        clear_buffer();
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        if let Some(chunk) = self.chunk.take().filter(|_| self.session.is_open()) {
            self.session.spool().put_partial(chunk);
        }
    }
}

/// In a forked child: lets go of the parent's chunk without touching it.
pub fn forget_in_child() {
    clear_buffer();
    let _ = ATTACHMENT.try_with(|slot| slot.try_borrow_mut().map(|mut slot| std::mem::forget(slot.take())));
    let _ = PRIVATE.try_with(|slot| slot.try_borrow_mut().map(|mut slot| std::mem::forget(std::mem::take(&mut *slot))));
}

fn clear_buffer() {
    if let Some(held) = buffer::current().hold() {
        held.clear_chunk();
    }
}

fn thread_name() -> String {
    let thread = std::thread::current();
    match thread.name() {
        Some(name) => name.to_owned(),
        None => String::new(),
    }
}

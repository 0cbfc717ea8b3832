//! Slices of the original engine's interface, which are recorded when they have ended, in the process's recording or in
//! a private one of a `TraceWriter`.

use crate::process::attach::{
    Attachment, OnLoss, intern, refill_active, site_of_active, write_for_ending_thread, write_text,
};
use crate::process::categories::is_name_muted;
use crate::process::switch;
use crate::recording::session::Session;
use crate::thread::arg::Arg;
use crate::thread::buffer::{self, Draft, Held, ThreadBuffer};
use crate::thread::{interrupted, names};
use ferrum_trace_format::spool::record::{RecordKind, SITE_INLINE, second_word_pushed};
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    /// Attachments of this thread to private recordings, of which there are few.
    static PRIVATE: RefCell<Private> = const { RefCell::new(Vec::new()) };
}

/// A slice of the original engine's interface.
#[derive(Clone, Copy)]
pub(crate) struct Pushed<'a> {
    pub name: &'a str,
    pub category: &'a str,
    pub tid: u32,
    pub nanos: u64,
    /// The text of a JSON object with its arguments.
    pub json: Option<&'a str>,
}

impl Pushed<'_> {
    /// Records the slice in the process's recording.
    pub(crate) fn record(&self) {
        if is_name_muted(self.category) {
            return;
        }
        let Some(held) = buffer::current().hold() else {
            interrupted::count();
            return;
        };
        let site = site_of_active(&held, self.name, self.category);
        let end = switch::now();
        let write = |held: &Held<'_>| self.write(held, site, end);
        let _ = write(&held).or_else(|| refill_active(&held, OnLoss::Count, write));
    }

    /// Records the slice in another recording.
    pub(crate) fn record_in(&self, session: &Arc<Session>) {
        // The thread's own buffer is not written to, but holding it keeps signal handlers out of the private buffers.
        let Some(guard) = buffer::current().hold() else {
            session.count_dropped(1);
            return;
        };
        let site = names::recall(&guard, session.id(), self.name, self.category)
            .or_else(|| intern(&guard, session, self.name, self.category));
        let end = session.clock().now();
        write_private(session, |held| self.write(held, site, end));
    }

    #[inline]
    fn write(&self, held: &Held<'_>, site: Option<u32>, end: u64) -> Option<u64> {
        let leading = [u64::from(self.tid), self.nanos];
        let draft = Draft { kind: RecordKind::Pushed, site: 0, start: end, end, leading: &leading, args: &[] };
        match (site, self.json) {
            (Some(site), None) => match second_word_pushed(self.nanos, self.tid) {
                Some(second_word) => held.append_short(site, end, second_word),
                None => held.append(&Draft { site, ..draft }),
            },
            (Some(site), Some(json)) => {
                let args = &[Arg::text_at(write_text(held, json)?)];
                held.append(&Draft { site, args, ..draft })
            }
            (None, json) => {
                let texts = [self.name, self.category, json.unwrap_or("")];
                let mut args = [Arg::LOST; 3];
                for (arg, text) in args.iter_mut().zip(texts) {
                    *arg = Arg::text_at(write_text(held, text)?);
                }
                let args = &args[..2 + usize::from(json.is_some())];
                held.append(&Draft { site: SITE_INLINE, args, ..draft })
            }
        }
    }
}

/// Buffers and attachments of a thread for recordings that are not the process's own.
type Private = Vec<(Box<ThreadBuffer>, Attachment)>;

/// Writes into a recording that is not the process's own. The caller holds the thread's buffer.
#[inline]
fn write_private<T>(session: &Arc<Session>, write: impl Fn(&Held<'_>) -> Option<T>) {
    let with_private = |private: &RefCell<Private>| {
        // The caller holds the thread's buffer, so the list is not borrowed.
        let mut private = private.try_borrow_mut().ok()?;
        let place = private.iter().position(|(_, attachment)| attachment.session.id() == session.id());
        let place = place.or_else(|| attach_private(&mut private, session))?;
        let (buffer, attachment) = &mut private[place];
        let held = buffer.hold()?;
        // A lost event is counted in the private recording.
        let written = write(&held).or_else(|| attachment.refill_and_write(&held, &write));
        attachment.count_if_lost(OnLoss::Count, written).map(|_| ())
    };
    if PRIVATE.try_with(with_private).is_err() {
        write_for_ending_thread(session, None, OnLoss::Count, &write);
    }
}

#[cold]
fn attach_private(private: &mut Private, session: &Arc<Session>) -> Option<usize> {
    private.retain(|(_, attachment)| attachment.session.is_open());
    let Some(attachment) = Attachment::new(session) else {
        session.count_dropped(1);
        return None;
    };
    private.push((Box::default(), attachment));
    Some(private.len() - 1)
}

/// In a forked child: forgets the attachments to the parent's recordings without touching them.
pub(crate) fn forget_in_child() {
    let _ = PRIVATE.try_with(|slot| slot.try_borrow_mut().map(|mut slot| std::mem::forget(std::mem::take(&mut *slot))));
}

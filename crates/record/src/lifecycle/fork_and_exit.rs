//! Handlers for recordings when the process forks, and when it ends.
//!
//! # Fork
//!
//! ```text
//! thread that forks              `before_fork`: holds its buffer, then the registry
//!    │ fork
//!    ├─ parent                   `after_fork_in_parent`: releases both
//!    └─ child                    `after_fork_in_child`: forgets everything of the parent, releases both
//!          │ first event         `current::active` finds the options to restart with, and starts the child's recording
//! ```
//!
//! The registry is held so that no other thread holds it at that moment: its lock would never be released in the child,
//! which has only the thread that forked. The buffer is held so that signal handlers of this thread do not record: one
//! that needs the registry would wait forever for the fork that it interrupts.
//!
//! The child must not write to the parent's spool, must not keep the parent's lock on it, and must not run destructors
//! that would flush or remove files. It gives up the descriptors and mappings, and leaks the rest.
//!
//! # Exit
//!
//! The C library calls [`at_exit`] after `main` has returned or `exit` was called, after all handlers of `atexit`, so
//! that events of those are in the file too. Every recording that is open is closed and completed there. Other threads
//! may still run; they record into memory that stays mapped, or find that recording is off.
#![allow(unsafe_code)]

use crate::lifecycle::end::{close_and_complete, complete_unwritten, say_if_muted};
use crate::lifecycle::unwritten;
use crate::os::process;
use crate::process::current::{self, Registry};
use crate::process::options::Options;
use crate::process::{attach, pushed, switch};
use crate::recording::background;
use crate::recording::options::SessionOptions;
use crate::thread::buffer::{self, Held};
use crate::thread::interrupted;
use crate::watch::steps;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::sync::{MutexGuard, Weak};

/// Time that a fork waits for a thread that holds the registry.
const FORK_TIMEOUT_NANOS: u64 = 100_000_000;

/// Registers the fork handlers before `main`, so that no thread can be in the recorder and be forked over.
#[cfg(target_os = "linux")]
#[used]
// SAFETY: the section holds pointers to functions that the C library calls at the start; one without parameters may be
// among them.
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = at_start;

/// Registers the exit handler. It runs after all handlers of `atexit`.
#[cfg(target_os = "linux")]
#[used]
// SAFETY: the section holds pointers to functions of exactly this type, which the C library calls at exit.
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;

/// Registers the handlers on systems other than Linux, when the first recording starts. The caller holds the registry,
/// so that no fork happens meanwhile.
pub(crate) fn install() {
    #[cfg(not(target_os = "linux"))]
    {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| {
            at_start();
            process::call_at_exit(at_exit);
        });
    }
}

extern "C" fn at_start() {
    process::call_around_forks(before_fork, after_fork_in_parent, after_fork_in_child);
}

/// Locks that a thread holds while it forks. They are released in this order: the registry is free before a signal
/// handler can need it.
#[derive(Default)]
struct HeldOverFork {
    /// `None` if another thread has held it for longer than [`FORK_TIMEOUT_NANOS`].
    registry: Option<MutexGuard<'static, Registry>>,
    /// `None` if a signal handler that interrupted the recorder forks.
    buffer: Option<Held<'static>>,
}

thread_local! {
    /// Has no destructor, since threads may fork while they end.
    static HELD_OVER_FORK: Cell<ManuallyDrop<HeldOverFork>> =
        const { Cell::new(ManuallyDrop::new(HeldOverFork { registry: None, buffer: None })) };
}

fn take_held_over_fork() -> HeldOverFork {
    ManuallyDrop::into_inner(HELD_OVER_FORK.with(Cell::take))
}

/// Runs before each fork, on the thread that forks.
extern "C" fn before_fork() {
    let buffer = buffer::current().hold();
    let registry = current::lock_registry_for_fork(FORK_TIMEOUT_NANOS);
    HELD_OVER_FORK.with(|held| held.set(ManuallyDrop::new(HeldOverFork { registry, buffer })));
}

/// Runs in the parent after each fork.
extern "C" fn after_fork_in_parent() {
    drop(take_held_over_fork());
}

/// Runs in the child after each fork. If the parent records, the child starts its own recording with its first event.
extern "C" fn after_fork_in_child() {
    process::count_fork();
    interrupted::take();
    current::clear_ids();
    steps::end();
    let mut held = take_held_over_fork();
    attach::forget_in_child(held.buffer.as_ref());
    pushed::forget_in_child();
    background::forget_in_child();
    unwritten::forget_in_child();
    let Some(registry) = &mut held.registry else {
        current::give_up_registry();
        switch::end();
        return;
    };
    // A thread of the parent that closes a recording does not exist here.
    registry.n_closing = 0;
    for recording in std::mem::take(&mut registry.recordings) {
        if let Some(recording) = recording.upgrade() {
            recording.spool().abandon_in_child();
            std::mem::forget(recording);
        }
    }
    let options = registry.options.take();
    if let Some(recording) = registry.active.take() {
        std::mem::forget(recording);
        registry.restart = options.map(|options| {
            let session = SessionOptions { is_forked: true, ..options.session };
            Options { session, ..options }
        });
    }
}

/// Runs when the process ends by returning from `main` or by `exit`.
extern "C" fn at_exit() {
    // Nothing may unwind into the C library.
    let _ = std::panic::catch_unwind(finish_all);
}

/// Completes every recording that is still open.
fn finish_all() {
    process::set_ending();
    switch::end();
    steps::end();
    // A background writer may hold locks that are needed to complete a recording.
    background::finish_all();
    let recordings = current::with_registry(|registry| {
        registry.restart = None;
        registry.active.iter().filter(|recording| recording.is_open()).for_each(|recording| say_if_muted(recording));
        std::mem::take(&mut registry.recordings)
    });
    for recording in recordings.iter().filter_map(Weak::upgrade) {
        close_and_complete(&recording);
    }
    background::finish_all();
    complete_unwritten();
    process::run_at_exit();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_that_interrupts_a_fork_does_not_wait_for_it() {
        before_fork();
        // These are calls of a signal handler. This thread holds the registry, so waiting for it would take forever.
        assert!(buffer::current().is_held());
        assert_eq!(attach::thread_id(), None);
        after_fork_in_parent();
        assert!(!buffer::current().is_held());
    }
}

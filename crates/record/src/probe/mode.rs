//! The first check of every probe: is the process recording?

use crate::lifecycle::start;
use crate::process::switch::{self, OFF, TICKS, UNDECIDED};
use crate::util::compiled_out::COMPILED_OUT;
use std::sync::Once;

/// Returns the mode of the process: [`OFF`], or the clock of its recording. The first call reads the environment.
#[inline(always)]
pub fn mode() -> u8 {
    if COMPILED_OUT {
        return OFF;
    }
    let mode = switch::mode();
    if mode == OFF {
        return OFF;
    }
    // The compiler moves this out of the way: off is one branch that is not taken, on costs one jump more.
    std::hint::cold_path();
    if mode == TICKS { TICKS } else { other_mode(mode) }
}

#[cold]
fn other_mode(mode: u8) -> u8 {
    if mode == UNDECIDED { decide() } else { mode }
}

fn decide() -> u8 {
    if !start::decide() {
        return OFF;
    }
    serve_http_if_set();
    switch::mode()
}

/// Starts the HTTP interface if the environment sets its address, at the first call. A forked child does not start it
/// again.
pub(crate) fn serve_http_if_set() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        #[cfg(feature = "http")]
        crate::server::serve_from_environment();
        #[cfg(not(feature = "http"))]
        {
            use crate::lifecycle::environment::{HTTP, is_off};
            use crate::os::environment::variable;
            if variable(HTTP).is_some_and(|value| !is_off(&value)) {
                crate::os::stderr::say(&format!("{HTTP}: this program is built without the feature `http`"));
            }
        }
    });
}

//! What an engine counts.

use crate::probe::mode::mode;
use crate::process::event;
use crate::process::switch::OFF;
use crate::process::value::Value;
use crate::thread::site::Site;
use ferrum_trace_model::vocab::counter as words;

/// The category of all counters, as [`counter!`](crate::counter) has it.
const CATEGORY: &str = "counter";

static KV_CACHE: Site = Site::new(words::KV_CACHE, CATEGORY, &[words::USED, words::FREE]);
static RUNNING: Site = Site::new(words::RUNNING, CATEGORY, &[words::REQUESTS]);
static WAITING: Site = Site::new(words::WAITING, CATEGORY, &[words::REQUESTS]);
static TOKENS: Site = Site::new(words::TOKENS, CATEGORY, &[words::PROMPT, words::GENERATED]);

/// Records how many blocks of the KV cache are used and free from now on.
#[inline]
pub fn kv_cache(used: usize, free: usize) {
    count(&KV_CACHE, [used, free]);
}

/// Records how many requests are being worked on from now on.
#[inline]
pub fn running(requests: usize) {
    count(&RUNNING, [requests]);
}

/// Records how many requests wait from now on.
#[inline]
pub fn waiting(requests: usize) {
    count(&WAITING, [requests]);
}

/// Records how many tokens of prompts were computed and how many were generated since the beginning.
#[inline]
pub fn tokens(prompt: usize, generated: usize) {
    count(&TOKENS, [prompt, generated]);
}

#[inline(always)]
fn count<const N: usize>(site: &'static Site, values: [usize; N]) {
    if mode() != OFF {
        event::counter(site, &values.map(|value| value.to_arg()));
    }
}

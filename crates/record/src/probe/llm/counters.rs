//! Counters of an engine.

use crate::probe::mode::mode;
use crate::process::event;
use crate::process::switch::OFF;
use crate::process::value::Value;
use crate::thread::site::Site;
use ferrum_trace_model::vocab::counter as words;

/// Category of all counters, as with [`counter!`](crate::counter).
const CATEGORY: &str = "counter";

static KV_CACHE: Site = Site::new(words::KV_CACHE, CATEGORY, &[words::USED, words::FREE]);
static RUNNING: Site = Site::new(words::RUNNING, CATEGORY, &[words::REQUESTS]);
static WAITING: Site = Site::new(words::WAITING, CATEGORY, &[words::REQUESTS]);
static TOKENS: Site = Site::new(words::TOKENS, CATEGORY, &[words::PROMPT, words::GENERATED]);

/// Records the current number of used and free blocks of the KV cache.
#[inline]
pub fn kv_cache(used: usize, free: usize) {
    count(&KV_CACHE, [used, free]);
}

/// Records the current number of running requests.
#[inline]
pub fn running(requests: usize) {
    count(&RUNNING, [requests]);
}

/// Records the current number of waiting requests.
#[inline]
pub fn waiting(requests: usize) {
    count(&WAITING, [requests]);
}

/// Records the number of prompt tokens computed and of tokens generated since the engine started.
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

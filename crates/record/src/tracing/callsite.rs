//! The sites of `tracing`'s call sites.

use crate::attach::quietly;
use crate::site::Site;
use crate::spool::lock;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};
use tracing_core::Metadata;

/// How many fields of a call site are recorded.
pub const FIELDS_MAX: usize = 63;

/// What the end of a span's row tells, and what stands for that in place of fields.
const END_KEYS: &[&str] = &["busy_ns", "idle_ns"];
const END: u64 = u64::MAX;

/// Sites that each thread remembers.
const CACHE_ENTRIES: usize = 64;

/// A call site, by the address of what describes it, and which of its fields have values.
type Key = (usize, u64);

static SITES: LazyLock<Mutex<HashMap<Key, &'static Site>>> = LazyLock::new(Mutex::default);

thread_local! {
    static CACHE: [Cell<Option<(Key, &'static Site)>>; CACHE_ENTRIES] = const { [const { Cell::new(None) }; CACHE_ENTRIES] };
}

/// The site of a call site's events that have values for just these fields. There are as many as a program has call sites,
/// times the few combinations in which fields are left out.
pub fn site_of(metadata: &'static Metadata<'static>, fields: u64) -> &'static Site {
    let key = (std::ptr::from_ref(metadata).addr(), fields);
    let slot = (key.0 >> 4 ^ key.0 >> 12 ^ key.1 as usize) % CACHE_ENTRIES;
    let known = CACHE.try_with(|cache| cache[slot].get()).ok().flatten();
    if let Some((_, site)) = known.filter(|(known, _)| *known == key) {
        return site;
    }
    // A signal handler that records must not find the lock taken by what it interrupted.
    let site = quietly(|| *lock(&SITES).entry(key).or_insert_with(|| new_site(metadata, fields)));
    let _ = CACHE.try_with(|cache| cache[slot].set(Some((key, site))));
    site
}

/// The site of the end of a row.
pub fn end_site_of(metadata: &'static Metadata<'static>) -> &'static Site {
    site_of(metadata, END)
}

/// Call sites live as long as the program, and so do their sites.
fn new_site(metadata: &'static Metadata<'static>, fields: u64) -> &'static Site {
    let keys = if fields == END { END_KEYS } else { keys_of(metadata, fields) };
    // An event is called `event src/file.rs:12`.
    let name = metadata.name().strip_prefix("event ").unwrap_or(metadata.name());
    Box::leak(Box::new(Site::new(name, metadata.target(), keys)))
}

fn keys_of(metadata: &'static Metadata<'static>, fields: u64) -> &'static [&'static str] {
    let all = metadata.fields().iter().take(FIELDS_MAX).map(|field| field.name());
    let keys: Vec<&'static str> = all.enumerate().filter(|(n, _)| fields >> n & 1 == 1).map(|(_, key)| key).collect();
    Vec::leak(keys)
}

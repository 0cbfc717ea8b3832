//! Sites for the call sites of `tracing`.

use crate::thread::buffer::quietly;
use crate::thread::names::KEY_SEPARATOR;
use crate::thread::site::Site;
use crate::util::lock::lock;
use ferrum_trace_format::spool::row_title::TITLE_KEY;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};
use tracing_core::Metadata;

/// Maximum number of fields of a call site that are recorded.
pub(super) const FIELDS_MAX: usize = 63;

/// Argument keys of the end of a row.
const END_KEYS: [&str; 2] = ["busy_ns", "idle_ns"];
/// Argument key of the span's target, for the begin of a row that has another category.
const TARGET_KEY: &str = "target";

/// Number of sites that each thread caches.
const CACHE_ENTRIES: usize = 64;

/// A call site, by the address of its metadata, and the fields that have values.
type Key = (usize, u64);

/// Site of the events of a call site that have values for the same fields.
#[derive(Debug)]
struct CallSite {
    site: Site,
    /// The category followed by the keys, for events with names made at run time.
    named_category: String,
}

static SITES: LazyLock<Mutex<HashMap<Key, &'static CallSite>>> = LazyLock::new(Mutex::default);
static ROW_SITES: LazyLock<Mutex<HashMap<RowKey, &'static Site>>> = LazyLock::new(Mutex::default);

thread_local! {
    static CACHE: [Cell<Option<(Key, &'static CallSite)>>; CACHE_ENTRIES] = const { [const { Cell::new(None) }; CACHE_ENTRIES] };
}

/// Returns the site of a call site's events that have values for exactly these fields. There is one per call site and
/// combination of fields; such combinations are few.
pub(super) fn site_of(metadata: &'static Metadata<'static>, fields: u64) -> &'static Site {
    &call_site_of(metadata, fields).site
}

/// Returns the category of such events followed by the keys of their arguments, for names made at run time.
pub(super) fn named_category(metadata: &'static Metadata<'static>, fields: u64) -> &'static str {
    &call_site_of(metadata, fields).named_category
}

fn call_site_of(metadata: &'static Metadata<'static>, fields: u64) -> &'static CallSite {
    let key = (address(metadata), fields);
    let slot = (key.0 >> 4 ^ key.0 >> 12 ^ key.1 as usize) % CACHE_ENTRIES;
    let known = CACHE.try_with(|cache| cache[slot].get()).ok().flatten();
    if let Some((_, site)) = known.filter(|(known, _)| *known == key) {
        return site;
    }
    // A signal handler that records must not find the lock held by the code it interrupted.
    let site = quietly(|| *lock(&SITES).entry(key).or_insert_with(|| new_call_site(metadata, fields)));
    let _ = CACHE.try_with(|cache| cache[slot].set(Some((key, site))));
    site
}

fn address(metadata: &'static Metadata<'static>) -> usize {
    std::ptr::from_ref(metadata).addr()
}

/// Creates the site of a call site. Both live as long as the program.
fn new_call_site(metadata: &'static Metadata<'static>, fields: u64) -> &'static CallSite {
    let keys: &'static [&'static str] = Vec::leak(keys_of(metadata, fields));
    // The name of an event is `event src/file.rs:12`.
    let name = metadata.name().strip_prefix("event ").unwrap_or(metadata.name());
    let words: Vec<&str> = std::iter::once(metadata.target()).chain(keys.iter().copied()).collect();
    let named_category = words.join(KEY_SEPARATOR);
    Box::leak(Box::new(CallSite { site: Site::new(name, metadata.target(), keys), named_category }))
}

fn keys_of(metadata: &'static Metadata<'static>, fields: u64) -> Vec<&'static str> {
    let all = metadata.fields().iter().take(FIELDS_MAX).map(|field| field.name());
    all.enumerate().filter(|(n, _)| fields >> n & 1 == 1).map(|(_, key)| key).collect()
}

/// The begin or end of a span's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RowEdge {
    /// Begin, with values for these fields.
    Begin(u64),
    End,
}

#[derive(PartialEq, Eq, Hash)]
struct RowKey {
    call_site: usize,
    edge: RowEdge,
    category: &'static str,
    has_title: bool,
}

/// Returns the site of the begin or end of a row, which may have the category of another span. A begin has the fields,
/// then the target if [`has_target_key`] returns true; the title of the row, if any, is the last argument.
pub(super) fn row_site(
    metadata: &'static Metadata<'static>,
    edge: RowEdge,
    category: &'static str,
    has_title: bool,
) -> &'static Site {
    let key = RowKey { call_site: address(metadata), edge, category, has_title };
    let new = || {
        let mut keys = match edge {
            RowEdge::Begin(fields) => keys_of(metadata, fields),
            RowEdge::End => END_KEYS.to_vec(),
        };
        if edge != RowEdge::End && has_target_key(metadata, category) {
            keys.push(TARGET_KEY);
        }
        keys.extend(has_title.then_some(TITLE_KEY));
        &*Box::leak(Box::new(Site::new(metadata.name(), category, Vec::leak(keys))))
    };
    quietly(|| *lock(&ROW_SITES).entry(key).or_insert_with(new))
}

/// Returns true if the begin of a row in this category has the span's target as an argument.
pub(super) fn has_target_key(metadata: &'static Metadata<'static>, category: &str) -> bool {
    metadata.target() != category && metadata.fields().field(TARGET_KEY).is_none()
}

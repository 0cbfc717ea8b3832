//! The sites of `tracing`'s call sites.

use crate::thread::buffer::quietly;
use crate::thread::names::KEY_SEPARATOR;
use crate::thread::site::Site;
use crate::util::lock::lock;
use ferrum_trace_format::spool::row_title::TITLE_KEY;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};
use tracing_core::Metadata;

/// How many fields of a call site are recorded.
pub const FIELDS_MAX: usize = 63;

/// Arguments of the end of a span's row.
const END_KEYS: [&str; 2] = ["busy_ns", "idle_ns"];
/// Argument of the begin of a row that has the category of another: the target of the span.
const TARGET_KEY: &str = "target";

/// Sites that each thread remembers.
const CACHE_ENTRIES: usize = 64;

/// A call site, by the address of what describes it, and the fields of it that have values.
type Key = (usize, u64);

/// A call site's events that have values for the same fields.
#[derive(Debug)]
struct CallSite {
    site: Site,
    /// The category and the keys, for events that have their names of their own.
    named_category: String,
}

static SITES: LazyLock<Mutex<HashMap<Key, &'static CallSite>>> = LazyLock::new(Mutex::default);
static ROW_SITES: LazyLock<Mutex<HashMap<RowKey, &'static Site>>> = LazyLock::new(Mutex::default);

thread_local! {
    static CACHE: [Cell<Option<(Key, &'static CallSite)>>; CACHE_ENTRIES] = const { [const { Cell::new(None) }; CACHE_ENTRIES] };
}

/// The site of a call site's events that have values for just these fields. There are as many as a program has call sites,
/// times the few combinations in which fields are left out.
pub fn site_of(metadata: &'static Metadata<'static>, fields: u64) -> &'static Site {
    &call_site_of(metadata, fields).site
}

/// The category of such events with the keys of their arguments behind it, for names made at run time.
pub fn named_category(metadata: &'static Metadata<'static>, fields: u64) -> &'static str {
    &call_site_of(metadata, fields).named_category
}

fn call_site_of(metadata: &'static Metadata<'static>, fields: u64) -> &'static CallSite {
    let key = (address(metadata), fields);
    let slot = (key.0 >> 4 ^ key.0 >> 12 ^ key.1 as usize) % CACHE_ENTRIES;
    let known = CACHE.try_with(|cache| cache[slot].get()).ok().flatten();
    if let Some((_, site)) = known.filter(|(known, _)| *known == key) {
        return site;
    }
    // A signal handler that records must not find the lock taken by what it interrupted.
    let site = quietly(|| *lock(&SITES).entry(key).or_insert_with(|| new_call_site(metadata, fields)));
    let _ = CACHE.try_with(|cache| cache[slot].set(Some((key, site))));
    site
}

fn address(metadata: &'static Metadata<'static>) -> usize {
    std::ptr::from_ref(metadata).addr()
}

/// Call sites live as long as the program, and so do their sites.
fn new_call_site(metadata: &'static Metadata<'static>, fields: u64) -> &'static CallSite {
    let keys: &'static [&'static str] = Vec::leak(keys_of(metadata, fields));
    // An event is called `event src/file.rs:12`.
    let name = metadata.name().strip_prefix("event ").unwrap_or(metadata.name());
    let words: Vec<&str> = std::iter::once(metadata.target()).chain(keys.iter().copied()).collect();
    let named_category = words.join(KEY_SEPARATOR);
    Box::leak(Box::new(CallSite { site: Site::new(name, metadata.target(), keys), named_category }))
}

fn keys_of(metadata: &'static Metadata<'static>, fields: u64) -> Vec<&'static str> {
    let all = metadata.fields().iter().take(FIELDS_MAX).map(|field| field.name());
    all.enumerate().filter(|(n, _)| fields >> n & 1 == 1).map(|(_, key)| key).collect()
}

/// The begin or the end of a span's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowEdge {
    /// With values for these fields.
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

/// The site of the begin or end of a row, which may have the category of another span. A begin has the fields, then the target
/// if [`has_target_key`] says so; the title of the row is the last argument, if it has one.
pub fn row_site(
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

/// Whether the begin of a row in this category tells the target of the span.
pub fn has_target_key(metadata: &'static Metadata<'static>, category: &str) -> bool {
    metadata.target() != category && metadata.fields().field(TARGET_KEY).is_none()
}

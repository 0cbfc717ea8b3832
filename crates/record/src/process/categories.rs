//! The categories that this process records, and switching them while it runs.

use crate::process::switch::{self, FILTERED};
use crate::thread::buffer::quietly;
use crate::thread::site::Site;
use crate::util::lock::lock;
use ferrum_trace_model::closest;
use ferrum_trace_model::settings::Categories;
use ferrum_trace_model::vocab;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// How many bytes of names of categories that were left out are remembered.
const MUTED_BYTES: usize = 1024;

static STATE: Mutex<State> =
    Mutex::new(State { current: Categories::all(), of_process: Categories::all(), muted: String::new() });
/// Raised by two whenever they change: what a site remembers of them is of one time. The lowest bit of what it remembers says whether it
/// is muted.
static GENERATION: AtomicU32 = AtomicU32::new(0);

struct State {
    /// Those that are recorded now.
    current: Categories,
    /// Those of recordings that have none of their own.
    of_process: Categories,
    /// Those that events had that were left out, with a line feed behind each. Has its memory from the beginning: events of signal
    /// handlers must not allocate.
    muted: String,
}

impl State {
    fn set(&mut self, categories: Categories) {
        let is_filtered = !categories.is_all();
        if is_filtered {
            self.muted.reserve(MUTED_BYTES.saturating_sub(self.muted.len()));
        }
        self.current = categories;
        GENERATION.fetch_add(2, Ordering::Release);
        switch::set_filtered(is_filtered);
    }

    fn note_muted(&mut self, category: &str) {
        let has_room = self.muted.len() + category.len() < self.muted.capacity();
        if has_room && !self.muted.lines().any(|known| known == category) {
            self.muted.push_str(category);
            self.muted.push('\n');
        }
    }
}

fn with_state<T>(work: impl FnOnce(&mut State) -> T) -> T {
    quietly(|| work(&mut lock(&STATE)))
}

/// Records these categories from now on, in this recording and in later ones. Spans that are open are ended.
pub fn set_for_process(categories: Categories) {
    with_state(|state| {
        state.of_process = categories.clone();
        state.set(categories);
    });
}

/// Records these categories until the recording ends.
#[cfg(feature = "http")]
pub fn set_for_recording(categories: Categories) {
    with_state(|state| state.set(categories));
}

/// A recording begins, with categories of its own or those of the process.
pub fn begin(own: Option<Categories>) {
    with_state(|state| {
        state.muted.clear();
        let categories = own.unwrap_or_else(|| state.of_process.clone());
        state.set(categories);
    });
}

/// The recording has ended.
pub fn end() {
    with_state(|state| {
        let categories = state.of_process.clone();
        state.set(categories);
    });
}

/// Those that are recorded now.
pub fn current() -> Categories {
    with_state(|state| state.current.clone())
}

/// Returns true if events of a site are not recorded, because of its category.
pub fn is_muted(site: &Site) -> bool {
    switch::mode() & FILTERED != 0 && is_site_muted(site)
}

/// Returns true if events of a category are not recorded.
pub fn is_name_muted(category: &str) -> bool {
    switch::mode() & FILTERED != 0 && is_category_muted(category)
}

/// Returns true if events of a site are not recorded. For callers that have seen that the mode is
/// [`FILTERED`](switch::FILTERED).
pub fn is_site_muted(site: &Site) -> bool {
    let generation = GENERATION.load(Ordering::Acquire);
    let known = site.filter();
    if known & !1 == generation {
        return known & 1 == 1;
    }
    let is_muted = is_category_muted(site.category());
    site.set_filter(generation | u32::from(is_muted));
    is_muted
}

fn is_category_muted(category: &str) -> bool {
    with_state(|state| {
        let is_muted = !state.current.has(category);
        if is_muted {
            state.note_muted(category);
        }
        is_muted
    })
}

/// Says what is odd about chosen categories before any event is known: one that the vocabulary does not have, but nearly. The program may
/// have it, so that it is used as it is.
pub fn misspelled(categories: &Categories) -> Option<String> {
    let mut unknown = categories.names().filter(|name| vocab::categories().all(|known| known != *name));
    let (name, meant) = unknown.find_map(|name| Some((name, closest(name, vocab::categories())?)))?;
    let known: Vec<&str> = vocab::categories().collect();
    Some(format!(
        "`{name}` is none of the known categories, did you mean `{meant}`? Known are {}; a program may have others",
        known.join(", ")
    ))
}

/// Says why a recording without events has none, if all that there were had other categories than the chosen ones.
pub fn why_empty() -> Option<String> {
    with_state(|state| {
        let seen: Vec<&str> = state.muted.lines().map(|name| if name.is_empty() { "(none)" } else { name }).collect();
        let is_reason = !state.current.is_all() && !seen.is_empty();
        let meant = state.current.names().find_map(|name| closest(name, seen.iter().copied()));
        let hint = meant.map_or(String::new(), |meant| format!(", did you mean `{meant}`?"));
        is_reason.then(|| {
            format!("nothing was recorded: no event has one of the categories `{}`{hint}; the categories of the events are {}", state.current, seen.join(", "))
        })
    })
}

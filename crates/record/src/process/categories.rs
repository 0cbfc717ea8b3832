//! The categories that this process records, and changes to them while it runs.

use crate::process::switch::{self, FILTERED};
use crate::thread::buffer::quietly;
use crate::thread::site::Site;
use crate::util::lock::lock;
use ferrum_trace_model::closest;
use ferrum_trace_model::settings::Categories;
use ferrum_trace_model::vocab;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// Maximum total length of the stored names of muted categories.
const MUTED_BYTES: usize = 1024;

static STATE: Mutex<State> =
    Mutex::new(State { current: Categories::all(), of_process: Categories::all(), muted: String::new() });
/// Raised by two at each change of the categories. A site caches the generation with its result: the lowest bit is 1 if
/// the site is muted.
static GENERATION: AtomicU32 = AtomicU32::new(0);

struct State {
    /// The categories that are recorded now.
    current: Categories,
    /// The categories of recordings that have none of their own.
    of_process: Categories,
    /// Categories of events that were not recorded, each followed by a line feed. The memory is allocated in advance,
    /// because events of signal handlers must not allocate.
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

/// Records these categories from now on, in this recording and in later ones. Open spans are still recorded when they
/// end.
pub(crate) fn set_for_process(categories: Categories) {
    with_state(|state| {
        state.of_process = categories.clone();
        state.set(categories);
    });
}

/// Records these categories until the recording ends.
#[cfg(feature = "http")]
pub(crate) fn set_for_recording(categories: Categories) {
    with_state(|state| state.set(categories));
}

/// Sets the categories of a recording that starts: its own, or those of the process.
pub(crate) fn begin(own: Option<Categories>) {
    with_state(|state| {
        state.muted.clear();
        let categories = own.unwrap_or_else(|| state.of_process.clone());
        state.set(categories);
    });
}

/// Restores the categories of the process when the recording has ended.
pub(crate) fn end() {
    with_state(|state| {
        let categories = state.of_process.clone();
        state.set(categories);
    });
}

/// Returns the categories that are recorded now.
pub(crate) fn current() -> Categories {
    with_state(|state| state.current.clone())
}

/// Returns true if events of a site are not recorded, because of its category.
pub(crate) fn is_muted(site: &Site) -> bool {
    switch::mode() & FILTERED != 0 && is_site_muted(site)
}

/// Returns true if events of a category are not recorded.
pub(crate) fn is_name_muted(category: &str) -> bool {
    switch::mode() & FILTERED != 0 && is_category_muted(category)
}

/// Returns true if events of a site are not recorded. For callers that have checked that the mode is
/// [`FILTERED`].
pub(crate) fn is_site_muted(site: &Site) -> bool {
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

/// Returns a message if a chosen category is not in the vocabulary but close to one that is. It is used unchanged,
/// since the program may have it.
pub(crate) fn misspelled(categories: &Categories) -> Option<String> {
    let mut unknown = categories.names().filter(|name| vocab::categories().all(|known| known != *name));
    let (name, meant) = unknown.find_map(|name| Some((name, closest(name, vocab::categories())?)))?;
    let known: Vec<&str> = vocab::categories().collect();
    Some(format!(
        "`{name}` is none of the known categories, did you mean `{meant}`? Known are {}; a program may have others",
        known.join(", ")
    ))
}

/// Returns a message for a recording without events, if all events had other categories than the chosen ones.
pub(crate) fn why_empty() -> Option<String> {
    with_state(|state| {
        let seen: Vec<&str> = state.muted.lines().map(|name| if name.is_empty() { "(none)" } else { name }).collect();
        let is_reason = !state.current.is_all() && !seen.is_empty();
        let meant = state.current.names().find_map(|name| closest(name, seen.iter().copied()));
        let hint = meant.map_or(String::new(), |meant| format!(", did you mean `{meant}`?"));
        is_reason.then(|| {
            format!(
                "nothing was recorded: no event has one of the categories `{}`{hint}; \
                 the categories of the events are {}",
                state.current,
                seen.join(", ")
            )
        })
    })
}

//! The definitions of a spool, prepared for writing.

use super::calibration::Calibration;
use super::definition::{Definition, THREAD_DROPPED_WORD};
use super::record::SITE_MAX;
use super::row_title::RowTitle;
use crate::chrome::{Snippet, push_decimal, push_text};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Category of events without one.
pub(crate) const DEFAULT_CATEGORY: &str = "default";

/// Name of events whose name has been overwritten.
const OVERWRITTEN_NAME: &str = "(name overwritten)";

/// First thread id of tracks other than threads: above all thread ids of Linux.
const TRACK_IDS: u32 = 1 << 30;
/// First thread id of threads that cannot use the system's id.
const OTHER_THREAD_IDS: u32 = TRACK_IDS + (1 << 29);
/// First thread id of further lanes of tracks.
pub(crate) const LANE_IDS: u32 = OTHER_THREAD_IDS + (1 << 28);

/// First process id of the processes for further lanes of the original engine's interface: above all process ids of
/// Linux.
pub(crate) const LANE_PIDS: u32 = LANE_IDS;

/// A call site with its encoded parts. There may be tens of thousands of sites with names made at run time, so its
/// fields have no spare capacity.
#[derive(Debug)]
pub(crate) struct Site {
    /// Its position among all sites of the dictionary, from 1; 0 if it is not there.
    pub index: u32,
    pub name: Box<str>,
    pub category: Box<str>,
    /// The keys of its arguments.
    pub keys: Box<[String]>,
    /// The numbers of the counters that its arguments represent, if it is a counter.
    pub counters: Box<[u32]>,
    /// The start of a slice: `,⏎{"name":"…","cat":"…","ph":"X","ts":`
    pub slice_head: Snippet,
    /// The title of the rows of its async events.
    pub row_title: RowTitle,
    /// `"key":` for each argument.
    pub encoded_keys: Box<[Vec<u8>]>,
}

/// The part of a slice's start that other events do not have.
const SLICE_HEAD_END: &[u8] = b"X\",\"ts\":";

/// A thread or another track.
#[derive(Debug)]
pub(crate) struct Track {
    pub name: String,
    pub sort: Option<i64>,
    /// Thread id in the file.
    pub id: u32,
    /// `,"pid":…,"tid":…`
    pub tail: Vec<u8>,
    /// The same followed by the end of an event without arguments, `}`.
    pub end: Snippet,
}

/// A thread.
#[derive(Debug)]
pub(crate) struct Thread {
    pub track: Track,
    /// The first thread with the same row, which may be an earlier one with the same thread id and name.
    pub row: u32,
    /// Offset of its count of lost events in the spool. Losses of threads of a ring are only in the count of all.
    pub dropped_at: Option<u64>,
}

/// Origin of the recording. Unknown fields are empty.
#[derive(Debug)]
pub(crate) struct Origin {
    pub rank: Option<u32>,
    pub host: String,
    pub boot_id: String,
}

/// All definitions.
#[derive(Debug)]
pub(crate) struct Dictionary {
    pub pid: u32,
    pub process_name: String,
    /// `None` for recordings of versions that did not write it.
    pub origin: Option<Origin>,
    pub calibration: Calibration,
    sites: SiteTable,
    /// Offsets of names that threads have defined in chunks of a ring, by thread, number, and the time in ticks from
    /// which on the number has this name.
    names_in_chunks: BTreeMap<(u32, u32, u64), u64>,
    /// Stands for names of a ring that have been overwritten; `None` if the spool is no ring.
    overwritten_name: Option<Box<Site>>,
    threads: BTreeMap<u32, Thread>,
    tracks: BTreeMap<u32, Track>,
    /// The first thread that used each of the system's thread ids, and its name then.
    first_of_os_ids: HashMap<u64, (u32, String)>,
    /// Numbers of counters, by [`counter_hash`].
    counters: HashMap<u64, u32>,
    next_other_thread: u32,
}

impl Dictionary {
    pub(crate) fn new(pid: u32, is_ring: bool) -> Self {
        let overwritten_name = is_ring.then(|| Box::new(Site::new::<&str>(OVERWRITTEN_NAME, "", &[])));
        Self {
            overwritten_name,
            pid,
            process_name: String::new(),
            origin: None,
            calibration: Calibration::default(),
            sites: SiteTable::new(),
            names_in_chunks: BTreeMap::new(),
            threads: BTreeMap::new(),
            tracks: BTreeMap::new(),
            first_of_os_ids: HashMap::new(),
            counters: HashMap::new(),
            next_other_thread: OTHER_THREAD_IDS,
        }
    }

    /// Adds a definition found at `offset`, or returns the reason why it is invalid.
    pub(crate) fn define(&mut self, definition: Definition<'_>, offset: u64) -> Result<(), String> {
        match definition {
            Definition::Site { id, name, category, keys } => {
                let mut site = Site::new(&name, &category, &keys);
                site.counters = site.keys.iter().map(|key| self.number_counter(&name, key)).collect();
                self.sites.insert(id, site)?
            }
            Definition::Thread { id, os_id, name, .. } => {
                let (track, row) = self.thread_track(id, os_id, &name);
                let dropped_at = Some(offset + 8 + 8 * THREAD_DROPPED_WORD as u64);
                self.threads.insert(id, Thread { track, row, dropped_at });
            }
            Definition::ThreadName { id, name } => {
                let thread = self.threads.get_mut(&id).ok_or("a new name for an undefined thread was skipped")?;
                thread.track.name = name.into_owned();
            }
            Definition::Track { id, sort, name } => {
                let number = TRACK_IDS + (id & ((1 << 29) - 1));
                self.tracks.insert(id, Track::new(self.pid, number, name.into_owned(), Some(sort)));
            }
            Definition::Calibration { ticks, nanos } => self.calibration.add(ticks, nanos),
            Definition::Process { name } => self.process_name = name.into_owned(),
            Definition::Origin { rank, host, boot_id } => {
                self.origin = Some(Origin { rank, host: host.into_owned(), boot_id: boot_id.into_owned() });
            }
        }
        Ok(())
    }

    /// Adds what a chunk of a ring defines for a thread, from a time in ticks on. A name is only found again by its
    /// `offset`: a ring may have a million of them.
    pub(crate) fn define_in_chunk(
        &mut self,
        definition: Definition<'_>,
        thread: u32,
        from: u64,
        offset: u64,
    ) -> Result<(), &'static str> {
        match definition {
            Definition::Thread { id, os_id, name, .. } => self.define_in_ring(id, os_id, name),
            Definition::Site { id, .. } => drop(self.names_in_chunks.insert((thread, id, from), offset)),
            _ => return Err("expected the definition of a thread or a name, found another one; it was skipped"),
        }
        Ok(())
    }

    /// Adds a thread that a chunk of a ring defines, or gives it the name that it has there. Each chunk with its events
    /// defines it again; an ending thread may not know its name any more.
    pub(crate) fn define_in_ring(&mut self, id: u32, os_id: u64, name: Cow<'_, str>) {
        match self.threads.get_mut(&id) {
            None => {
                let (track, row) = self.thread_track(id, os_id, &name);
                self.threads.insert(id, Thread { track, row, dropped_at: None });
            }
            Some(known) if !name.is_empty() && known.track.name != name => known.track.name = name.into_owned(),
            Some(_) => {}
        }
    }

    /// Returns the track of a thread. Viewers identify a thread by the system's thread id. If the system reused the id
    /// for a thread with another name, the later thread gets a new number.
    fn thread_track(&mut self, id: u32, os_id: u64, name: &str) -> (Track, u32) {
        let (first_id, first_name) = self.first_of_os_ids.entry(os_id).or_insert_with(|| (id, name.to_owned()));
        let usable = (1..u64::from(TRACK_IDS)).contains(&os_id) && first_name == name;
        let (number, row) = if usable {
            (os_id as u32, *first_id)
        } else {
            self.next_other_thread = (self.next_other_thread + 1).min(LANE_IDS - 1);
            (self.next_other_thread - 1, id)
        };
        let name = if name.is_empty() { format!("thread {id}") } else { name.to_owned() };
        (Track::new(self.pid, number, name, None), row)
    }

    fn number_counter(&mut self, name: &str, key: &str) -> u32 {
        let n_counters = self.counters.len() as u32;
        *self.counters.entry(counter_hash(name, key)).or_insert(n_counters)
    }

    #[inline]
    pub(crate) fn site(&self, id: u32) -> Option<&Site> {
        self.sites.get(id)
    }

    /// Returns the offset of a name that is defined in a chunk of a ring, for an event of a thread that began at
    /// `start` in ticks.
    ///
    /// A thread uses its numbers for such names again and again. The name of an event is the latest that the thread
    /// defined before: if that was overwritten, so were all earlier ones.
    pub(crate) fn name_in_chunk(&self, id: u32, thread: u32, start: u64) -> Option<u64> {
        let until = self.names_in_chunks.range((thread, id, 0)..=(thread, id, start));
        until.last().map(|(_, &offset)| offset)
    }

    /// Returns the site of events whose name may have been overwritten: in a ring, an event may be in a later chunk
    /// than the definition of its name.
    pub(crate) fn overwritten_name(&self, id: u32) -> Option<&Site> {
        // Names made at run time have odd numbers.
        self.overwritten_name.as_deref().filter(|_| id % 2 == 1)
    }

    #[inline]
    pub(crate) fn thread(&self, id: u32) -> Option<&Thread> {
        self.threads.get(&id)
    }

    pub(crate) fn track(&self, id: u32) -> Option<&Track> {
        self.tracks.get(&id)
    }

    pub(crate) fn threads(&self) -> impl Iterator<Item = (u32, &Thread)> {
        self.threads.iter().map(|(&id, thread)| (id, thread))
    }
}

impl Site {
    pub(crate) fn new<S: AsRef<str>>(name: &str, category: &str, keys: &[S]) -> Self {
        let category = if category.is_empty() { DEFAULT_CATEGORY } else { category };
        let mut head = b",\n{\"name\":".to_vec();
        push_text(&mut head, name);
        head.extend_from_slice(b",\"cat\":");
        push_text(&mut head, category);
        head.extend_from_slice(b",\"ph\":\"");
        head.extend_from_slice(SLICE_HEAD_END);
        // The prefix `r#` of keys that are Rust keywords is removed.
        let keys: Box<[String]> = keys.iter().map(|key| plain_key(key.as_ref()).to_owned()).collect();
        Self {
            index: 0,
            name: name.into(),
            category: category.into(),
            slice_head: Snippet::new(&head),
            row_title: RowTitle::of(&keys),
            encoded_keys: keys.iter().map(|key| encode_key(key)).collect(),
            keys,
            counters: Box::default(),
        }
    }

    /// Returns the start of an event: `,⏎{"name":"…","cat":"…","ph":"`
    pub(crate) fn head(&self) -> &[u8] {
        let head = self.slice_head.text();
        &head[..head.len() - SLICE_HEAD_END.len()]
    }
}

/// Returns the hash that identifies a counter series. Any argument may be one, and texts for all of them would take
/// more memory than their sites.
pub(crate) fn counter_hash(name: &str, key: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (name, key).hash(&mut hasher);
    hasher.finish()
}

fn plain_key(key: &str) -> &str {
    key.strip_prefix("r#").unwrap_or(key)
}

/// Encodes a key and its colon.
fn encode_key(key: &str) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(key.len() + 3);
    push_text(&mut encoded, key);
    encoded.push(b':');
    encoded
}

impl Track {
    fn new(pid: u32, id: u32, name: String, sort: Option<i64>) -> Self {
        let tail = track_tail(pid, id);
        let end = Snippet::new(&[tail.as_slice(), b"}"].concat());
        Self { name, sort, id, tail, end }
    }
}

/// Returns `,"pid":…,"tid":…`
pub(crate) fn track_tail(pid: u32, tid: u32) -> Vec<u8> {
    let mut tail = b",\"pid\":".to_vec();
    push_decimal(&mut tail, u64::from(pid));
    tail.extend_from_slice(b",\"tid\":");
    push_decimal(&mut tail, u64::from(tid));
    tail
}

/// A table indexed by the numbers of sites. Chunks of definitions may be in any order, so the numbers are too: memory
/// depends on how many there are, and at most for the pages of positions on their values.
#[derive(Debug)]
struct SiteTable {
    sites: Vec<Site>,
    /// By the upper bits of the number, then by the lower ones: the position in `sites`, counted from one.
    pages: Vec<Option<Box<[u32; PAGE]>>>,
}

/// Numbers in one page of positions.
const PAGE: usize = 256;

impl SiteTable {
    const fn new() -> Self {
        Self { sites: Vec::new(), pages: Vec::new() }
    }

    fn insert(&mut self, id: u32, mut site: Site) -> Result<(), String> {
        if id > SITE_MAX {
            return Err(format!("expected a number up to {SITE_MAX}, found {id}; definition skipped"));
        }
        let (page, place) = (id as usize / PAGE, id as usize % PAGE);
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        let position = &mut self.pages[page].get_or_insert_with(|| Box::new([0; PAGE]))[place];
        let is_new = *position == 0;
        if is_new {
            *position = self.sites.len() as u32 + 1;
        }
        site.index = *position;
        match is_new {
            true => self.sites.push(site),
            false => self.sites[*position as usize - 1] = site,
        }
        Ok(())
    }

    #[inline]
    fn get(&self, id: u32) -> Option<&Site> {
        let page = self.pages.get(id as usize / PAGE)?.as_ref()?;
        self.sites.get((page[id as usize % PAGE] as usize).wrapping_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(id: u32, name: &str) -> Definition<'_> {
        Definition::Site { id, name: name.into(), category: "".into(), keys: Vec::new() }
    }

    #[test]
    fn definitions_may_have_any_numbers_in_any_order() {
        let mut dictionary = Dictionary::new(1, false);
        let ids = [SITE_MAX, 3, 1 << 20, 70_000, 2];
        for id in ids {
            dictionary.define(site(id, &id.to_string()), 0).unwrap();
            let thread = Definition::Thread { id: u32::MAX - id, os_id: 0, dropped: 0, name: "".into() };
            dictionary.define(thread, 0).unwrap();
            dictionary.define(Definition::Track { id: u32::MAX - id, sort: 0, name: "".into() }, 0).unwrap();
        }
        for id in ids {
            assert_eq!(&*dictionary.site(id).unwrap().name, id.to_string());
            assert!(dictionary.thread(u32::MAX - id).is_some() && dictionary.track(u32::MAX - id).is_some());
        }
        assert!([1, 4, 255, 256, SITE_MAX - 1, u32::MAX].iter().all(|&id| dictionary.site(id).is_none()));
        dictionary.define(site(3, "again"), 0).unwrap();
        assert_eq!(&*dictionary.site(3).unwrap().name, "again");
    }

    #[test]
    fn only_names_of_a_ring_may_be_overwritten() {
        let found = |is_ring, id| Dictionary::new(1, is_ring).overwritten_name(id).map(|site| site.name.clone());
        assert_eq!(found(true, 5).as_deref(), Some(OVERWRITTEN_NAME));
        assert_eq!((found(false, 5), found(true, 4)), (None, None), "call sites are never overwritten");
    }

    #[test]
    fn an_event_has_the_name_that_its_thread_defined_last_before_it() {
        let mut dictionary = Dictionary::new(1, true);
        let definitions = [(1, 100, 8), (1, 200, 16), (2, 50, 24)];
        for (thread, from, offset) in definitions {
            dictionary.define_in_chunk(site(7, "name"), thread, from, offset).unwrap();
        }
        let offset = |thread, start| dictionary.name_in_chunk(7, thread, start);
        assert_eq!([offset(1, 100), offset(1, 199), offset(1, 200), offset(2, 1000)], [8, 8, 16, 24].map(Some));
        assert_eq!([offset(1, 99), offset(3, 1000)], [None; 2], "a later name is not the right one");
        assert!(dictionary.define_in_chunk(Definition::Process { name: "p".into() }, 1, 0, 0).is_err());
    }

    #[test]
    fn a_site_beyond_the_numbers_of_records_is_refused() {
        let refused = Dictionary::new(1, false).define(site(SITE_MAX + 1, "far"), 0).unwrap_err();
        assert_eq!(refused, "expected a number up to 16777215, found 16777216; definition skipped");
    }

    #[test]
    fn a_thread_that_is_defined_in_several_chunks_has_its_last_name_and_one_row() {
        let mut dictionary = Dictionary::new(1, false);
        for name in ["first", "second", ""] {
            dictionary.define_in_ring(7, 4711, name.into());
        }
        let thread = dictionary.thread(7).unwrap();
        assert_eq!((thread.track.name.as_str(), thread.track.id, dictionary.threads().count()), ("second", 4711, 1));
    }
}

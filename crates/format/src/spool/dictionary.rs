//! The definitions of a spool, prepared for writing.

use super::calibration::Calibration;
use super::definition::{Definition, THREAD_DROPPED_WORD};
use super::row_title::RowTitle;
use crate::chrome::{Snippet, push_decimal, push_text};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Category of events without one.
pub(crate) const DEFAULT_CATEGORY: &str = "default";

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
    /// Offset of its count of lost events in the spool.
    pub dropped_at: u64,
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
    sites: Sparse<Site>,
    threads: Sparse<Thread>,
    tracks: Sparse<Track>,
    /// The first thread that used each of the system's thread ids, and its name then.
    first_of_os_ids: HashMap<u64, (u32, String)>,
    /// Numbers of counters, by [`counter_hash`].
    counters: HashMap<u64, u32>,
    next_other_thread: u32,
}

impl Dictionary {
    pub(crate) fn new(pid: u32) -> Self {
        Self {
            pid,
            process_name: String::new(),
            origin: None,
            calibration: Calibration::default(),
            sites: Sparse::default(),
            threads: Sparse::default(),
            tracks: Sparse::default(),
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
                let dropped_at = offset + 8 + 8 * THREAD_DROPPED_WORD as u64;
                self.threads.insert(id, Thread { track, row, dropped_at })?;
            }
            Definition::ThreadName { id, name } => {
                let thread = self.threads.get_mut(id).ok_or("a new name for an undefined thread was skipped")?;
                thread.track.name = name.into_owned();
            }
            Definition::Track { id, sort, name } => {
                let number = TRACK_IDS + (id & ((1 << 29) - 1));
                self.tracks.insert(id, Track::new(self.pid, number, name.into_owned(), Some(sort)))?;
            }
            Definition::Calibration { ticks, nanos } => self.calibration.add(ticks, nanos),
            Definition::Process { name } => self.process_name = name.into_owned(),
            Definition::Origin { rank, host, boot_id } => {
                self.origin = Some(Origin { rank, host: host.into_owned(), boot_id: boot_id.into_owned() });
            }
        }
        Ok(())
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

    #[inline]
    pub(crate) fn thread(&self, id: u32) -> Option<&Thread> {
        self.threads.get(id)
    }

    pub(crate) fn track(&self, id: u32) -> Option<&Track> {
        self.tracks.get(id)
    }

    pub(crate) fn threads(&self) -> impl Iterator<Item = (u32, &Thread)> {
        self.threads.iter()
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

/// A table indexed by numbers that are assigned roughly in order.
#[derive(Debug)]
struct Sparse<T> {
    entries: Vec<Option<T>>,
    n_filled: usize,
}

/// A number beyond four times the entries plus this is damage, not a definition; the table must not grow with it.
const SPARSE_SLACK: usize = 4096;

impl<T> Default for Sparse<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), n_filled: 0 }
    }
}

impl<T> Sparse<T> {
    fn insert(&mut self, id: u32, entry: T) -> Result<(), String> {
        let index = id as usize;
        if index > 4 * self.n_filled + SPARSE_SLACK {
            return Err(format!("expected a number near {}, found {id}; definition skipped", self.n_filled));
        }
        if index >= self.entries.len() {
            self.entries.resize_with(index + 1, || None);
        }
        self.n_filled += usize::from(self.entries[index].is_none());
        self.entries[index] = Some(entry);
        Ok(())
    }

    #[inline]
    fn get(&self, id: u32) -> Option<&T> {
        self.entries.get(id as usize)?.as_ref()
    }

    fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        self.entries.get_mut(id as usize)?.as_mut()
    }

    fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let filled = |(id, entry)| Some((id as u32, Option::as_ref(entry)?));
        self.entries.iter().enumerate().filter_map(filled)
    }
}

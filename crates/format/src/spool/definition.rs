//! Definitions: call sites, threads, tracks, and calibration points of the clock.
//!
//! ```text
//! word 0 │ id : 32 │ payload bytes : 24 │ tag : 8
//! then   │ payload, padded to whole words: numbers first, then texts as length (4 bytes) and bytes
//! ```

use super::record::TEXT_BYTES_MAX;
use std::borrow::Cow;

const TAG_SITE: u8 = 1;
const TAG_THREAD: u8 = 2;
const TAG_TRACK: u8 = 3;
const TAG_CALIBRATION: u8 = 4;
const TAG_PROCESS: u8 = 5;
const TAG_THREAD_NAME: u8 = 6;
const TAG_ORIGIN: u8 = 7;

/// Value for a missing rank.
const NO_RANK: u64 = u64::MAX;

/// Index of the word with the count of lost events in the payload of a thread's definition; the recorder increments it
/// in place.
pub const THREAD_DROPPED_WORD: usize = 1;

/// One definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Definition<'a> {
    /// A call site, or a name made at run time.
    Site {
        /// The number that records carry.
        id: u32,
        /// Name of the events.
        name: Cow<'a, str>,
        /// Their category.
        category: Cow<'a, str>,
        /// The keys of their arguments.
        keys: Vec<Cow<'a, str>>,
    },
    /// A thread that recorded something.
    Thread {
        /// The number that segments carry.
        id: u32,
        /// The system's thread id.
        os_id: u64,
        /// Number of its lost events.
        dropped: u64,
        /// Its name, if it had one.
        name: Cow<'a, str>,
    },
    /// A new name for a thread that is already defined.
    ThreadName {
        /// The number that segments carry.
        id: u32,
        /// The new name.
        name: Cow<'a, str>,
    },
    /// A track other than a thread.
    Track {
        /// The number that records carry.
        id: u32,
        /// Sort index for viewers.
        sort: i64,
        /// Its name.
        name: Cow<'a, str>,
    },
    /// Ticks of the clock and nanoseconds of the monotonic clock, read at the same moment.
    Calibration {
        /// Ticks.
        ticks: u64,
        /// Nanoseconds.
        nanos: u64,
    },
    /// The name of the process.
    Process {
        /// The name.
        name: Cow<'a, str>,
    },
    /// Origin of the recording. Unknown fields are empty.
    Origin {
        /// The rank of the process in its run.
        rank: Option<u32>,
        /// The name of the host.
        host: Cow<'a, str>,
        /// Id of the host's boot, which identifies its monotonic clock.
        boot_id: Cow<'a, str>,
    },
}

/// Replaces the content of `bytes` by the definition of a site, as [`Definition::to_bytes`] encodes it. Does not
/// allocate if the capacity is sufficient.
pub fn write_site<'a>(
    bytes: &mut Vec<u8>,
    id: u32,
    name: &'a str,
    category: &'a str,
    keys: impl IntoIterator<Item = &'a str>,
) {
    put(bytes, TAG_SITE, id, &[], [name, category].into_iter().chain(keys));
}

/// Replaces the content of `bytes` by the definition of a thread without lost events, as [`write_site`] does for a
/// site.
pub fn write_thread(bytes: &mut Vec<u8>, id: u32, os_id: u64, name: &str) {
    put(bytes, TAG_THREAD, id, &[os_id, 0], [name]);
}

/// Returns the bytes of the definition of a thread in a ring, without padding, and their number. Does not allocate.
pub fn thread_bytes(id: u32, os_id: u64, name: &str) -> (usize, impl Iterator<Item = u8>) {
    let numbers = [os_id, 0].map(u64::to_le_bytes);
    unpadded(TAG_THREAD, id, numbers.as_flattened().len(), std::iter::once(name), numbers.into_iter().flatten())
}

/// Returns the bytes of the definition of a site, without padding, and their number. Does not allocate.
pub fn site_bytes<'a>(id: u32, texts: impl Iterator<Item = &'a str> + Clone) -> (usize, impl Iterator<Item = u8>) {
    unpadded(TAG_SITE, id, 0, texts, std::iter::empty())
}

fn unpadded<'a>(
    tag: u8,
    id: u32,
    n_number_bytes: usize,
    texts: impl Iterator<Item = &'a str> + Clone,
    numbers: impl Iterator<Item = u8>,
) -> (usize, impl Iterator<Item = u8>) {
    let n_payload = n_number_bytes + texts.clone().map(|text| 4 + text.len()).sum::<usize>();
    let texts = texts.flat_map(|text| (text.len() as u32).to_le_bytes().into_iter().chain(text.bytes()));
    (8 + n_payload, first_word(tag, id, n_payload).to_le_bytes().into_iter().chain(numbers).chain(texts))
}

fn first_word(tag: u8, id: u32, n_payload: usize) -> u64 {
    u64::from(id) | ((n_payload as u64) << 32) | (u64::from(tag) << 56)
}

fn put<'a>(bytes: &mut Vec<u8>, tag: u8, id: u32, numbers: &[u64], texts: impl IntoIterator<Item = &'a str>) {
    bytes.clear();
    bytes.extend_from_slice(&[0; 8]);
    for number in numbers {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    for text in texts {
        bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    let n_payload = bytes.len() - 8;
    bytes[..8].copy_from_slice(&first_word(tag, id, n_payload).to_le_bytes());
    bytes.resize(bytes.len().next_multiple_of(8), 0);
}

impl Definition<'_> {
    /// Returns the bytes of the definition, a whole number of words.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (tag, id, numbers, texts) = self.parts();
        let mut bytes = Vec::new();
        put(&mut bytes, tag, id, &numbers, texts);
        bytes
    }

    fn parts(&self) -> (u8, u32, Vec<u64>, Vec<&str>) {
        match self {
            Self::Site { id, name, category, keys } => {
                let mut texts = vec![name.as_ref(), category.as_ref()];
                texts.extend(keys.iter().map(AsRef::as_ref));
                (TAG_SITE, *id, vec![], texts)
            }
            Self::Thread { id, os_id, dropped, name } => (TAG_THREAD, *id, vec![*os_id, *dropped], vec![name]),
            Self::ThreadName { id, name } => (TAG_THREAD_NAME, *id, vec![], vec![name]),
            Self::Track { id, sort, name } => (TAG_TRACK, *id, vec![*sort as u64], vec![name]),
            Self::Calibration { ticks, nanos } => (TAG_CALIBRATION, 0, vec![*ticks, *nanos], vec![]),
            Self::Process { name } => (TAG_PROCESS, 0, vec![], vec![name]),
            Self::Origin { rank, host, boot_id } => {
                (TAG_ORIGIN, 0, vec![rank.map_or(NO_RANK, u64::from)], vec![host, boot_id])
            }
        }
    }
}

impl<'a> Definition<'a> {
    /// Reads the definition at the start of `bytes`; returns it with its size. `None` stands for a complete definition
    /// with an unknown tag or a payload that does not match its tag.
    pub fn read(bytes: &'a [u8]) -> Result<(Option<Self>, usize), &'static str> {
        let (first, rest) = bytes.split_first_chunk::<8>().ok_or("fewer than 8 bytes are left")?;
        let first = u64::from_le_bytes(*first);
        if first == 0 {
            return Err("expected a definition, found zeros");
        }
        let n_payload = ((first >> 32) & 0xff_ffff) as usize;
        let payload = rest.get(..n_payload).ok_or("the definition does not fit into the rest of the chunk")?;
        let size = (8 + n_payload).next_multiple_of(8).min(bytes.len());
        let mut reader = Payload(payload);
        Ok((Self::from_payload((first >> 56) as u8, first as u32, &mut reader), size))
    }

    fn from_payload(tag: u8, id: u32, payload: &mut Payload<'a>) -> Option<Self> {
        Some(match tag {
            TAG_SITE => Self::Site {
                id,
                name: payload.text()?,
                category: payload.text()?,
                keys: std::iter::from_fn(|| payload.text()).collect(),
            },
            TAG_THREAD => {
                Self::Thread { id, os_id: payload.number()?, dropped: payload.number()?, name: payload.text()? }
            }
            TAG_THREAD_NAME => Self::ThreadName { id, name: payload.text()? },
            TAG_TRACK => Self::Track { id, sort: payload.number()? as i64, name: payload.text()? },
            TAG_CALIBRATION => Self::Calibration { ticks: payload.number()?, nanos: payload.number()? },
            TAG_PROCESS => Self::Process { name: payload.text()? },
            TAG_ORIGIN => Self::Origin {
                rank: u32::try_from(payload.number()?).ok(),
                host: payload.text()?,
                boot_id: payload.text()?,
            },
            _ => return None,
        })
    }
}

struct Payload<'a>(&'a [u8]);

impl<'a> Payload<'a> {
    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn text(&mut self) -> Option<Cow<'a, str>> {
        let (len, rest) = self.0.split_first_chunk::<4>()?;
        let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        self.0 = rest;
        // The recorder cuts names to this length; a longer name is damage, and would be copied into every event.
        let kept = &text[..text.len().min(TEXT_BYTES_MAX)];
        Some(String::from_utf8_lossy(kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_without_allocation_are_the_same() {
        let site = Definition::Site { id: 7, name: "n".into(), category: "cat".into(), keys: vec!["key".into()] };
        let thread = Definition::Thread { id: u32::MAX, os_id: 4711, dropped: 0, name: "worker".into() };
        let (n_site, site_bytes) = site_bytes(7, ["n", "cat", "key"].into_iter());
        let (n_thread, thread_bytes) = thread_bytes(u32::MAX, 4711, "worker");
        let bytes: [Vec<u8>; 2] = [site_bytes.collect(), thread_bytes.collect()];
        assert_eq!([bytes[0].len(), bytes[1].len()], [n_site, n_thread]);
        assert_eq!(Definition::read(&bytes[0]), Ok((Some(site), n_site)));
        assert_eq!(Definition::read(&bytes[1]), Ok((Some(thread), n_thread)));
    }

    #[test]
    fn every_definition_is_read_back() {
        let all = [
            Definition::Site {
                id: 3,
                name: "rms_norm".into(),
                category: "norm".into(),
                keys: vec!["layer".into(), "".into()],
            },
            Definition::Thread { id: 1, os_id: 4711, dropped: 5, name: "main".into() },
            Definition::ThreadName { id: 1, name: "werker №1".into() },
            Definition::Track { id: 9, sort: -4, name: "GPU 0 / stream 7".into() },
            Definition::Calibration { ticks: u64::MAX, nanos: 1 },
            Definition::Process { name: "engine".into() },
            Definition::Origin { rank: Some(3), host: "node-7".into(), boot_id: "1f2e".into() },
            Definition::Origin { rank: None, host: "".into(), boot_id: "".into() },
        ];
        for definition in all {
            let bytes = definition.to_bytes();
            assert_eq!(bytes.len() % 8, 0);
            assert_eq!(Definition::read(&bytes), Ok((Some(definition), bytes.len())));
        }
    }
}

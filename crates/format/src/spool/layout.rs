//! Where everything is in a spool file.
//!
//! A spool is an array of chunks of [`CHUNK_BYTES`]. All numbers are little-endian words of 8 bytes.
//!
//! ```text
//! chunk 0      │ chunk header │ file header       │ definitions …
//! other chunks │ chunk header │ events …                            (or definitions …)
//!               0              64                  512
//! ```
//!
//! A chunk's `LEN` word is stored after the bytes it covers, so whatever lies below it is whole, at any moment and after
//! any kind of death. A chunk of zeros has been reserved and not used.

/// Bytes of one chunk: about 2,000 spans, and what one thread holds at a time.
pub const CHUNK_BYTES: usize = 32 * 1024;

/// Words of one chunk.
pub const CHUNK_WORDS: usize = CHUNK_BYTES / 8;

/// The version of the layout. Any change to this file, `record.rs` or `definition.rs` beside it that an older reader
/// would misread raises it, and a spool of the version before goes to `tests/data`.
pub const VERSION: u64 = 1;

/// First word of the file.
pub const FILE_MAGIC: u64 = u64::from_le_bytes(*b"FERRUMSP");
/// First word of a chunk of events.
pub const EVENTS_MAGIC: u64 = u64::from_le_bytes(*b"FTEVENTS");
/// First word of a chunk of definitions other than the first.
pub const DEFINITIONS_MAGIC: u64 = u64::from_le_bytes(*b"FTDEFINE");

/// Word indexes within a chunk header.
pub mod chunk {
    /// What the chunk holds.
    pub const MAGIC: usize = 0;
    /// Bytes of the chunk that are whole, header included.
    pub const LEN: usize = 1;
    /// Bytes of the chunk that may be used. Zero makes every writer ask for another chunk.
    pub const LIMIT: usize = 2;
    /// The chunk's place in the file.
    pub const INDEX: usize = 3;
    /// Clock ticks that the times of the current segment count from.
    pub const BASE: usize = 4;
    /// [`OPEN`](super::state::OPEN) or [`CLOSED`](super::state::CLOSED).
    pub const STATE: usize = 5;
    /// How often the chunk was emptied to be used again, times two; odd while that is being done.
    pub const GENERATION: usize = 6;
    /// Words of the header.
    pub const HEADER_WORDS: usize = 8;
}

/// Values of a chunk's `STATE` word.
pub mod state {
    /// Somebody may add to the chunk.
    pub const OPEN: u64 = 0;
    /// Nothing will be added to the chunk.
    pub const CLOSED: u64 = 1;
}

/// Word indexes of the file header, within chunk 0.
pub mod file {
    /// [`VERSION`](super::VERSION) and, above 32 bits, the bytes of a chunk.
    pub const VERSION: usize = 8;
    /// The process that wrote the file.
    pub const PID: usize = 9;
    /// [`CLOCK_TICKS`](super::CLOCK_TICKS) or [`CLOCK_MONOTONIC`](super::CLOCK_MONOTONIC).
    pub const CLOCK: usize = 10;
    /// 1 once the recorder has finished the file by itself.
    pub const FINISHED: usize = 11;
    /// Nanoseconds since the Unix epoch when recording began.
    pub const WALL_NANOS: usize = 12;
    /// Events lost that no thread's own count has.
    pub const DROPPED: usize = 13;
    /// Why recording stopped early: a [`StopReason`](super::StopReason).
    pub const STOP_REASON: usize = 14;
    /// Bytes the spool may take.
    pub const LIMIT: usize = 15;
    /// 1 if the spool is a ring: full chunks are used again, so that they are not in the order of time.
    pub const RING: usize = 16;
    /// How many chunks of a ring were used again: what was in them is gone, as was asked for.
    pub const OVERWRITTEN: usize = 17;
    /// If the recording goes on in several files: which one this is, counted from 1. Something that begins in one of them may end in another.
    pub const PART: usize = 18;
    /// First word after the file header, where definitions begin.
    pub const HEADER_WORDS: usize = 64;
}

/// Times are ticks of the processor's counter.
pub const CLOCK_TICKS: u64 = 1;
/// Times are nanoseconds of the system's monotonic clock.
pub const CLOCK_MONOTONIC: u64 = 2;

/// Why a recording stopped before its program did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum StopReason {
    /// The spool reached the limit that was set for it.
    Limit = 1,
    /// The file system is full, or a quota was reached.
    NoSpace = 2,
    /// The spool could not be enlarged for another reason.
    Io = 3,
}

impl StopReason {
    /// The reason a `STOP_REASON` word stands for.
    pub fn from_word(word: u64) -> Option<Self> {
        match word {
            1 => Some(Self::Limit),
            2 => Some(Self::NoSpace),
            3 => Some(Self::Io),
            _ => None,
        }
    }
}

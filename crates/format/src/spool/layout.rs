//! The layout of a spool file.
//!
//! A spool is an array of chunks of [`CHUNK_BYTES`]. All numbers are little-endian words of 8 bytes.
//!
//! ```text
//! chunk 0      │ chunk header │ file header       │ definitions …
//! other chunks │ chunk header │ events …                            (or definitions …, or stacks of open spans …)
//!               0              64                  512
//! ```
//!
//! A chunk's `LEN` word is stored after the bytes it covers, so the bytes below it are complete at any moment, even
//! after the process was killed.
//!
//! A chunk that is reserved has [`UNUSED_MAGIC`] before it can be used, and the header word
//! [`CHUNKS_USED`](file::CHUNKS_USED) is raised before a chunk is handed out. A chunk below that number which is zeros,
//! or beyond the end of the file, is therefore missing data.

/// Size of a chunk: about 2,000 spans. A thread writes to one chunk at a time.
pub const CHUNK_BYTES: usize = 32 * 1024;

/// Words of one chunk.
pub const CHUNK_WORDS: usize = CHUNK_BYTES / 8;

/// The version of the layout. It is raised with any change to this file, `record.rs` or `definition.rs` that an older
/// reader would misread, and a spool of the previous version is added to `tests/data`.
///
/// Version 2 added chunks of open spans; a spool of version 1 has none. Version 3 added the mark of unused chunks with
/// the number of used ones, thread numbers of 32 bits in segments, and the definitions of threads in the chunks of
/// events of a ring.
pub const VERSION: u64 = 3;
/// The oldest version that can be read.
pub(crate) const OLDEST_VERSION: u64 = 1;
/// The first version with [`UNUSED_MAGIC`] and [`file::CHUNKS_USED`].
pub(crate) const VERSION_WITH_USED_CHUNKS: u64 = 3;

/// Extension of the name of a spool.
pub const FILE_EXTENSION: &str = "spool";
/// The extension with its dot; a trace and its spool differ only by this.
pub const FILE_ENDING: &str = ".spool";

/// First word of the file.
pub const FILE_MAGIC: u64 = u64::from_le_bytes(*b"FERRUMSP");
/// First word of a chunk of events.
pub const EVENTS_MAGIC: u64 = u64::from_le_bytes(*b"FTEVENTS");
/// First word of a chunk of definitions other than the first.
pub const DEFINITIONS_MAGIC: u64 = u64::from_le_bytes(*b"FTDEFINE");
/// First word of a chunk of open spans.
pub const OPEN_SPANS_MAGIC: u64 = u64::from_le_bytes(*b"FTOPENSP");
/// First word of a chunk that has been reserved and not used.
pub const UNUSED_MAGIC: u64 = u64::from_le_bytes(*b"FTUNUSED");

/// Word indexes within a chunk header.
pub mod chunk {
    /// Kind of the chunk.
    pub const MAGIC: usize = 0;
    /// Number of complete bytes of the chunk, header included.
    pub const LEN: usize = 1;
    /// Number of usable bytes of the chunk. Zero makes every writer request another chunk.
    pub const LIMIT: usize = 2;
    /// Index of the chunk in the file.
    pub const INDEX: usize = 3;
    /// Base of the times in the current segment, in clock ticks.
    pub const BASE: usize = 4;
    /// [`OPEN`](super::state::OPEN) or [`CLOSED`](super::state::CLOSED).
    pub const STATE: usize = 5;
    /// Number of times the chunk was emptied for reuse, times two; odd while it is being emptied.
    pub const GENERATION: usize = 6;
    /// Chunks of definitions: their number in the order of writing, from 1. In a ring, it differs from the order in
    /// the file.
    pub const SEQUENCE: usize = 7;
    /// Words of the header.
    pub const HEADER_WORDS: usize = 8;
}

/// Values of a chunk's `STATE` word.
pub mod state {
    /// Records may be added to the chunk.
    pub const OPEN: u64 = 0;
    /// No more records will be added to the chunk.
    pub const CLOSED: u64 = 1;
}

/// Word indexes of the file header, within chunk 0.
pub mod file {
    /// [`VERSION`](super::VERSION) and, above 32 bits, the size of a chunk.
    pub const VERSION: usize = 8;
    /// The process that wrote the file.
    pub const PID: usize = 9;
    /// [`CLOCK_TICKS`](super::CLOCK_TICKS) or [`CLOCK_MONOTONIC`](super::CLOCK_MONOTONIC).
    pub const CLOCK: usize = 10;
    /// 1 once the recorder has completed the file.
    pub const FINISHED: usize = 11;
    /// Nanoseconds since the Unix epoch when recording began.
    pub const WALL_NANOS: usize = 12;
    /// Number of lost events that are in no thread's own count.
    pub const DROPPED: usize = 13;
    /// Reason why events were lost for lack of room, until the end or for some time, see
    /// [`stop_reason`](super::stop_reason).
    pub const STOP_REASON: usize = 14;
    /// Maximum size of the spool.
    pub const LIMIT: usize = 15;
    /// 1 if the spool is a ring: full chunks are reused, so chunks are not in the order of time.
    pub const RING: usize = 16;
    /// Number of reused chunks of a ring. Their previous content is lost, as intended.
    pub const OVERWRITTEN: usize = 17;
    /// Number of the part of a rotating recording, from 1. Async events and flows may begin in one part and end in
    /// another.
    pub const PART: usize = 18;
    /// 1 if the recording continues in the next part, which also has the spans that were open at the end of this one.
    pub const CONTINUED: usize = 19;
    /// Number of refused dumps of a ring: a word for each [`DumpRefusal`](super::DumpRefusal), in their order.
    pub const DUMPS_REFUSED: usize = 20;
    /// Number of chunks, from the start of the file, that have been handed out. Those behind it contain nothing.
    pub const CHUNKS_USED: usize = 32;
    /// First word after the file header, where definitions begin.
    pub const HEADER_WORDS: usize = 64;
}

/// Stacks of open spans.
///
/// A span is written to a chunk of events when it ends. So that a trace also has the spans that never end, each thread
/// has a stack in a chunk of open spans: a header and one slot for each level of nesting. A span fills the slot of its
/// level when it begins and empties it when it ends.
///
/// ```text
/// header │ thread │ slots │ limit │ the system's thread id │ name: 4 words
/// slot   │ start  │ head  │ up to 6 arguments
/// ```
///
/// Header and slots have [`LINE_WORDS`](open_spans::LINE_WORDS) words each. A slot is in use while its head is not
/// zero. The head is stored last when a span begins and first when it ends; a reader of a running process reads a slot
/// twice and uses it if both reads agree (two spans of a thread never have the same start).
pub mod open_spans {
    /// Words of a stack's header, and of each slot.
    pub const LINE_WORDS: usize = 8;
    /// Maximum number of slots of a stack: as many as fit into a chunk.
    pub const SLOTS_MAX: usize = super::CHUNK_WORDS / LINE_WORDS - 2;

    /// Word of the header: the number of the thread that owns the stack; zero if no thread does.
    pub const THREAD: usize = 0;
    /// Word of the header: number of slots that follow.
    pub const SLOTS: usize = 1;
    /// Word of the header: number of slots that the thread may use. Zero makes it request another stack.
    pub const LIMIT: usize = 2;
    /// Word of the header: the system's id of the thread.
    pub const OS_ID: usize = 3;
    /// First word of the header with the thread's name, padded with zeros. In a ring, the thread may have no other
    /// definition.
    pub const NAME: usize = 4;
    /// Maximum length of that name in bytes. Longer names are cut.
    pub const NAME_BYTES: usize = 8 * (LINE_WORDS - NAME);

    /// Word of a slot: the begin of the span in clock ticks.
    pub const START: usize = 0;
    /// Word of a slot: the span's site, and the number and types of its arguments, see [`head`].
    pub const HEAD: usize = 1;
    /// First argument of a slot.
    pub const ARGS: usize = 2;
    /// Maximum number of arguments of a slot. Further ones are omitted.
    pub const ARGS_MAX: usize = LINE_WORDS - ARGS;

    const SITE_SHIFT: u32 = 40;
    const TYPES_SHIFT: u32 = 8;
    const COUNT_MASK: u64 = (1 << TYPES_SHIFT) - 1;

    /// Returns the `HEAD` word of a slot. `types` has 4 bits for each argument.
    #[inline(always)]
    pub const fn head(site: u32, n_args: usize, types: u64) -> u64 {
        ((site as u64) << SITE_SHIFT) | (types << TYPES_SHIFT) | n_args as u64
    }

    /// Returns site, number of arguments and their types of a `HEAD` word.
    pub(crate) const fn split_head(head: u64) -> (u32, usize, u64) {
        let types = (head >> TYPES_SHIFT) & ((1 << (SITE_SHIFT - TYPES_SHIFT)) - 1);
        ((head >> SITE_SHIFT) as u32, (head & COUNT_MASK) as usize, types)
    }
}

/// Times are ticks of the processor's counter.
pub const CLOCK_TICKS: u64 = 1;
/// Times are nanoseconds of the system's monotonic clock.
pub const CLOCK_MONOTONIC: u64 = 2;

pub use ferrum_trace_model::vocab::about::{DumpRefusal, StopReason};

/// Returns the reason that a `STOP_REASON` word stands for.
pub fn stop_reason(word: u64) -> Option<StopReason> {
    StopReason::ALL.iter().copied().find(|&reason| stop_word(reason) == word)
}

/// Returns the `STOP_REASON` word of a reason.
pub fn stop_word(reason: StopReason) -> u64 {
    match reason {
        StopReason::Limit => 1,
        StopReason::NoSpace => 2,
        StopReason::Io => 3,
        StopReason::FileSize => 4,
        StopReason::Truncated => 5,
    }
}

//! Where everything is in a spool file.
//!
//! A spool is an array of chunks of [`CHUNK_BYTES`]. All numbers are little-endian words of 8 bytes.
//!
//! ```text
//! chunk 0      │ chunk header │ file header       │ definitions …
//! other chunks │ chunk header │ events …                            (or definitions …, or stacks of open spans …)
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
///
/// Version 2 added chunks of open spans; a spool of version 1 has none.
pub const VERSION: u64 = 2;
/// The oldest version that can be read.
pub const OLDEST_VERSION: u64 = 1;

/// First word of the file.
pub const FILE_MAGIC: u64 = u64::from_le_bytes(*b"FERRUMSP");
/// First word of a chunk of events.
pub const EVENTS_MAGIC: u64 = u64::from_le_bytes(*b"FTEVENTS");
/// First word of a chunk of definitions other than the first.
pub const DEFINITIONS_MAGIC: u64 = u64::from_le_bytes(*b"FTDEFINE");
/// First word of a chunk of open spans.
pub const OPEN_SPANS_MAGIC: u64 = u64::from_le_bytes(*b"FTOPENSP");

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
    /// Why recording stopped early, see [`stop_reason`](super::stop_reason).
    pub const STOP_REASON: usize = 14;
    /// Bytes the spool may take.
    pub const LIMIT: usize = 15;
    /// 1 if the spool is a ring: full chunks are used again, so that they are not in the order of time.
    pub const RING: usize = 16;
    /// How many chunks of a ring were used again: what was in them is gone, as was asked for.
    pub const OVERWRITTEN: usize = 17;
    /// If the recording goes on in several files: which one this is, counted from 1. Something that begins in one of them may end in another.
    pub const PART: usize = 18;
    /// 1 if the recording continues in the next file, which also has the spans that were open at the end of this one.
    pub const CONTINUED: usize = 19;
    /// How many dumps of a ring were refused: a word for each [`DumpRefusal`](super::DumpRefusal), in their order.
    pub const DUMPS_REFUSED: usize = 20;
    /// First word after the file header, where definitions begin.
    pub const HEADER_WORDS: usize = 64;
}

/// Stacks of open spans.
///
/// A span is written to a chunk of events when it ends. So that a trace also has the spans that never end, each thread has a
/// stack in a chunk of open spans: a header and one slot for each level of nesting. A span that begins fills the slot of its
/// level, a span that ends empties it.
///
/// ```text
/// header │ thread │ slots │ limit │ …
/// slot   │ start  │ head  │ up to 6 arguments
/// ```
///
/// Header and slots have [`LINE_WORDS`](open_spans::LINE_WORDS) words each. A slot is in use while its head is not zero. The head is
/// stored last when a span begins and first when it ends; a reader of a running process reads a slot twice and uses it if both
/// reads agree (two spans of a thread never have the same start).
pub mod open_spans {
    /// Words of a stack's header, and of each slot.
    pub const LINE_WORDS: usize = 8;
    /// Most slots of a stack: as many as fit into a chunk.
    pub const SLOTS_MAX: usize = super::CHUNK_WORDS / LINE_WORDS - 2;

    /// Word of the header: the number of the thread that the stack belongs to. Zero: nobody.
    pub const THREAD: usize = 0;
    /// Word of the header: how many slots follow.
    pub const SLOTS: usize = 1;
    /// Word of the header: how many slots the thread may use. Zero makes it ask for another stack.
    pub const LIMIT: usize = 2;

    /// Word of a slot: the begin of the span in clock ticks.
    pub const START: usize = 0;
    /// Word of a slot: the span's site, and the number and types of its arguments, see [`head`].
    pub const HEAD: usize = 1;
    /// First argument of a slot.
    pub const ARGS: usize = 2;
    /// Most arguments that a slot has room for. Further ones are left out.
    pub const ARGS_MAX: usize = LINE_WORDS - ARGS;

    const SITE_SHIFT: u32 = 40;
    const TYPES_SHIFT: u32 = 8;
    const COUNT_MASK: u64 = (1 << TYPES_SHIFT) - 1;

    /// The `HEAD` word of a slot. `types` has 4 bits for each argument.
    #[inline(always)]
    pub const fn head(site: u32, n_args: usize, types: u64) -> u64 {
        ((site as u64) << SITE_SHIFT) | (types << TYPES_SHIFT) | n_args as u64
    }

    /// Site, number of arguments and their types of a `HEAD` word.
    pub const fn split_head(head: u64) -> (u32, usize, u64) {
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
    }
}

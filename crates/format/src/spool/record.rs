//! One record of a spool.
//!
//! ```text
//! word 0 │ site : 24                 │ end : 40           ticks since the segment's base
//! word 1 │ types : 16 │ count : 3 │ kind : 5 │ duration : 40    ticks
//! then   │ leading words of the kind (an id, a track, …)
//! then   │ if count = MANY: number of arguments, their types in words of 16 nibbles
//! then   │ one word an argument
//! ```
//!
//! The end is stored, not the start: the record is written at its end, so the end cannot lie before the base.

/// Bits of the end and of the duration.
pub const TIME_BITS: u32 = 40;
/// Mask of the end and of the duration.
pub const TIME_MASK: u64 = (1 << TIME_BITS) - 1;
/// Maximum number of a site.
pub const SITE_MAX: u32 = (1 << SITE_BITS) - 1;
const SITE_BITS: u32 = 24;
/// Bytes of a record without leading words or arguments.
pub const HEADER_BYTES: usize = 16;
/// Maximum length of a text; longer texts are cut, see [`cut_text`].
pub const TEXT_BYTES_MAX: usize = 8 * 1024;
/// Maximum number of arguments of an event.
pub const ARGS_MAX: usize = 255;
/// Maximum number of arguments whose types fit into the record's header.
pub const ARGS_IN_HEADER: usize = 4;

const KIND_SHIFT: u32 = TIME_BITS;
const COUNT_SHIFT: u32 = 45;
const TYPES_SHIFT: u32 = 48;
const COUNT_MANY: u64 = 7;

/// Site of events whose name and category are their first two arguments, for names too numerous to define.
pub const SITE_INLINE: u32 = 1;

/// Name and category of all flows: viewers join the points of a flow by these and its id.
pub const FLOW: &str = "flow";
/// Bit that marks the ids of flows between processes. Other ids start with the process id, which has fewer bits.
pub const SHARED_FLOW: u64 = 1 << 62;

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RecordKind {
    /// A slice on the track of its thread.
    Span = 1,
    /// A slice that ended after a slice around it, so it cannot be on the thread's own track.
    Escaped = 2,
    /// The first slice of a `laps!`, which begins at the same tick as the slice around it.
    FirstLap = 3,
    /// An instant on the track of its thread.
    Instant = 4,
    /// Values of counters.
    Counter = 5,
    /// The begin of an async event. Leading word: its id.
    AsyncBegin = 6,
    /// An instant of an async event. Leading word: its id.
    AsyncInstant = 7,
    /// The end of an async event. Leading word: its id.
    AsyncEnd = 8,
    /// The begin of a flow. Leading word: its id.
    FlowStart = 9,
    /// A step of a flow. Leading word: its id.
    FlowStep = 10,
    /// The end of a flow. Leading word: its id.
    FlowEnd = 11,
    /// A slice with explicit times on a named track. Leading words: track, start in nanoseconds of the monotonic clock,
    /// duration in nanoseconds.
    TrackSpan = 12,
    /// A slice pushed through the original engine's interface. Leading words: its `tid`, its duration in nanoseconds.
    /// Its argument, if any, is the text of a JSON object.
    Pushed = 13,
    /// Starts a segment: the records that follow belong to another thread or have another base. Site and end: the
    /// thread, see [`thread_word`]. Leading word: the base in ticks.
    Segment = 14,
    /// A text that a later event of this thread refers to. Leading words: a stamp, the length; then the bytes, padded.
    Text = 15,
    /// The upper bits of the duration of the next record. Leading word: these bits.
    LongDuration = 16,
    /// A [`RecordKind::Pushed`] in two words: its duration is in nanoseconds, and its `tid` takes the place of the
    /// argument types.
    PushedShort = 17,
    /// A slice on a named track that a device measured, at which a flow may end. Leading words: those of
    /// [`RecordKind::TrackSpan`], the flow's id (0: none), the maximum error of its times in nanoseconds.
    Measured = 18,
    /// The definition of a thread or a name in a chunk of events of a ring, so that it is overwritten together with the
    /// events. Leading words: zero, the length; then the bytes of the definition.
    Definition = 19,
}

impl RecordKind {
    fn from_bits(bits: u64) -> Option<Self> {
        use RecordKind::*;
        const ALL: [RecordKind; 19] = [
            Span,
            Escaped,
            FirstLap,
            Instant,
            Counter,
            AsyncBegin,
            AsyncInstant,
            AsyncEnd,
            FlowStart,
            FlowStep,
            FlowEnd,
            TrackSpan,
            Pushed,
            Segment,
            Text,
            LongDuration,
            PushedShort,
            Measured,
            Definition,
        ];
        ALL.get((bits as usize).wrapping_sub(1)).copied()
    }

    /// Returns the number of words between the header and the arguments.
    pub const fn n_leading(self) -> usize {
        use RecordKind::*;
        match self {
            Span | Escaped | FirstLap | Instant | Counter | PushedShort => 0,
            AsyncBegin | AsyncInstant | AsyncEnd | FlowStart | FlowStep | FlowEnd | Segment | LongDuration => 1,
            Pushed | Text | Definition => 2,
            TrackSpan => 3,
            Measured => 5,
        }
    }
}

/// The type of an argument. Fits in 4 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Type {
    /// The value is missing: there was no room for it.
    Lost = 0,
    /// `i64`.
    Signed = 1,
    /// `u64`.
    Unsigned = 2,
    /// `f64`, by its bits.
    Float = 3,
    /// 0 or 1.
    Bool = 4,
    /// Up to 7 bytes of text, with the length in the highest byte.
    ShortText = 5,
    /// A text that was written before: the file offset of its record.
    TextAt = 6,
}

impl Type {
    /// Returns the type for 4 bits.
    pub fn from_bits(bits: u64) -> Option<Self> {
        use Type::*;
        const ALL: [Type; 7] = [Lost, Signed, Unsigned, Float, Bool, ShortText, TextAt];
        ALL.get(bits as usize).copied()
    }
}

/// Returns the first word of a record.
#[inline(always)]
pub const fn first_word(site: u32, end: u64) -> u64 {
    ((site as u64) << TIME_BITS) | end
}

/// Returns the first word of a [`RecordKind::Segment`]: the lower 24 bits of its number in place of the site, the
/// others in place of the end.
pub const fn thread_word(thread: u32) -> u64 {
    first_word(thread & SITE_MAX, (thread >> SITE_BITS) as u64)
}

/// Returns the second word of a record with up to [`ARGS_IN_HEADER`] arguments.
#[inline(always)]
pub const fn second_word(kind: RecordKind, duration: u64, n_args: usize, types: u64) -> u64 {
    duration | ((kind as u64) << KIND_SHIFT) | ((n_args as u64) << COUNT_SHIFT) | (types << TYPES_SHIFT)
}

/// Returns the second word of a record that is followed by the number and types of its arguments.
#[inline(always)]
pub const fn second_word_many(kind: RecordKind, duration: u64) -> u64 {
    duration | ((kind as u64) << KIND_SHIFT) | (COUNT_MANY << COUNT_SHIFT)
}

/// Returns the second word of a [`RecordKind::PushedShort`], if both numbers fit.
#[inline(always)]
pub fn second_word_pushed(nanos: u64, tid: u32) -> Option<u64> {
    let fits = nanos <= TIME_MASK && tid <= u32::from(u16::MAX);
    fits.then(|| second_word(RecordKind::PushedShort, nanos, 0, u64::from(tid)))
}

/// Returns the number of words for the types of `n_args` arguments that do not fit into the header.
pub const fn n_type_words(n_args: usize) -> usize {
    n_args.div_ceil(16)
}

/// Returns the word for up to 7 bytes of text.
#[inline]
pub fn short_text(text: &str) -> Option<u64> {
    if text.len() > 7 {
        return None;
    }
    let mut bytes = [0; 8];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    bytes[7] = text.len() as u8;
    Some(u64::from_le_bytes(bytes))
}

/// Returns the text in the word of a [`Type::ShortText`].
pub fn short_text_bytes(bytes: &[u8; 8]) -> &[u8] {
    &bytes[..usize::from(bytes[7]).min(7)]
}

/// Cuts a text to the maximum length. Returns the text, or its first whole characters and a suffix to append.
pub fn cut_text(text: &str) -> (&str, Option<String>) {
    if text.len() <= TEXT_BYTES_MAX {
        return (text, None);
    }
    let note = format!("… [cut: {} bytes]", text.len());
    let mut end = TEXT_BYTES_MAX - note.len();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    (&text[..end], Some(note))
}

/// A record in the bytes of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    /// Kind.
    pub kind: RecordKind,
    /// The call site, or a value that depends on the [`RecordKind`].
    pub site: u32,
    /// End in ticks since the base.
    pub end: u64,
    /// Duration in ticks, without the upper bits of a [`RecordKind::LongDuration`].
    pub duration: u64,
    types: Types<'a>,
    leading: &'a [u8],
    args: &'a [u8],
    /// Size in bytes.
    pub size: usize,
}

#[derive(Clone, Copy, Debug)]
enum Types<'a> {
    InHeader(u64),
    Apart(&'a [u8]),
}

/// The reason why a record could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadRecord(pub &'static str);

impl<'a> Record<'a> {
    /// Reads the record at the start of `bytes`, which end with the complete bytes of the chunk.
    #[inline]
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, BadRecord> {
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err(BadRecord("fewer than 16 bytes are left"));
        };
        let first = word_at(header, 0);
        let second = word_at(header, 1);
        let kind = RecordKind::from_bits((second >> KIND_SHIFT) & 31).ok_or(BadRecord("unknown kind"))?;
        let (leading, rest) = split(rest, kind.n_leading())?;
        let count = (second >> COUNT_SHIFT) & 7;
        let (types, n_args, rest) = if count == COUNT_MANY {
            let (n_args, rest) = split(rest, 1)?;
            let n_args = word_at(n_args, 0);
            if n_args > ARGS_MAX as u64 {
                return Err(BadRecord("more than 255 arguments"));
            }
            let (types, rest) = split(rest, n_type_words(n_args as usize))?;
            (Types::Apart(types), n_args as usize, rest)
        } else if count as usize <= ARGS_IN_HEADER {
            (Types::InHeader(second >> TYPES_SHIFT), count as usize, rest)
        } else {
            return Err(BadRecord("impossible number of arguments"));
        };
        let n_payload = match kind {
            RecordKind::Text | RecordKind::Definition => text_words(word_at(leading, 1))?,
            _ => n_args,
        };
        let (args, rest) = split(rest, n_payload)?;
        Ok(Self {
            kind,
            site: (first >> TIME_BITS) as u32,
            end: first & TIME_MASK,
            duration: second & TIME_MASK,
            types,
            leading,
            args,
            size: bytes.len() - rest.len(),
        })
    }

    /// Returns site, end and duration of the record at the start of `bytes`, if it is a span without arguments, which
    /// is by far the most frequent record.
    #[inline(always)]
    pub(crate) fn plain_span(bytes: &[u8]) -> Option<(u32, u64, u64)> {
        let header = bytes.first_chunk::<HEADER_BYTES>()?;
        let (first, second) = (word_at(header, 0), word_at(header, 1));
        let is_plain = second >> KIND_SHIFT == RecordKind::Span as u64;
        is_plain.then_some(((first >> TIME_BITS) as u32, first & TIME_MASK, second & TIME_MASK))
    }

    /// Returns the `n`th leading word.
    pub(crate) fn leading(&self, n: usize) -> u64 {
        word_at(self.leading, n)
    }

    /// Returns true if the record stands for an event, rather than for the records around it.
    pub(crate) fn is_event(&self) -> bool {
        use RecordKind::{Definition, LongDuration, Segment, Text};
        !matches!(self.kind, Segment | Text | LongDuration | Definition)
    }

    /// Returns the thread of a [`RecordKind::Segment`].
    pub(crate) fn thread(&self) -> u32 {
        self.site | (self.end << SITE_BITS) as u32
    }

    /// Returns the `tid` of a slice pushed through the original engine's interface.
    pub(crate) fn pushed_tid(&self) -> u32 {
        match (self.kind, self.types) {
            (RecordKind::PushedShort, Types::InHeader(tid)) => tid as u32,
            (RecordKind::PushedShort, Types::Apart(_)) => 0,
            _ => self.leading(0) as u32,
        }
    }

    /// Returns the duration of such a slice in nanoseconds.
    pub(crate) fn pushed_nanos(&self) -> u64 {
        if self.kind == RecordKind::PushedShort { self.duration } else { self.leading(1) }
    }

    /// Returns the record without its arguments.
    pub(crate) fn without_args(&self) -> Self {
        Self { args: &[], ..*self }
    }

    /// Returns the number of arguments.
    pub(crate) fn n_args(&self) -> usize {
        self.args.len() / 8
    }

    /// Returns type and word of the `n`th argument; the type is `None` if it is unknown to this version.
    pub(crate) fn arg(&self, n: usize) -> (Option<Type>, u64) {
        let nibbles = match self.types {
            Types::InHeader(types) => types >> (4 * n),
            Types::Apart(words) => word_at(words, n / 16) >> (4 * (n % 16)),
        };
        (Type::from_bits(nibbles & 15), word_at(self.args, n))
    }

    /// Returns the bytes of a [`RecordKind::Text`], or of a [`RecordKind::Definition`].
    pub(crate) fn text(&self) -> &'a [u8] {
        &self.args[..(self.leading(1) as usize).min(self.args.len())]
    }
}

fn text_words(n_bytes: u64) -> Result<usize, BadRecord> {
    if n_bytes > TEXT_BYTES_MAX as u64 {
        return Err(BadRecord("the text is longer than the maximum"));
    }
    Ok((n_bytes as usize).div_ceil(8))
}

#[inline]
fn word_at(bytes: &[u8], n: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[8 * n..8 * n + 8]);
    u64::from_le_bytes(word)
}

#[inline]
fn split(bytes: &[u8], n_words: usize) -> Result<(&[u8], &[u8]), BadRecord> {
    bytes.split_at_checked(8 * n_words).ok_or(BadRecord("the record does not fit into the rest of the chunk"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn a_span_is_two_words_and_is_read_back() {
        let bytes = bytes(&[first_word(7, 1000), second_word(RecordKind::Span, 30, 0, 0)]);
        let record = Record::read(&bytes).unwrap();
        assert_eq!((record.kind, record.site, record.end, record.duration), (RecordKind::Span, 7, 1000, 30));
        assert_eq!((record.n_args(), record.size), (0, 16));
    }

    #[test]
    fn a_pushed_slice_is_two_words_if_its_numbers_are_small() {
        let bytes = bytes(&[first_word(7, 1000), second_word_pushed(250_000, 47).unwrap()]);
        let record = Record::read(&bytes).unwrap();
        assert_eq!((record.kind, record.pushed_tid(), record.pushed_nanos()), (RecordKind::PushedShort, 47, 250_000));
        assert_eq!((record.n_args(), record.size), (0, 16));
        assert_eq!(second_word_pushed(TIME_MASK + 1, 0), None);
        assert_eq!(second_word_pushed(0, 1 << 16), None);
    }

    #[test]
    fn the_number_of_a_thread_has_32_bits() {
        for thread in [1, SITE_MAX, SITE_MAX + 1, u32::MAX] {
            let bytes = bytes(&[thread_word(thread), second_word(RecordKind::Segment, 0, 0, 0), 5]);
            let record = Record::read(&bytes).unwrap();
            assert_eq!((record.kind, record.thread(), record.leading(0)), (RecordKind::Segment, thread, 5));
        }
    }

    #[test]
    fn two_integers_take_two_more_words() {
        let types = Type::Unsigned as u64 | (Type::Signed as u64) << 4;
        let bytes = bytes(&[first_word(7, 1), second_word(RecordKind::Span, 1, 2, types), 5, -6i64 as u64]);
        let record = Record::read(&bytes).unwrap();
        assert_eq!(record.size, 32);
        assert_eq!(record.arg(0), (Some(Type::Unsigned), 5));
        assert_eq!(record.arg(1), (Some(Type::Signed), -6i64 as u64));
    }

    #[test]
    fn a_truncated_record_is_refused_at_any_length() {
        let bytes = bytes(&[first_word(7, 1), second_word(RecordKind::AsyncBegin, 0, 1, 2), 9, 5]);
        assert!(Record::read(&bytes).is_ok());
        for len in 0..bytes.len() {
            assert!(Record::read(&bytes[..len]).is_err());
        }
    }

    #[test]
    fn short_text_holds_up_to_seven_bytes() {
        for text in ["", "a", "decode", "prefill", "über"] {
            let word = short_text(text).unwrap().to_le_bytes();
            assert_eq!(short_text_bytes(&word), text.as_bytes());
        }
        assert_eq!(short_text("attention"), None);
    }

    #[test]
    fn long_text_is_cut_between_characters_and_states_its_length() {
        let text = "é".repeat(TEXT_BYTES_MAX);
        let (kept, note) = cut_text(&text);
        let note = note.unwrap();
        assert!(text.starts_with(kept));
        assert!(kept.len() + note.len() <= TEXT_BYTES_MAX);
        assert_eq!(note, "… [cut: 16384 bytes]");
    }
}

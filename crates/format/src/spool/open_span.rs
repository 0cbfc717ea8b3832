//! Reads open spans from their stacks.

use super::layout::{chunk, open_spans as stack};
use super::record::{
    ARGS_IN_HEADER, HEADER_BYTES, Record, RecordKind, first_word, n_type_words, second_word, second_word_many,
};
use std::ops::Range;

const LINE_BYTES: usize = 8 * stack::LINE_WORDS;
const FIRST_STACK: usize = 8 * chunk::HEADER_WORDS;

/// An open span.
#[derive(Clone, Debug)]
pub(crate) struct OpenSpan {
    /// The thread's number in the spool.
    pub thread: u32,
    /// The system's id of the thread, and its name, as its stack has them.
    pub os_id: u64,
    pub name: String,
    /// Begin in ticks.
    pub start: u64,
    record: Vec<u8>,
}

impl OpenSpan {
    /// Returns the span as a record whose end and duration are zero.
    pub(crate) fn record(&self) -> Option<Record<'_>> {
        Record::read(&self.record).ok()
    }

    fn new(thread: u32, header: &[u8], slot: &[u8]) -> Option<Self> {
        let (site, n_args, types) = stack::split_head(word(slot, stack::HEAD));
        if site == 0 || n_args > stack::ARGS_MAX {
            return None;
        }
        let mut record = Vec::with_capacity(HEADER_BYTES + LINE_BYTES);
        let mut put = |word: u64| record.extend_from_slice(&word.to_le_bytes());
        put(first_word(site, 0));
        if n_args <= ARGS_IN_HEADER {
            put(second_word(RecordKind::Span, 0, n_args, types));
        } else {
            put(second_word_many(RecordKind::Span, 0));
            put(n_args as u64);
            const { assert!(n_type_words(stack::ARGS_MAX) == 1) };
            put(types);
        }
        (0..n_args).for_each(|n| put(word(slot, stack::ARGS + n)));
        let name =
            header.get(8 * stack::NAME..).unwrap_or_default().split(|&byte| byte == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name).into_owned();
        Some(Self { thread, os_id: word(header, stack::OS_ID), name, start: word(slot, stack::START), record })
    }
}

fn word(line: &[u8], n: usize) -> u64 {
    line.get(8 * n..8 * n + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// Returns the offset in a chunk from which its stacks cannot be read, if it is damaged.
pub(crate) fn unreadable_from(bytes: &[u8]) -> Option<usize> {
    let end = stacks(bytes).last().map_or(FIRST_STACK, |stack| stack.slots.end);
    (word(bytes, chunk::LEN) != end as u64).then_some(end)
}

/// Returns the spans in the stacks of a chunk, each stack outermost first.
pub(crate) fn spans_of_chunk(bytes: &[u8]) -> Vec<OpenSpan> {
    let mut spans = Vec::new();
    for stack in stacks(bytes) {
        let header = &bytes[stack.header];
        let thread = word(header, stack::THREAD);
        let Some(thread) = u32::try_from(thread).ok().filter(|&thread| thread != 0) else {
            continue;
        };
        let mut last_start = 0;
        let slots = bytes[stack.slots].chunks_exact(LINE_BYTES);
        for span in slots.filter_map(|slot| OpenSpan::new(thread, header, slot)) {
            // The slots of a running thread are not read at the same moment, so an outer span may be younger than an
            // inner one.
            if span.start > last_start {
                last_start = span.start;
                spans.push(span);
            }
        }
    }
    spans
}

/// Empties the slots of a chunk of open spans that differ in `later`, a second copy of it: their thread was changing
/// them.
pub fn empty_unstable_slots(bytes: &mut [u8], later: &[u8]) {
    for stack in stacks(bytes) {
        let lines = stack.slots.step_by(LINE_BYTES).map(|at| at..at + LINE_BYTES);
        if bytes.get(stack.header.clone()) != later.get(stack.header.clone()) {
            // The thread ended, or another one took over the stack.
            lines.for_each(|line| empty_slot(&mut bytes[line]));
            continue;
        }
        for line in lines {
            if bytes.get(line.clone()) != later.get(line.clone()) {
                empty_slot(&mut bytes[line]);
            }
        }
    }
}

fn empty_slot(slot: &mut [u8]) {
    slot[8 * stack::HEAD..][..8].fill(0);
}

/// Position of a stack in its chunk.
struct Stack {
    header: Range<usize>,
    slots: Range<usize>,
}

/// Finds the stacks of a chunk. The list ends at damage.
fn stacks(bytes: &[u8]) -> Vec<Stack> {
    let end = usize::try_from(word(bytes, chunk::LEN)).unwrap_or(usize::MAX).min(bytes.len());
    let mut stacks = Vec::new();
    let mut at = FIRST_STACK;
    while at + LINE_BYTES <= end {
        let header = at..at + LINE_BYTES;
        let n_slots = word(&bytes[header.clone()], stack::SLOTS);
        let Some(n_bytes) = usize::try_from(n_slots).ok().and_then(|n| n.checked_mul(LINE_BYTES)) else {
            break;
        };
        at = header.end.saturating_add(n_bytes);
        if n_slots == 0 || at > end {
            break;
        }
        stacks.push(Stack { slots: header.end..at, header });
    }
    stacks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One stack of a test chunk: thread, number of slots, and `(level, start, site)` of its open spans.
    type Spans<'a> = (u64, usize, &'a [(usize, u64, u32)]);

    fn chunk_of(stacks: &[Spans<'_>]) -> Vec<u8> {
        let mut words = vec![0; chunk::HEADER_WORDS];
        for &(thread, n_slots, spans) in stacks {
            let at = words.len();
            words.resize(at + stack::LINE_WORDS * (1 + n_slots), 0);
            words[at + stack::THREAD] = thread;
            words[at + stack::SLOTS] = n_slots as u64;
            for &(level, start, site) in spans {
                let slot = at + stack::LINE_WORDS * (1 + level);
                words[slot + stack::START] = start;
                words[slot + stack::HEAD] = stack::head(site, 1, 2);
                words[slot + stack::ARGS] = 100 + start;
            }
        }
        words[chunk::LEN] = 8 * words.len() as u64;
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    fn starts(bytes: &[u8]) -> Vec<(u32, u64)> {
        spans_of_chunk(bytes).iter().map(|span| (span.thread, span.start)).collect()
    }

    #[test]
    fn the_spans_of_each_stack_are_read_outermost_first() {
        let bytes = chunk_of(&[(3, 4, &[(0, 10, 2), (2, 30, 4)]), (0, 2, &[(0, 5, 2)]), (7, 2, &[(1, 20, 6)])]);
        assert_eq!(starts(&bytes), [(3, 10), (3, 30), (7, 20)]);
        let spans = spans_of_chunk(&bytes);
        let record = spans[1].record().unwrap();
        assert_eq!((record.kind, record.site, record.n_args(), record.arg(0).1), (RecordKind::Span, 4, 1, 130));
    }

    #[test]
    fn a_span_that_began_before_the_one_around_it_is_omitted() {
        assert_eq!(starts(&chunk_of(&[(1, 3, &[(0, 10, 2), (1, 9, 2), (2, 12, 2)])])), [(1, 10), (1, 12)]);
    }

    #[test]
    fn slots_that_change_between_two_reads_are_empty() {
        let mut bytes = chunk_of(&[(1, 2, &[(0, 10, 2), (1, 20, 2)]), (2, 1, &[(0, 10, 2)])]);
        let later = chunk_of(&[(1, 2, &[(0, 10, 2), (1, 21, 2)]), (4, 1, &[(0, 10, 2)])]);
        empty_unstable_slots(&mut bytes, &later);
        assert_eq!(starts(&bytes), [(1, 10)]);
    }

    #[test]
    fn a_slot_with_six_arguments_becomes_a_record_with_six() {
        let mut slot = [0; LINE_BYTES];
        let words = [9, stack::head(2, 6, 0x0222_2222), 1, 2, 3, 4, 5, 6_u64];
        slot.copy_from_slice(words.map(u64::to_le_bytes).as_flattened());
        let span = OpenSpan::new(1, &[], &slot).unwrap();
        let record = span.record().unwrap();
        assert_eq!((0..record.n_args()).map(|n| record.arg(n).1).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn a_stack_has_the_name_of_its_thread() {
        let mut bytes = chunk_of(&[(3, 4, &[(0, 10, 2)])]);
        bytes[FIRST_STACK + 8 * stack::OS_ID] = 47;
        bytes[FIRST_STACK + 8 * stack::NAME..][..6].copy_from_slice(b"worker");
        let spans = spans_of_chunk(&bytes);
        assert_eq!((spans[0].os_id, spans[0].name.as_str()), (47, "worker"));
        // A name of all bytes has no end.
        bytes[FIRST_STACK + 8 * stack::NAME..][..stack::NAME_BYTES].fill(b'n');
        assert_eq!(spans_of_chunk(&bytes)[0].name, "n".repeat(stack::NAME_BYTES));
    }

    #[test]
    fn a_zeroed_header_is_found() {
        let mut bytes = chunk_of(&[(3, 4, &[(0, 10, 2)]), (0, 2, &[])]);
        assert_eq!(unreadable_from(&bytes), None);
        let second = FIRST_STACK + 5 * LINE_BYTES;
        bytes[second..second + LINE_BYTES].fill(0);
        assert_eq!(unreadable_from(&bytes), Some(second));
        bytes[FIRST_STACK..].fill(0);
        assert_eq!(unreadable_from(&bytes), Some(FIRST_STACK));
    }

    #[test]
    fn damaged_stacks_have_no_spans() {
        let whole = chunk_of(&[(1, 2, &[(0, 10, 2)]), (2, 2, &[(0, 10, 2)])]);
        for at in (0..whole.len()).step_by(8) {
            let mut bytes = whole.clone();
            bytes[at..at + 8].fill(0xff);
            assert!(spans_of_chunk(&bytes).len() <= 2);
            spans_of_chunk(&bytes[..at]).iter().for_each(|span| assert!(span.record().is_some()));
        }
    }
}

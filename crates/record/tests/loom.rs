//! Loom models of all interleavings: the publication protocol (`src/memory/chunk.rs` itself, on loom's atomics), the
//! protocol of open spans (`src/memory/open_slot.rs`), and the value derived from state that several threads change
//! (`src/util/derived.rs`).
//!
//! In production, the reader reads the file, in this or another process; here it loads the same words in the same
//! order.
#![cfg(under_loom)]

#[path = "../src/memory"]
mod memory {
    #[allow(dead_code)]
    pub mod chunk;
    #[allow(dead_code)]
    pub mod open_slot;
}

#[path = "../src/util/derived.rs"]
mod derived;

use ferrum_trace_format::spool::layout::{EVENTS_MAGIC, chunk as words, open_spans, state};
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;
use memory::chunk::{self, ChunkMemory};
use memory::open_slot;

const HEADER_BYTES: u64 = 8 * words::HEADER_WORDS as u64;
const RECORD_BYTES: u64 = 16;
const N_WORDS: usize = words::HEADER_WORDS + 4;

/// A chunk with room for two records.
struct Memory([AtomicU64; N_WORDS]);

impl Memory {
    fn zeros() -> Arc<Self> {
        Arc::new(Self(std::array::from_fn(|_| AtomicU64::new(0))))
    }

    fn active() -> Arc<Self> {
        let memory = Self::zeros();
        chunk::activate(&*memory, EVENTS_MAGIC, 7, words::HEADER_WORDS);
        memory
    }
}

impl ChunkMemory for Memory {
    fn load(&self, word: usize, order: Ordering) -> u64 {
        self.0[word].load(order)
    }

    fn store(&self, word: usize, value: u64, order: Ordering) {
        self.0[word].store(value, order);
    }

    fn fence_release(&self) {
        loom::sync::atomic::fence(Ordering::Release);
    }
}

fn write_record(memory: &Memory) {
    let at = chunk::len(memory);
    chunk::put(memory, at, 0, 1);
    chunk::put(memory, at, 1, 1);
    chunk::publish(memory, at + RECORD_BYTES);
}

/// Reads as `Progress::new_pieces` does, and checks that all words it may use are visible. Returns state and length.
fn read(memory: &Memory) -> (u64, u64) {
    let state = memory.load(words::STATE, Ordering::Acquire);
    let len = memory.load(words::LEN, Ordering::Acquire);
    for word in words::HEADER_WORDS..(len / 8) as usize {
        assert_eq!(memory.load(word, Ordering::Relaxed), 1, "a word below the length is not visible");
    }
    (state, len)
}

#[test]
fn all_words_below_the_length_are_visible() {
    loom::model(|| {
        let memory = Memory::active();
        let writer = thread::spawn({
            let memory = Arc::clone(&memory);
            move || {
                write_record(&memory);
                write_record(&memory);
            }
        });
        let (_, first) = read(&memory);
        let (_, second) = read(&memory);
        assert!(first <= second, "the chunk shrank");
        writer.join().unwrap();
        assert_eq!(read(&memory).1, HEADER_BYTES + 2 * RECORD_BYTES);
    });
}

#[test]
fn a_visible_chunk_has_its_header() {
    loom::model(|| {
        let memory = Memory::zeros();
        let writer = thread::spawn({
            let memory = Arc::clone(&memory);
            move || {
                chunk::activate(&*memory, EVENTS_MAGIC, 7, words::HEADER_WORDS);
                write_record(&memory);
            }
        });
        if memory.load(words::MAGIC, Ordering::Acquire) == EVENTS_MAGIC {
            assert!(read(&memory).1 >= HEADER_BYTES);
        }
        writer.join().unwrap();
    });
}

#[test]
fn a_closed_chunk_has_its_final_length() {
    loom::model(|| {
        let memory = Memory::active();
        let writer = thread::spawn({
            let memory = Arc::clone(&memory);
            move || {
                write_record(&memory);
                chunk::close(&*memory);
            }
        });
        let (state, len) = read(&memory);
        if state == state::CLOSED {
            assert_eq!(len, HEADER_BYTES + RECORD_BYTES, "a reader that leaves the closed chunk would lose a record");
        }
        writer.join().unwrap();
    });
}

#[test]
fn the_next_owner_of_a_chunk_continues_where_the_last_one_stopped() {
    loom::model(|| {
        let memory = Memory::active();
        let left_over = Arc::new(Mutex::new(None));
        let first = thread::spawn({
            let (memory, left_over) = (Arc::clone(&memory), Arc::clone(&left_over));
            move || {
                write_record(&memory);
                *left_over.lock().unwrap() = Some(memory);
            }
        });
        let second = thread::spawn({
            let left_over = Arc::clone(&left_over);
            move || {
                let memory = left_over.lock().unwrap().take();
                if let Some(memory) = &memory {
                    write_record(memory);
                }
                memory.is_some()
            }
        });
        let (_, seen) = read(&memory);
        first.join().unwrap();
        let has_continued = second.join().unwrap();
        let (_, len) = read(&memory);
        assert!(seen <= len);
        assert_eq!(len, HEADER_BYTES + RECORD_BYTES * (1 + u64::from(has_continued)));
    });
}

#[test]
fn the_site_of_a_visible_event_is_defined() {
    loom::model(|| {
        let definitions = Memory::active();
        let events = Memory::active();
        let site = Arc::new(AtomicU32::new(0));
        let registering = thread::spawn({
            let (definitions, site) = (Arc::clone(&definitions), Arc::clone(&site));
            move || {
                write_record(&definitions);
                site.store(2, Ordering::Release);
            }
        });
        let recording = thread::spawn({
            let (events, site) = (Arc::clone(&events), Arc::clone(&site));
            move || {
                if site.load(Ordering::Acquire) != 0 {
                    write_record(&events);
                }
            }
        });
        // Events first, then definitions, as `Progress::advance` does.
        let (_, n_events) = read(&events);
        let (_, n_definitions) = read(&definitions);
        assert!(n_events == HEADER_BYTES || n_definitions > HEADER_BYTES, "an event without a definition");
        registering.join().unwrap();
        recording.join().unwrap();
    });
}

/// Models memory that `Segment::revoke` has replaced by zeros while a thread still holds the chunk.
#[test]
fn the_writer_of_a_revoked_chunk_stops_writing() {
    loom::model(|| {
        let memory = Memory::active();
        let writer = thread::spawn({
            let memory = Arc::clone(&memory);
            move || {
                for _ in 0..2 {
                    let at = chunk::len(&*memory);
                    if at + RECORD_BYTES <= chunk::limit(&*memory) {
                        // The check may be outdated: the record is lost then, but nothing is written outside the chunk.
                        assert!(at + RECORD_BYTES <= 8 * N_WORDS as u64);
                        write_record(&memory);
                    }
                }
            }
        });
        memory.store(words::LIMIT, 0, Ordering::Relaxed);
        writer.join().unwrap();
        assert_eq!(chunk::limit(&*memory), 0, "the writer would never stop");
    });
}

/// Reads as `snapshot::read_chunk` does. Returns `None` if the chunk was overwritten meanwhile.
fn copy(memory: &Memory) -> Option<Vec<u64>> {
    let before = memory.load(words::GENERATION, Ordering::Acquire);
    let len = memory.load(words::LEN, Ordering::Acquire);
    let copied: Vec<u64> =
        (words::HEADER_WORDS..(len / 8) as usize).map(|word| memory.load(word, Ordering::Relaxed)).collect();
    loom::sync::atomic::fence(Ordering::Acquire);
    let after = memory.load(words::GENERATION, Ordering::Relaxed);
    (before % 2 == 0 && before == after).then_some(copied)
}

#[test]
fn a_copied_chunk_is_of_one_generation() {
    loom::model(|| {
        let memory = Memory::active();
        write_record(&memory);
        chunk::close(&*memory);
        let writer = thread::spawn({
            let memory = Arc::clone(&memory);
            move || {
                chunk::recycle(&*memory);
                let at = chunk::len(&*memory);
                chunk::put(&*memory, at, 0, 2);
                chunk::put(&*memory, at, 1, 2);
                chunk::publish(&*memory, at + RECORD_BYTES);
            }
        });
        if let Some(copied) = copy(&memory) {
            assert!([&[][..], &[1, 1], &[2, 2]].contains(&copied.as_slice()), "{copied:?}");
        }
        writer.join().unwrap();
        assert_eq!(copy(&memory), Some(vec![2, 2]));
    });
}

/// Each thread changes its own bit; the mode is on if none is set.
#[test]
fn the_switch_is_derived_from_the_last_change() {
    loom::model(|| {
        let words = Arc::new((AtomicU32::new(0b01), AtomicU32::new(0)));
        let change = |words: &(AtomicU32, AtomicU32), to: fn(u32) -> u32| {
            let (state, mode) = words;
            let _ = state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |state| Some(to(state)));
            let look = || state.load(Ordering::Relaxed);
            let store = |&state: &u32| mode.store(u32::from(state == 0), Ordering::Relaxed);
            derived::follow(look, store, || loom::sync::atomic::fence(Ordering::SeqCst));
        };
        let other = {
            let words = Arc::clone(&words);
            thread::spawn(move || change(&words, |state| state & !0b01))
        };
        change(&words, |state| state | 0b10);
        change(&words, |state| state & !0b10);
        other.join().unwrap();
        assert_eq!(words.0.load(Ordering::Relaxed), 0);
        assert_eq!(words.1.load(Ordering::Relaxed), 1);
    });
}

/// A stack of open spans with one level.
struct Stack([AtomicU64; 2 * open_spans::LINE_WORDS]);

impl ChunkMemory for Stack {
    fn load(&self, word: usize, order: Ordering) -> u64 {
        self.0[word].load(order)
    }

    fn store(&self, word: usize, value: u64, order: Ordering) {
        self.0[word].store(value, order);
    }

    fn fence_release(&self) {
        loom::sync::atomic::fence(Ordering::Release);
    }
}

impl Stack {
    /// Returns start, head and argument of the only slot.
    fn read(&self) -> [u64; 3] {
        let word = |word: usize, order| self.load(open_spans::LINE_WORDS + word, order);
        let head = word(open_spans::HEAD, Ordering::Acquire);
        let read = [word(open_spans::START, Ordering::Relaxed), head, word(open_spans::ARGS, Ordering::Relaxed)];
        loom::sync::atomic::fence(Ordering::Acquire);
        read
    }
}

#[test]
fn an_open_span_with_two_equal_reads_is_consistent() {
    loom::model(|| {
        let stack = Arc::new(Stack(std::array::from_fn(|_| AtomicU64::new(0))));
        let writer = thread::spawn({
            let stack = Arc::clone(&stack);
            move || {
                for start in 1..=2 {
                    open_slot::fill(&*stack, 0, 4, start, [(2, 10 + start)].into_iter());
                    open_slot::empty(&*stack, 0);
                }
            }
        });
        let (first, second) = (stack.read(), stack.read());
        let [start, head, arg] = first;
        if first == second && head != 0 {
            assert_eq!((head, arg), (open_spans::head(4, 1, 2), 10 + start), "the slot mixes two spans");
        }
        writer.join().unwrap();
        assert_eq!(stack.read()[1], 0);
    });
}

#[test]
fn a_span_with_an_emptied_slot_has_its_record() {
    loom::model(|| {
        let stack = Arc::new(Stack(std::array::from_fn(|_| AtomicU64::new(0))));
        let events = Memory::active();
        open_slot::fill(&*stack, 0, 4, 1, [].into_iter());
        let writer = thread::spawn({
            let (stack, events) = (Arc::clone(&stack), Arc::clone(&events));
            move || {
                write_record(&events);
                open_slot::empty(&*stack, 0);
            }
        });
        if stack.read()[1] == 0 {
            assert_eq!(read(&events).1, HEADER_BYTES + RECORD_BYTES, "the span is neither open nor recorded");
        }
        writer.join().unwrap();
    });
}

//! Files that other processes can open: victims that record, and hostile processes that write to their files.

use crate::Scene;
use crate::report;
use crate::sys;
use crate::work::{record, wait_for_test};
use ferrum_trace::{Span, counter, instant, span};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::thread;

pub(crate) const SCENES: &[Scene] = &[
    ("record-beside-others", record_beside_others),
    ("write-to-its-spool", write_to_its_spool),
    ("create-a-spool-for-others", create_a_spool_for_others),
    ("flush-and-dump", flush_and_dump),
    ("flush-and-wait", flush_and_wait),
    ("record-and-wait", record_and_wait),
    ("report-rights", report_rights),
    ("remove-its-folder", remove_its_folder),
];

/// Size of a chunk, and words of its header.
const CHUNK_BYTES: u64 = 32 * 1024;
const LEN: u64 = 1;
const LIMIT: u64 = 2;
/// Spans of each thread of the victim.
const N_SPANS: u64 = 60_000;

/// Memory of the program, between the recorder's mappings.
struct Canaries(Vec<Vec<u64>>);

impl Canaries {
    /// Large blocks are mappings of their own.
    const N_WORDS: usize = 1 << 17;

    fn add(&mut self) {
        self.0.push(vec![0xca_4a_12_1e; Self::N_WORDS]);
    }

    fn are_intact(&self) -> bool {
        self.0.iter().flatten().all(|&word| word == 0xca_4a_12_1e)
    }
}

/// Records everything that reads words of the spool back, while the test lets another process write to the file.
fn record_beside_others() {
    let mut canaries = Canaries(Vec::new());
    (0..4).for_each(|_| canaries.add());
    record(1, 10);
    report!("ready");
    wait_for_test();
    let threads: Vec<_> = (0..3).map(|n| thread::spawn(move || record_in_every_way(n))).collect();
    while threads.iter().any(|thread| !thread.is_finished()) {
        if canaries.0.len() < 64 {
            canaries.add();
        }
        // Short threads continue in chunks of ended ones.
        thread::spawn(|| record(1, 20)).join().unwrap();
        let _ = ferrum_trace::flush();
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    report!("intact {}", canaries.are_intact());
}

fn record_in_every_way(thread: u64) {
    for n in 0..N_SPANS {
        let _span = span!("work", n);
        let _inner = span!("with arguments", n, thread, text = "a text of more than seven bytes");
        if n % 64 == 0 {
            instant!("instant", n);
            counter!("counter", n);
            nest(1 + n % 40);
            drop(Span::dynamic(&format!("name {}", n % 2000), "dynamic"));
        }
    }
}

/// Nests beyond the levels of a small stack of open spans.
fn nest(n_levels: u64) {
    let _span = span!("level", n_levels);
    if n_levels > 0 {
        nest(n_levels - 1);
    }
}

/// Changes the spool of a process that records, as any process of the same user can.
fn write_to_its_spool() {
    let spool = OpenOptions::new().read(true).write(true).open("trace.json.spool").unwrap();
    spoil(&spool);
}

/// Creates the spool that another process will want to use, and keeps it open.
fn create_a_spool_for_others() {
    let mut options = OpenOptions::new();
    let spool = options.read(true).write(true).create_new(true).mode(0o666).open("trace.json.spool").unwrap();
    sys::allow_everyone(&spool);
    spool.write_all_at(&vec![0; 1 << 20], 0).unwrap();
    spoil(&spool);
}

/// Writes lengths and limits of all kinds into every chunk, until the test ends this process.
fn spoil(spool: &File) {
    const LENGTHS: [u64; 8] =
        [u64::MAX, 40 * CHUNK_BYTES, CHUNK_BYTES, 1 << 40, 0, 7, 3 * CHUNK_BYTES + 8, u64::MAX - 4095];
    const LIMITS: [u64; 6] = [u64::MAX, 1 << 50, 64 * CHUNK_BYTES, 1 << 62, 2 * CHUNK_BYTES, u64::MAX - 7];
    let mut round = 0;
    loop {
        let n_chunks = spool.metadata().unwrap().len() / CHUNK_BYTES;
        for chunk in 0..n_chunks {
            let put = |word: u64, value: u64| {
                // Not beyond the end, which may have moved: that would enlarge the file.
                if spool.metadata().unwrap().len() >= (chunk + 1) * CHUNK_BYTES {
                    let _ = spool.write_all_at(&value.to_le_bytes(), chunk * CHUNK_BYTES + 8 * word);
                }
            };
            put(LIMIT, LIMITS[round % LIMITS.len()]);
            put(LEN, LENGTHS[round % LENGTHS.len()]);
            let mut magic = [0; 8];
            let _ = spool.read_at(&mut magic, chunk * CHUNK_BYTES);
            if &magic == b"FTOPENSP" {
                // The limit of a stack, if one begins at this line.
                (1..CHUNK_BYTES / 64).for_each(|line| put(8 * line + 2, LIMITS[round % LIMITS.len()]));
            } else if round % 8 == 7 {
                // The chunk's place in the file, base of times, state and generation.
                (3..7).for_each(|word| put(word, LENGTHS[round % LENGTHS.len()]));
            }
        }
        round += 1;
        if round == 4 {
            report!("writing");
        }
    }
}

fn flush_and_dump() {
    record(1, 100);
    report!("flushed {}", ferrum_trace::flush().is_ok());
    ferrum_trace::dump("test");
    record(101, 200);
}

fn flush_and_wait() {
    record(1, 100);
    ferrum_trace::flush().unwrap();
    record(101, 200);
    ferrum_trace::flush().unwrap();
    report!("ready");
    wait_for_test();
}

fn record_and_wait() {
    record(1, 20_000);
    report!("ready");
    wait_for_test();
}

/// Reports the user and group whose rights it has, records, and reads every variable of the recorder.
fn report_rights() {
    let (user, group) = sys::effective_ids();
    report!("user {user}");
    report!("group {group}");
    record(1, 10);
    report!("on {}", ferrum_trace::is_on());
    report!("writer {}", ferrum_trace::TraceWriter::from_env().is_enabled());
}

fn remove_its_folder() {
    record(1, 100);
    std::fs::remove_dir_all(std::env::current_dir().unwrap()).unwrap();
}

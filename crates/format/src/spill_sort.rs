//! Sorts more data than fits in memory: sorted runs are written to unnamed temporary files and merged while reading.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, Write};

/// Sort key, compared from the first number on. Records with equal keys keep their order.
pub type Key = [u64; 4];

/// Default memory budget.
pub const BUDGET_BYTES: usize = 96 << 20;

/// Maximum number of runs that are merged at once. When it is reached, the runs are merged to one, so that neither
/// descriptors nor buffers grow with the input.
const RUNS_MAX: usize = 64;
/// Buffer size of each run.
const BUFFER_BYTES: usize = 128 << 10;

/// Sorts records of any length.
#[derive(Debug)]
pub struct SpillSort {
    budget: usize,
    batch: Batch,
    runs: Vec<File>,
    n_records: u64,
}

/// Records in memory.
#[derive(Debug, Default)]
struct Batch {
    entries: Vec<Entry>,
    bytes: Vec<u8>,
    /// Index of the next record to read.
    at: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: Key,
    start: usize,
    len: u32,
}

impl SpillSort {
    /// Creates a sorter that uses about `budget` bytes of memory.
    pub fn new(budget: usize) -> Self {
        Self { budget, batch: Batch::default(), runs: Vec::new(), n_records: 0 }
    }

    /// Returns the number of records.
    pub fn len(&self) -> u64 {
        self.n_records
    }

    /// Returns true if there are no records.
    pub fn is_empty(&self) -> bool {
        self.n_records == 0
    }

    /// Adds a record.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be written, or the record has 4 GiB or more.
    pub fn push(&mut self, key: Key, record: &[u8]) -> io::Result<()> {
        let len = u32::try_from(record.len()).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        if self.batch.n_bytes() + record.len() + size_of::<Entry>() > self.budget && !self.batch.entries.is_empty() {
            self.spill()?;
        }
        self.batch.entries.push(Entry { key, start: self.batch.bytes.len(), len });
        self.batch.bytes.extend_from_slice(record);
        self.n_records += 1;
        Ok(())
    }

    /// Returns all records in order.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be read.
    pub fn finish(mut self) -> io::Result<Sorted> {
        self.batch.sort();
        Sorted::new(self.runs, self.batch)
    }

    fn spill(&mut self) -> io::Result<()> {
        self.batch.sort();
        if self.runs.len() + 1 >= RUNS_MAX {
            let mut merged = Sorted::new(std::mem::take(&mut self.runs), Batch::default())?;
            self.runs.push(write_run(&mut merged)?);
        }
        let mut sorted = Sorted::new(Vec::new(), std::mem::take(&mut self.batch))?;
        let run = write_run(&mut sorted)?;
        // Reuse the memory.
        self.batch = sorted.batch;
        self.batch.clear();
        self.runs.push(run);
        Ok(())
    }
}

impl Batch {
    fn n_bytes(&self) -> usize {
        self.bytes.len() + self.entries.len() * size_of::<Entry>()
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.bytes.clear();
        self.at = 0;
    }

    fn sort(&mut self) {
        // The start of a record gives the order of insertion; of several records with the same start, all but the last
        // are empty.
        self.entries.sort_unstable_by_key(|entry| (entry.key, entry.start, entry.len));
    }
}

fn write_run(sorted: &mut Sorted) -> io::Result<File> {
    let mut writer = BufWriter::with_capacity(BUFFER_BYTES, tempfile::tempfile()?);
    while let Some((key, record)) = sorted.next()? {
        for number in key {
            writer.write_all(&number.to_le_bytes())?;
        }
        writer.write_all(&(record.len() as u32).to_le_bytes())?;
        writer.write_all(record)?;
    }
    let mut file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(file)
}

/// Sorted records.
#[derive(Debug)]
pub struct Sorted {
    runs: Vec<Run>,
    /// The last records, which were never written to a file.
    batch: Batch,
    /// The next record of each run.
    heads: BinaryHeap<Reverse<(Key, usize)>>,
    /// The run whose record was returned last and must be replaced.
    taken: Option<usize>,
}

/// A file of sorted records, and its current record.
#[derive(Debug)]
struct Run {
    reader: BufReader<File>,
    record: Vec<u8>,
}

impl Sorted {
    fn new(files: Vec<File>, batch: Batch) -> io::Result<Self> {
        let runs: Vec<Run> = files
            .into_iter()
            .map(|file| Run { reader: BufReader::with_capacity(BUFFER_BYTES, file), record: Vec::new() })
            .collect();
        let n_runs = runs.len();
        let mut sorted = Self { runs, batch, heads: BinaryHeap::with_capacity(n_runs + 1), taken: None };
        for n in 0..n_runs {
            sorted.advance(n)?;
        }
        Ok(sorted)
    }

    /// Returns the next record.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be read.
    #[expect(clippy::should_implement_trait, reason = "what it returns is borrowed, which iterators cannot do")]
    pub fn next(&mut self) -> io::Result<Option<(Key, &[u8])>> {
        if let Some(run) = self.taken.take() {
            self.advance(run)?;
        }
        let in_memory = self.batch.entries.get(self.batch.at).copied();
        match (self.heads.peek(), in_memory) {
            (Some(&Reverse((key, run))), entry) if entry.is_none_or(|entry| key <= entry.key) => {
                self.heads.pop();
                self.taken = Some(run);
                Ok(Some((key, &self.runs[run].record)))
            }
            (_, Some(entry)) => {
                self.batch.at += 1;
                Ok(Some((entry.key, &self.batch.bytes[entry.start..entry.start + entry.len as usize])))
            }
            (_, None) => Ok(None),
        }
    }

    fn advance(&mut self, n: usize) -> io::Result<()> {
        if let Some(key) = self.runs[n].read()? {
            self.heads.push(Reverse((key, n)));
        }
        Ok(())
    }
}

impl Run {
    /// Reads the next record into `record` and returns its key.
    fn read(&mut self) -> io::Result<Option<Key>> {
        let mut head = [0; size_of::<Key>() + 4];
        if self.reader.fill_buf()?.is_empty() {
            return Ok(None);
        }
        self.reader.read_exact(&mut head)?;
        let (words, rest) = head.as_chunks::<8>();
        let mut key = Key::default();
        for (number, word) in key.iter_mut().zip(words) {
            *number = u64::from_le_bytes(*word);
        }
        let len = rest.first_chunk().map_or(0, |len| u32::from_le_bytes(*len));
        self.record.resize(len as usize, 0);
        self.reader.read_exact(&mut self.record)?;
        Ok(Some(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(budget: usize, records: &[(Key, Vec<u8>)]) -> (Vec<(Key, Vec<u8>)>, bool) {
        let mut sort = SpillSort::new(budget);
        for (key, record) in records {
            sort.push(*key, record).unwrap();
        }
        let has_spilled = !sort.runs.is_empty();
        let mut sorted = sort.finish().unwrap();
        let mut out = Vec::new();
        while let Some((key, record)) = sorted.next().unwrap() {
            out.push((key, record.to_vec()));
        }
        (out, has_spilled)
    }

    /// Returns records with reproducible pseudo-random keys.
    fn records(n: u64) -> Vec<(Key, Vec<u8>)> {
        let scattered = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        (0..n).map(|n| ([scattered(n) % 500, n % 3, 0, 0], n.to_string().into_bytes())).collect()
    }

    #[test]
    fn small_inputs_stay_in_memory() {
        let records = records(1000);
        let (out, has_spilled) = sorted(1 << 20, &records);
        let mut expected = records;
        expected.sort_by_key(|(key, _)| *key);
        assert!(!has_spilled);
        assert_eq!(out, expected);
    }

    #[test]
    fn more_runs_than_are_merged_at_once_are_returned_in_order() {
        let records = records(20_000);
        // About 100 records per run.
        let (out, has_spilled) = sorted(6000, &records);
        let mut expected = records;
        expected.sort_by_key(|(key, _)| *key);
        assert!(has_spilled);
        assert_eq!(out, expected);
    }

    #[test]
    fn a_record_larger_than_the_budget_is_accepted() {
        let records = [([2, 0, 0, 0], vec![7; 5000]), ([1, 0, 0, 0], vec![]), ([0; 4], vec![8; 9000])];
        let (out, _) = sorted(100, &records);
        assert_eq!(
            out.iter().map(|(key, record)| (key[0], record.len())).collect::<Vec<_>>(),
            [(0, 9000), (1, 0), (2, 5000)]
        );
    }

    proptest! {
        #[test]
        fn the_order_is_that_of_a_stable_sort_for_any_budget(
            records in proptest::collection::vec((any::<[u8; 4]>(), any::<Vec<u8>>()), 0..200),
            budget in 0usize..20_000,
        ) {
            let records: Vec<(Key, Vec<u8>)> =
                records.into_iter().map(|(key, record)| (key.map(|byte| u64::from(byte % 4)), record)).collect();
            let mut expected = records.clone();
            expected.sort_by_key(|(key, _)| *key);
            prop_assert_eq!(sorted(budget, &records).0, expected);
        }
    }
}

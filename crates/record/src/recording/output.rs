//! The output file, which is complete at every moment.
//!
//! A reader of the output sees a whole file or none: every version is written under another name and then gets the
//! output's name atomically. So that the cost of a flush depends on new events only, two files are kept after the first
//! flush, and each flush brings both up to date: it appends to the spare file, swaps their names, and appends to the
//! other file. A file that is open elsewhere is never written; in that case, and if the system cannot swap names, a new
//! spare is copied.

use crate::error::Error;
use crate::os::file::{Lease, exchange, reserve_beyond_end};
use crate::os::file_size;
use crate::os::memory::has_room;
use crate::os::process::fork_generation;
use crate::recording::background;
use crate::recording::destination::{Destination, OutputKind, is_at, trace_form, with_ending};
use crate::recording::quiet_file::{self, QuietFile, QuietSource};
use crate::stats::Stats;
use ferrum_trace_format::ReserveAhead;
use ferrum_trace_format::spool::{self, Converter, EventCounter, write_whole};
use ferrum_trace_model::Trigger;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Maximum number of threads that write at the same time.
const WORKERS_MAX: usize = 8;
/// Room for memory that must be free to write a file on the calling thread alone.
const MEMORY_OF_ONE: usize = 32 << 20;
/// Room for memory that must be free for each further thread, with its stack.
const MEMORY_OF_WORKER: usize = 16 << 20;

/// The output of one session.
#[derive(Debug)]
pub(crate) struct Output {
    destination: Destination,
    whole_micros: bool,
    counter: Option<EventCounter>,
    /// State of the current output file; `None` before the first flush and after a failed one.
    written: Option<Written>,
    /// The file that gets the output's name next. It has all events that have been written, and no one else uses it.
    spare: Option<File>,
    /// True if nothing was recorded and an existing file of another recording was kept.
    has_kept_old_file: bool,
}

#[derive(Debug)]
struct Written {
    converter: Converter,
    /// The file that has the output's name.
    current: File,
    /// Offset where the events end and the tail begins, in both files.
    body_end: u64,
    tail: Vec<u8>,
}

impl Output {
    /// Creates the output; no file is written yet. `whole_micros` is for JSON only.
    pub(crate) fn new(destination: Destination, whole_micros: bool) -> Self {
        Self { destination, whole_micros, counter: None, written: None, spare: None, has_kept_old_file: false }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.destination.output
    }

    pub(crate) fn spool_path(&self) -> &Path {
        &self.destination.spool_path
    }

    pub(crate) fn form(&self) -> OutputKind {
        self.destination.form
    }

    /// Returns true if nothing was recorded and the output's path still has the file of another recording.
    pub(crate) fn has_kept_old_file(&self) -> bool {
        self.has_kept_old_file
    }

    /// Brings the output up to date; `events_are_seen` as for `Converter::convert_growing`.
    pub(crate) fn flush(&mut self, spool: &File, events_are_seen: &dyn Fn()) -> Result<(), Error> {
        self.update(spool, true, events_are_seen)
    }

    /// Writes the output from another spool than before.
    pub(crate) fn rewrite(&mut self, spool: &File) -> Result<(), Error> {
        self.begin_anew();
        let rewritten = self.update(spool, false, &|| ());
        self.begin_anew();
        rewritten
    }

    /// Discards the read position in the spool, because the content of a ring's spool has been overwritten.
    pub(crate) fn begin_anew(&mut self) {
        self.written = None;
        self.counter = None;
        self.drop_spare();
    }

    /// Brings the output up to date for the last time, and removes the spool unless it is the output.
    pub(crate) fn finish(&mut self, spool: &File, spool_bytes: u64) -> Result<Stats, Error> {
        self.update(spool, false, &|| ())?;
        let stats = match &self.written {
            // Not from the current spool: a thread that was suspended in the middle of an event may have finished it
            // since.
            Some(written) => {
                let summary = written.converter.summary(spool).map_err(|cause| self.cannot_convert(cause))?;
                Stats::new(&summary, spool_bytes)
            }
            None => self.stats(spool, spool_bytes)?,
        };
        self.drop_spare();
        if self.form() != OutputKind::Spool {
            let _ = std::fs::remove_file(&self.destination.spool_path);
        }
        Ok(stats)
    }

    /// Returns the counts so far.
    pub(crate) fn stats(&mut self, spool: &File, spool_bytes: u64) -> Result<Stats, Error> {
        check_memory().map_err(|cause| self.cannot_write(cause))?;
        let path = &self.destination.spool_path;
        let format_error = |cause| Error::format(path, cause);
        let counter = match &mut self.counter {
            Some(counter) => counter,
            None => self.counter.insert(EventCounter::open(spool).map_err(format_error)?),
        };
        let summary = counter.summary(spool).map_err(format_error)?;
        Ok(Stats::new(&summary, spool_bytes))
    }

    fn update(&mut self, spool: &File, wants_spare: bool, events_are_seen: &dyn Fn()) -> Result<(), Error> {
        let OutputKind::Trace(form) = self.form() else {
            return Ok(());
        };
        let form = if self.whole_micros { form.in_whole_micros() } else { form };
        check_memory().map_err(|cause| self.cannot_write(cause))?;
        let updated = file_size::without_signal(|| match self.written.take() {
            None => self.write_first(spool, form, events_are_seen),
            Some(written) => self.write_next(spool, written, events_are_seen).map(Some),
        });
        self.has_kept_old_file = matches!(updated, Ok(None));
        match updated {
            Ok(Some(written)) => {
                let written = self.written.insert(written);
                if wants_spare && self.spare.is_none() {
                    // Without a spare, the next flush is only slower.
                    let spare_path = spare_path(&self.destination);
                    self.spare = file_size::without_signal(|| copy(&written.current, &spare_path)).ok();
                }
                Ok(())
            }
            Ok(None) => {
                self.drop_spare();
                Ok(())
            }
            Err(error) => {
                // The spool still has everything: the next flush starts over.
                self.drop_spare();
                Err(error)
            }
        }
    }

    fn drop_spare(&mut self) {
        self.spare = None;
        let _ = std::fs::remove_file(spare_path(&self.destination));
    }

    /// Writes the output for the first time. Returns `None` if nothing has been recorded and a file exists: a trace is
    /// only replaced by a trace that has events.
    fn write_first(
        &mut self,
        spool: &File,
        form: spool::OutputFormat,
        events_are_seen: &dyn Fn(),
    ) -> Result<Option<Written>, Error> {
        let mut converter = Converter::open(spool, form).map_err(|cause| self.cannot_convert(cause))?;
        let path = spare_path(&self.destination);
        let file = create(&path).map_err(|cause| self.cannot_write(cause))?;
        let (body_end, tail) = self.append(&file, 0, &mut converter, spool, events_are_seen)?;
        if !converter.has_events() && self.path().exists() {
            return Ok(None);
        }
        std::fs::rename(&path, self.path()).map_err(|cause| self.cannot_write(cause))?;
        Ok(Some(Written { converter, current: file, body_end, tail }))
    }

    fn write_next(&mut self, spool: &File, mut written: Written, events_are_seen: &dyn Fn()) -> Result<Written, Error> {
        let path = spare_path(&self.destination);
        let spare = self.spare.take();
        let lease = spare.as_ref().and_then(Lease::take);
        let file = match (&spare, &lease) {
            (Some(spare), Some(_)) => spare.try_clone(),
            _ => copy(&written.current, &path),
        }
        .map_err(|cause| self.cannot_write(cause))?;
        let (body_end, tail) = self.append(&file, written.body_end, &mut written.converter, spool, events_are_seen)?;
        if body_end == written.body_end && tail == written.tail {
            drop(lease);
            self.spare = Some(file);
            return Ok(written);
        }
        let is_swapped = exchange(&path, self.path()).is_ok();
        if !is_swapped {
            std::fs::rename(&path, self.path()).map_err(|cause| self.cannot_write(cause))?;
        }
        drop(lease);
        let before = std::mem::replace(&mut written.current, file);
        let old_end = std::mem::replace(&mut written.body_end, body_end);
        written.tail = tail;
        // If someone else put another file in the output's place, it has the spare's name now. It is removed, as a
        // plain rename would have done.
        let is_ours = is_swapped && is_at(&before, &path);
        if is_ours && catch_up(&before, old_end, &written).is_some() {
            self.spare = Some(before);
        } else {
            self.drop_spare();
        }
        Ok(written)
    }

    /// Overwrites the tail with new events and a new tail. Returns the offset of the new tail, and the tail.
    fn append(
        &self,
        mut file: &File,
        body_end: u64,
        converter: &mut Converter,
        spool: &File,
        events_are_seen: &dyn Fn(),
    ) -> Result<(u64, Vec<u8>), Error> {
        let cannot_write = |cause| self.cannot_write(cause);
        let cannot_convert = |cause| self.cannot_convert(cause);
        file.seek(SeekFrom::Start(body_end)).map_err(cannot_write)?;
        let reserve = |from, len| reserve_beyond_end(file, from, len);
        let mut out = ReserveAhead::new(QuietFile::new(file, body_end), body_end, reserve);
        let spool = &QuietSource(spool);
        let batch = converter.convert_growing(spool, &mut out, n_workers(), events_are_seen).map_err(cannot_convert)?;
        let tail = converter.tail(spool).map_err(cannot_convert)?;
        out.flush().map_err(cannot_write)?;
        drop(out);
        let body_end = body_end + batch.bytes;
        file.write_all(&tail).map_err(cannot_write)?;
        file.set_len(body_end + tail.len() as u64).map_err(cannot_write)?;
        Ok((body_end, tail))
    }

    fn cannot_write(&self, cause: io::Error) -> Error {
        Error::io("cannot write the trace", self.path(), cause)
    }

    fn cannot_convert(&self, cause: ferrum_trace_format::Error) -> Error {
        Error::format(self.path(), cause)
    }
}

/// Writes a spool as a dump, to its own file that states the trigger. `whole_micros` is for JSON only.
pub(crate) fn write_dump(spool: &File, path: &Path, trigger: Trigger, whole_micros: bool) -> Result<(), Error> {
    let form = trace_form(path);
    let form = if whole_micros { form.in_whole_micros() } else { form };
    let next = with_ending(path, ".next");
    let cannot_write = |cause| Error::io("cannot write the trace", path, cause);
    check_memory().map_err(cannot_write)?;
    let file = create(&next).map_err(cannot_write)?;
    let mut out = QuietFile::new(&file, 0);
    let source = QuietSource(spool);
    let convert = |converter: Converter| {
        file_size::without_signal(|| write_whole(converter.with_trigger(Some(trigger)), &source, &mut out, n_workers()))
    };
    let written = Converter::open(&source, form)
        .and_then(convert)
        .map_err(|cause| Error::format(path, cause))
        .and_then(|_| file_size::without_signal(|| out.flush()).map_err(cannot_write))
        .and_then(|()| std::fs::rename(&next, path).map_err(cannot_write));
    if written.is_err() {
        let _ = std::fs::remove_file(&next);
    }
    written
}

/// Returns the path of the file that is being written.
fn spare_path(destination: &Destination) -> PathBuf {
    with_ending(&destination.output, ".next")
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)
}

/// Copies a file to `path`.
fn copy(original: &File, path: &Path) -> io::Result<File> {
    let _ = std::fs::remove_file(path);
    let copy = create(path)?;
    quiet_file::copy(original, &copy)?;
    Ok(copy)
}

/// Brings the previous output file up to date, unless it is open elsewhere.
fn catch_up(before: &File, old_end: u64, written: &Written) -> Option<()> {
    let _lease = Lease::take(before)?;
    let (mut before, mut current) = (before, &written.current);
    before.seek(SeekFrom::Start(old_end)).ok()?;
    current.seek(SeekFrom::Start(old_end)).ok()?;
    quiet_file::append(current, before, old_end).ok()?;
    let end = before.stream_position().ok()?;
    before.set_len(end).ok()
}

/// Returns the number of threads to write with: one per processor, up to a maximum; only the calling thread if the
/// program is running meanwhile, or in a forked child. If a thread of the parent was starting or ending at the fork,
/// the lock that the standard library holds for that is never released in the child. A new thread would wait for it
/// forever, and we for the thread.
fn n_workers() -> usize {
    if background::is_background() || fork_generation() > 0 {
        return 1;
    }
    let n_workers = std::thread::available_parallelism().map_or(1, usize::from).min(WORKERS_MAX);
    if has_room(MEMORY_OF_ONE + n_workers * MEMORY_OF_WORKER) { n_workers } else { 1 }
}

/// Returns an error if there is too little memory to write a file. Without this, the program would be aborted at the
/// first allocation that fails.
fn check_memory() -> io::Result<()> {
    if has_room(MEMORY_OF_ONE) { Ok(()) } else { Err(io::ErrorKind::OutOfMemory.into()) }
}

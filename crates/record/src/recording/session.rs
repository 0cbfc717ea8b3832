//! One recording: a spool, what it has defined, and the file that is made of it.

use crate::error::Error;
use crate::memory::chunk::{self, ChunkMemory};
use crate::memory::open_stacks::{OpenStack, OpenStacks, Owner};
use crate::memory::segment::{Counter, MappedChunk};
use crate::memory::snapshot::Snapshot;
use crate::memory::spool::Spool;
use crate::os::clock::ClockKind;
use crate::recording::background;
use crate::recording::definitions::{Definitions, ThreadEntry, kept_text};
use crate::recording::destination::{Claimed, ClaimedPart, Destination, OutputKind, Staged, with_ending};
use crate::recording::ending_thread::EndingThreadWriter;
use crate::recording::keeper;
use crate::recording::options::SessionOptions;
use crate::recording::origin::{boot_id, host_name};
use crate::recording::output::Output;
use crate::recording::part::{Part, Start};
use crate::stats::Stats;
use crate::thread::buffer::quietly;
use crate::thread::interrupted;
use crate::thread::site::Site;
use crate::util::lock::lock;
use ferrum_trace_format::spool::Definition;
use ferrum_trace_format::spool::layout::{
    CHUNK_BYTES, CLOCK_MONOTONIC, CLOCK_TICKS, DEFINITIONS_MAGIC, DumpRefusal, EVENTS_MAGIC, FILE_MAGIC,
    OPEN_SPANS_MAGIC, StopReason, VERSION, chunk as chunk_layout, file, stop_word,
};
use ferrum_trace_format::spool::record::SITE_INLINE;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread::Thread;

/// A recording in progress, or one that has ended.
#[derive(Debug)]
pub struct Session {
    id: u64,
    /// The process that records. In a forked child of it, the session is not to be touched.
    pid: u32,
    clock: ClockKind,
    spool: Spool,
    /// The first chunk, with the file header.
    header: MappedChunk,
    /// Lost events that no thread's own count has.
    dropped: Counter,
    definitions: Mutex<Definitions>,
    output_path: PathBuf,
    output: Mutex<Output>,
    /// Whether times in JSON are whole microseconds.
    whole_micros: bool,
    /// `Some` if the spool is the output and replaces a finished trace with its first event.
    staged: Option<Staged>,
    ending_threads: Mutex<EndingThreadWriter>,
    open_stacks: Mutex<OpenStacks>,
    is_open: AtomicBool,
    /// `None` in it if no thread could be had.
    keeper: OnceLock<Option<Thread>>,
    /// Chunks that threads have taken.
    n_taken: AtomicU64,
    /// The part that this session is, if the recording rotates.
    part: Option<Part>,
    /// Called with the id of the session when the part is full.
    on_full_part: Option<fn(u64)>,
    me: Weak<Self>,
}

/// How many chunks a recording uses before it gets a thread of its own to prepare more: none is started for programs
/// that record nothing or little.
const CHUNKS_WITHOUT_KEEPER: u64 = 4;

impl Session {
    /// Begins to record. Nothing is visible under the output's name until the first flush.
    pub fn start(options: &SessionOptions) -> Result<Arc<Self>, Error> {
        let clock = options.clock.unwrap_or_else(ClockKind::best);
        let Some(rotate) = options.rotate else {
            let claimed = Destination::claim(options)?;
            return Self::begin(options, claimed, clock, Start::now(clock), None);
        };
        let ClaimedPart { claimed, number, base } = Destination::claim_first_part(options)?;
        let start = Start::now(clock);
        let part = |id| Part::first(rotate, base, number, id, start);
        Self::begin(options, claimed, clock, start, Some(Box::new(part)))
    }

    /// Begins the file after this one, of the same recording.
    pub fn next(&self, options: &SessionOptions) -> Result<Option<Arc<Self>>, Error> {
        let Some(part) = &self.part else {
            return Ok(None);
        };
        let ClaimedPart { claimed, number, .. } = Destination::claim_part(part.base(), part.number)?;
        let next_part = part.next(number);
        Self::begin(options, claimed, self.clock, part.start(), Some(Box::new(|_| next_part))).map(Some)
    }

    fn begin(
        options: &SessionOptions,
        (mut destination, file): Claimed,
        clock: ClockKind,
        start: Start,
        part: Option<Box<dyn FnOnce(u64) -> Part + '_>>,
    ) -> Result<Arc<Self>, Error> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let part = part.map(|part| part(id));
        let path = destination.spool_path.clone();
        let limit = options.spool_limit();
        let spool = Spool::new(file, limit, options.ring);
        let staged = destination.staged.take();
        let header = spool.take_fresh().map_err(|reason| {
            match &staged {
                Some(staged) => staged.give_up(),
                None => drop(std::fs::remove_file(&path)),
            }
            cannot_start(&path, reason)
        })?;
        write_header(&header, clock, start.wall_nanos, limit, options.ring.is_some());
        header.store(file::PART, part.as_ref().map_or(0, |part| part.number.into()), Ordering::Relaxed);
        let session = Arc::new_cyclic(|me| Self {
            id,
            pid: std::process::id(),
            clock,
            dropped: header.counter(file::DROPPED),
            definitions: Mutex::new(Definitions::new(header.clone())),
            header,
            spool,
            output_path: destination.output.clone(),
            output: Mutex::new(Output::new(destination, options.whole_micros)),
            whole_micros: options.whole_micros,
            staged,
            ending_threads: Mutex::new(EndingThreadWriter::default()),
            open_stacks: Mutex::default(),
            is_open: AtomicBool::new(true),
            keeper: OnceLock::new(),
            n_taken: AtomicU64::new(0),
            part,
            on_full_part: options.on_full_part,
            me: me.clone(),
        });
        session.define_point(start.point);
        session.define_process(&options.process_name());
        session.define_origin(options.rank);
        session.define(&Definition::Site {
            id: SITE_INLINE,
            name: "(named in the event)".into(),
            category: "".into(),
            keys: vec![],
        });
        // A second point now: should the process be killed in its first millisecond, the clock's rate is known roughly.
        session.calibrate();
        if session.part.as_ref().is_some_and(|part| part.time_left().is_some()) {
            session.keeper();
        }
        Ok(session)
    }

    /// Copies all names and tracks to `next` under their numbers, so that a thread that knows a number may use it there,
    /// then calls `switch`: threads that ask from then on ask `next`. Returns false if there is no room; then `switch` is
    /// not called.
    pub fn hand_over_to(&self, next: &Self, switch: impl FnOnce()) -> bool {
        let here = lock(&self.definitions);
        let mut there = lock(&next.definitions);
        let has_room = here.copy_to(&mut there, &|| next.definitions_chunk()).is_some();
        if has_room {
            switch();
        }
        has_room
    }

    /// Has `next` know the spans that are open here. This session has been closed, so nobody changes them any more.
    pub fn hand_open_spans_over_to(&self, next: &Self) {
        quietly(|| {
            // The lock is held all the while: a thread that ends gives its stack back here first.
            let here = lock(&self.open_stacks);
            for (stack, owner) in here.with_open_spans() {
                let name = owner.name.clone();
                let define = || next.define_thread(owner.os_id, &name).map(|entry| entry.id);
                lock(&next.open_stacks).inherit(&stack, owner.clone(), define, || next.open_spans_chunk());
            }
            self.header.store(file::CONTINUED, 1, Ordering::Release);
        });
    }

    /// Which file it is of a recording that goes on in others.
    pub fn part(&self) -> Option<&Part> {
        self.part.as_ref()
    }

    /// The id of the recording, which may go on in other sessions: that of the first.
    pub fn recording(&self) -> u64 {
        self.part.as_ref().map_or(self.id, Part::recording)
    }

    /// Whether the recording should go on in another file.
    pub fn is_full_part(&self) -> bool {
        let n_bytes = self.n_taken.load(Ordering::Relaxed) * CHUNK_BYTES as u64;
        self.part.as_ref().is_some_and(|part| part.is_full(n_bytes))
    }

    /// Starts the next part. Called by the keeper.
    pub fn on_full_part(&self) {
        if let Some(on_full_part) = self.on_full_part {
            on_full_part(self.id);
        }
    }

    fn keeper(&self) -> Option<&Thread> {
        self.keeper.get_or_init(|| keeper::start(self.me.clone())).as_ref()
    }

    pub fn id(&self) -> u64 {
        self.id
    }

    pub fn clock(&self) -> ClockKind {
        self.clock
    }

    pub fn spool(&self) -> &Spool {
        &self.spool
    }

    /// Returns true if times in JSON are whole microseconds.
    pub fn has_whole_micros(&self) -> bool {
        self.whole_micros
    }

    pub fn ending_threads(&self) -> &Mutex<EndingThreadWriter> {
        &self.ending_threads
    }

    pub fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    /// Counts lost events.
    pub fn count_dropped(&self, n: u64) {
        self.dropped.add(n);
    }

    /// Counts a refused dump in the spool.
    pub fn count_refused_dump(&self, reason: DumpRefusal) {
        self.header.counter(file::DUMPS_REFUSED + reason as usize).add(1);
    }

    /// A chunk for events that nobody has written to yet.
    pub fn fresh_chunk(&self) -> Option<MappedChunk> {
        if !self.is_open() {
            return None;
        }
        let is_over = !self.spool.is_ring();
        if let Some(reason) = self.spool.stopped_and_used_up().filter(|_| is_over) {
            self.set_stop_reason(reason);
            return None;
        }
        if let Some(staged) = &self.staged {
            staged.put_in_place();
        }
        let fresh = self.spool.take_fresh();
        if self.n_taken.fetch_add(1, Ordering::Relaxed) >= CHUNKS_WITHOUT_KEEPER {
            let needs_keeper = self.spool.is_low() || self.is_full_part();
            if let Some(keeper) = self.keeper().filter(|_| needs_keeper) {
                keeper.unpark();
            }
        }
        let fresh = fresh.map_err(|reason| reason.map(|reason| self.set_stop_reason(reason))).ok()?;
        if self.spool.is_ring() {
            self.header.store(file::OVERWRITTEN, self.spool.n_overwritten(), Ordering::Relaxed);
        }
        chunk::activate(&fresh, EVENTS_MAGIC, fresh.index(), chunk_layout::HEADER_WORDS);
        Some(fresh)
    }

    /// Returns a stack of open spans that has a slot for `level`, in place of `small` if the thread has that. `None` if there is
    /// no room.
    pub fn open_stack(&self, owner: Owner, small: Option<&OpenStack>, level: usize) -> Option<OpenStack> {
        let mut stacks = lock(&self.open_stacks);
        let fresh = || self.open_spans_chunk();
        match small {
            Some(small) => stacks.grow(owner, small, level, fresh),
            None => stacks.take(owner, level, fresh),
        }
    }

    /// Returns the stack with the spans that a thread had open in the file before this one, if it had any.
    pub fn carry_open_stack_over(&self, owner: Owner, old: Option<&OpenStack>) -> Option<OpenStack> {
        lock(&self.open_stacks).carry_over(owner, old, || self.open_spans_chunk())
    }

    /// Takes a stack of open spans back from a thread.
    pub fn put_open_stack_back(&self, stack: &OpenStack) {
        lock(&self.open_stacks).put_back(stack);
    }

    fn open_spans_chunk(&self) -> Option<MappedChunk> {
        if let Some(staged) = &self.staged {
            staged.put_in_place();
        }
        let fresh = self.spool.take_fresh().ok().filter(|_| self.is_open())?;
        chunk::activate(&fresh, OPEN_SPANS_MAGIC, fresh.index(), chunk_layout::HEADER_WORDS);
        Some(fresh)
    }

    fn set_stop_reason(&self, reason: StopReason) {
        // After the end, the spool has stopped for no other reason than that.
        if self.is_open() {
            self.header.store(file::STOP_REASON, stop_word(reason), Ordering::Relaxed);
        }
    }

    /// Defines a call site under a number. `None` if there is no room.
    pub fn define_site(&self, site: &Site, id: u32) -> Option<()> {
        self.define(&Definition::Site {
            id,
            name: kept_text(site.name()),
            category: kept_text(site.category()),
            keys: site.keys().iter().map(|&key| kept_text(key)).collect(),
        })
    }

    /// Names the process.
    pub fn define_process(&self, name: &str) -> Option<()> {
        self.define(&Definition::Process { name: kept_text(name) })
    }

    /// Says where the recording comes from.
    fn define_origin(&self, rank: Option<u32>) -> Option<()> {
        let host = host_name().unwrap_or_default();
        let boot_id = boot_id().unwrap_or_default();
        self.define(&Definition::Origin { rank, host: kept_text(&host), boot_id: kept_text(&boot_id) })
    }

    /// Names a thread anew.
    pub fn define_thread_name(&self, id: u32, name: &str) -> Option<()> {
        self.define(&Definition::ThreadName { id, name: kept_text(name) })
    }

    /// Writes a definition. Events recorded after this call may refer to it. Returns `None` if there is no room.
    fn define(&self, definition: &Definition<'_>) -> Option<()> {
        lock(&self.definitions).define(definition, &|| self.definitions_chunk()).map(|_| ())
    }

    fn definitions_chunk(&self) -> Option<MappedChunk> {
        let fresh = self.spool.take_fresh().map_err(|reason| reason.map(|reason| self.set_stop_reason(reason))).ok()?;
        chunk::activate(&fresh, DEFINITIONS_MAGIC, fresh.index(), chunk_layout::HEADER_WORDS);
        Some(fresh)
    }

    /// Gives the calling thread a number.
    pub fn define_thread(&self, os_id: u64, name: &str) -> Option<ThreadEntry> {
        lock(&self.definitions).define_thread(os_id, name, &|| self.definitions_chunk())
    }

    /// Gives a named track a number.
    pub fn define_track(&self, name: &str, sort: i64) -> Option<u32> {
        lock(&self.definitions).define_track(name, sort, &|| self.definitions_chunk())
    }

    /// Returns the number of a name made at run time, or `None` if there are too many of them to define.
    pub fn intern(&self, name: &str, category: &str) -> Option<u32> {
        lock(&self.definitions).intern(name, category, &|| self.definitions_chunk())
    }

    /// Notes how the clock and the monotonic clock stand to each other now.
    pub fn calibrate(&self) {
        self.define_point(self.clock.calibration_point());
    }

    fn define_point(&self, (ticks, nanos): (u64, u64)) {
        self.define(&Definition::Calibration { ticks, nanos });
    }

    /// Brings the output up to date with all that was recorded before this call.
    pub fn flush(&self) -> Result<(), Error> {
        // Signal handlers of this thread keep out: they might need what is held here.
        quietly(|| {
            let mut output = lock(&self.output);
            if !self.is_open() {
                return Err(Error::not_recording());
            }
            self.count_dropped(interrupted::take());
            self.calibrate();
            if self.spool.is_ring() {
                let copy = Snapshot::take(self.spool.file(), with_ending(output.spool_path(), ".copy"))?;
                return output.rewrite(copy.file());
            }
            // Threads go on recording: the point above lies before what they have recorded since.
            output.flush(self.spool.file(), &|| self.calibrate())
        })
    }

    /// Whoever records from now on finds another recording or none. False if that was so already.
    pub fn close(&self) -> bool {
        let is_closed = self.mark_closed();
        if is_closed {
            self.close_chunks();
        }
        is_closed
    }

    /// The first half of [`close`](Self::close): no chunk is handed out from now on.
    pub fn mark_closed(&self) -> bool {
        self.pid == std::process::id() && self.is_open.swap(false, Ordering::AcqRel)
    }

    /// The second half: those who have a chunk ask for another. This writes to each chunk, and the kernel may take its time for
    /// that, so nothing should be held meanwhile that they need when they ask.
    pub fn close_chunks(&self) {
        // They ask for a chunk first. The fence is for those who are being given one right now, see `Attachment::refill`.
        fence(Ordering::SeqCst);
        self.spool.close_chunks();
        quietly(|| lock(&self.open_stacks).close());
    }

    /// Completes the output of a session that has been closed, and removes the spool unless it is the output.
    /// `write_dumps` writes the pending dump of a ring.
    pub fn complete(&self, write_dumps: impl FnOnce()) -> Result<Stats, Error> {
        let stats = quietly(|| {
            // Waits for a flush that is under way; later ones see that the recording has ended.
            let mut output = lock(&self.output);
            self.count_dropped(interrupted::take());
            self.calibrate();
            if output.form() == OutputKind::Spool {
                self.header.store(file::FINISHED, 1, Ordering::Release);
                self.spool.trim();
            }
            if self.spool.is_ring() {
                output.begin_anew();
                write_dumps();
            }
            output.finish(self.spool.file(), self.spool.n_bytes())
        });
        self.unpark_keeper();
        if let Some(staged) = &self.staged {
            staged.give_up();
        }
        if stats.is_ok() || !background::is_cancelled() {
            // Some thread may hold the file for as long as it lives; others may have the path from now on.
            let _ = self.spool.file().unlock();
        }
        stats
    }

    /// Ends a recording that nobody has written to, and removes its spool.
    pub fn discard(&self) {
        self.close();
        let _ = std::fs::remove_file(self.spool_path());
        self.release_memory();
    }

    /// After [`complete`](Self::complete), in a process that goes on: nothing recorded from now on is kept.
    pub fn release_memory(&self) {
        self.spool.revoke();
    }

    fn unpark_keeper(&self) {
        if let Some(Some(keeper)) = self.keeper.get() {
            keeper.unpark();
        }
    }

    /// Counts so far. Reads what is new in the spool since the last call.
    pub fn stats(&self) -> Result<Stats, Error> {
        quietly(|| {
            let bytes = self.spool.n_bytes();
            let mut output = lock(&self.output);
            if self.spool.is_ring() {
                output.begin_anew();
            }
            output.stats(self.spool.file(), bytes)
        })
    }

    /// How many events were lost so far, and why in brackets, if any were.
    pub fn losses(&self) -> Option<(u64, String)> {
        let dropped = self.stats().map_or(0, |stats| stats.dropped);
        let why = self.spool.stopped().map_or(String::new(), |reason| format!(" ({})", describe(reason)));
        (dropped > 0).then_some((dropped, why))
    }

    /// Where the spool is.
    pub fn spool_path(&self) -> PathBuf {
        lock(&self.output).spool_path().to_owned()
    }

    /// Where the output will be.
    pub fn output_path(&self) -> &Path {
        &self.output_path
    }

    /// Whether the file under the output's name is not of this recording, which had nothing to replace it with.
    pub fn has_kept_old_file(&self) -> bool {
        let is_staged = self.staged.as_ref().is_some_and(|staged| !staged.is_in_place());
        is_staged || lock(&self.output).has_kept_old_file()
    }

    /// Whether any thread has got room for events.
    pub fn has_chunks(&self) -> bool {
        self.n_taken.load(Ordering::Relaxed) > 0
    }

    /// Why no more fits, if so.
    pub fn why_full(&self) -> Option<&'static str> {
        self.spool.stopped().filter(|_| self.is_open() && !self.spool.is_ring()).map(describe)
    }
}

fn write_header(header: &MappedChunk, clock: ClockKind, wall_nanos: u64, limit: u64, is_ring: bool) {
    let clock = match clock {
        ClockKind::Ticks => CLOCK_TICKS,
        ClockKind::Monotonic => CLOCK_MONOTONIC,
    };
    let words = [
        (file::VERSION, VERSION | (CHUNK_BYTES as u64) << 32),
        (file::PID, u64::from(std::process::id())),
        (file::CLOCK, clock),
        (file::WALL_NANOS, wall_nanos),
        (file::LIMIT, limit),
        (file::RING, u64::from(is_ring)),
    ];
    for (word, value) in words {
        header.store(word, value, Ordering::Relaxed);
    }
    chunk::activate(header, FILE_MAGIC, 0, file::HEADER_WORDS);
}

/// Why a recording stopped early, in words.
fn describe(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Limit => "the limit was reached",
        StopReason::NoSpace => "no space left on the device",
        StopReason::Io => "the spool could not be enlarged",
    }
}

fn cannot_start(path: &Path, reason: Option<StopReason>) -> Error {
    let kind = match reason {
        Some(StopReason::NoSpace) => std::io::ErrorKind::StorageFull,
        Some(StopReason::Limit | StopReason::Io) | None => std::io::ErrorKind::Other,
    };
    Error::io("cannot reserve the spool", path, kind.into())
}

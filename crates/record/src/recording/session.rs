//! One session: a spool, its definitions, and the output file that is made from it.

use crate::error::Error;
use crate::memory::chunk::{self, ChunkMemory};
use crate::memory::open_stacks::{OpenStack, OpenStacks, Owner};
use crate::memory::segment::{Counter, MappedChunk};
use crate::memory::snapshot::Snapshot;
use crate::memory::spool::{MANY_THREADS, Spool};
use crate::os::clock::ClockKind;
use crate::os::fault;
use crate::os::memory::has_room;
use crate::recording::background::{self, Urgency};
use crate::recording::definitions::{Definitions, Interned, ThreadEntry, kept_text};
use crate::recording::destination::{COPY, Claimed, ClaimedPart, Destination, OutputKind, Staged, is_at, with_ending};
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
use crate::util::lock::{lock, lock_for_event};
use ferrum_trace_format::spool::Definition;
use ferrum_trace_format::spool::layout::{
    CHUNK_BYTES, CLOCK_MONOTONIC, CLOCK_TICKS, DEFINITIONS_MAGIC, DumpRefusal, EVENTS_MAGIC, FILE_MAGIC,
    OPEN_SPANS_MAGIC, StopReason, VERSION, chunk as chunk_layout, file, stop_reason, stop_word,
};
use ferrum_trace_format::spool::record::SITE_INLINE;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread::Thread;

/// A recording, or one part of a rotating recording, in progress or ended.
#[derive(Debug)]
pub(crate) struct Session {
    id: u64,
    /// The process that records. A forked child of it must not use the session.
    pid: u32,
    clock: ClockKind,
    spool: Spool,
    /// The first chunk, with the file header.
    header: MappedChunk,
    /// Lost events that are in no thread's own count.
    dropped: Counter,
    /// All lost events of the recording, in all of its parts.
    n_lost: Arc<AtomicU64>,
    definitions: Mutex<Definitions>,
    output_path: PathBuf,
    output: Mutex<Output>,
    /// True if times in JSON are whole microseconds.
    whole_micros: bool,
    /// `Some` if the spool is the output and replaces a finished trace with its first event.
    staged: Option<Staged>,
    ending_threads: Mutex<EndingThreadWriter>,
    open_stacks: Mutex<OpenStacks>,
    is_open: AtomicBool,
    /// The keeper thread. It contains `None` if the thread could not be started.
    keeper: OnceLock<Option<Thread>>,
    /// True once the keeper thread has been woken, after the first chunks.
    has_used_keeper: AtomicBool,
    /// Chunks that threads have taken.
    n_taken: AtomicU64,
    /// The part that this session is, if the recording rotates.
    part: Option<Part>,
    /// Called with the id of the session when the part is full, or when outputs of earlier parts should be written
    /// again.
    on_parts_due: Option<fn(u64)>,
    /// Called by the keeper thread in each of its rounds.
    on_keeping: Option<fn()>,
    /// True once the memory has been released, so that nothing may be counted in it any more.
    is_released: AtomicBool,
    me: Weak<Self>,
}

/// State that a session continues from the part before it, if any.
#[derive(Default)]
struct Continued<'a> {
    /// Makes the part that the session is, from the id of the session.
    part: Option<Box<dyn FnOnce(u64) -> Part + 'a>>,
    n_lost: Arc<AtomicU64>,
}

/// Number of chunks that a recording uses before its keeper thread works: programs that record little do not need it.
const CHUNKS_WITHOUT_KEEPER: u64 = 4;

/// Room for memory that must be free to start a recording: its tables and its first segments.
const START_BYTES: usize = 16 << 20;

impl Session {
    /// Starts to record. Nothing is visible under the name of the output until the first flush.
    pub(crate) fn start(options: &SessionOptions) -> Result<Arc<Self>, Error> {
        let clock = options.clock.unwrap_or_else(ClockKind::best);
        let Some(rotate) = options.rotate else {
            let claimed = Destination::claim(options)?;
            return Self::begin(options, claimed, clock, Start::now(clock), Continued::default());
        };
        let ClaimedPart { claimed, number, base } = Destination::claim_first_part(options)?;
        let start = Start::now(clock);
        let part = |id| Part::first(rotate, base, number, id, start);
        let continued = Continued { part: Some(Box::new(part)), ..Continued::default() };
        Self::begin(options, claimed, clock, start, continued)
    }

    /// Starts the next part of a rotating recording. Returns `None` if the recording does not rotate.
    pub(crate) fn next(&self, options: &SessionOptions) -> Result<Option<Arc<Self>>, Error> {
        let Some(part) = &self.part else {
            return Ok(None);
        };
        let ClaimedPart { claimed, number, .. } = Destination::claim_part(part.base(), part.number)?;
        let next_part = part.next(number);
        let continued = Continued { part: Some(Box::new(|_| next_part)), n_lost: Arc::clone(&self.n_lost) };
        Self::begin(options, claimed, self.clock, part.start(), continued).map(Some)
    }

    fn begin(
        options: &SessionOptions,
        (mut destination, file): Claimed,
        clock: ClockKind,
        start: Start,
        Continued { part, n_lost }: Continued<'_>,
    ) -> Result<Arc<Self>, Error> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let part = part.map(|part| part(id));
        let path = destination.spool_path.clone();
        let limit = options.spool_limit();
        if !has_room(START_BYTES) {
            match &destination.staged {
                Some(staged) => staged.give_up(),
                None => drop(std::fs::remove_file(&path)),
            }
            return Err(Error::io("cannot record to", &path, std::io::ErrorKind::OutOfMemory.into()));
        }
        if options.handles_sigbus {
            fault::install();
        }
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
        spool.count_used_in(header.counter(file::CHUNKS_USED));
        header.store(file::PART, part.as_ref().map_or(0, |part| part.number.into()), Ordering::Relaxed);
        let session = Arc::new_cyclic(|me| Self {
            id,
            pid: std::process::id(),
            clock,
            dropped: header.counter(file::DROPPED),
            n_lost,
            definitions: Mutex::new(Definitions::new(header.clone(), options.ring.is_some().then_some(limit))),
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
            has_used_keeper: AtomicBool::new(false),
            n_taken: AtomicU64::new(0),
            part,
            on_parts_due: options.on_parts_due,
            on_keeping: options.on_keeping,
            is_released: AtomicBool::new(false),
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
        // A second point gives a rough rate of the clock, in case the process is killed in its first millisecond.
        session.calibrate();
        // Started now, since the event that needs it may be that of a signal handler, which must not start threads. The
        // first event of a forked child may be one too.
        if !options.is_forked || session.is_limited_by_time() {
            session.keeper();
        }
        Ok(session)
    }

    /// Copies all names and tracks to `next` under the same numbers, so that threads can continue to use these, then
    /// calls `switch`, which makes `next` active. No number is given out in between. Returns false if there is no room;
    /// then `switch` is not called.
    pub(crate) fn hand_over_to(&self, next: &Self, switch: impl FnOnce()) -> bool {
        let here = lock(&self.definitions);
        let mut there = lock(&next.definitions);
        let has_room = here.copy_to(&mut there, &|| next.definitions_chunk()).is_some();
        if has_room {
            switch();
        }
        has_room
    }

    /// Copies the open spans to `next`. This session has been closed, so that they no longer change.
    pub(crate) fn hand_open_spans_over_to(&self, next: &Self) {
        quietly(|| {
            // The lock is held until the end: a thread that ends has to put its stack back here first.
            let here = lock(&self.open_stacks);
            for (stack, owner) in here.with_open_spans() {
                let define = || next.define_thread(owner.os_id, owner.name()).map(|entry| entry.id);
                lock(&next.open_stacks).inherit(&stack, owner.clone(), define, || next.open_spans_chunk());
            }
            self.header.store(file::CONTINUED, 1, Ordering::Release);
        });
    }

    /// Returns the part that this session is, if the recording rotates.
    pub(crate) fn part(&self) -> Option<&Part> {
        self.part.as_ref()
    }

    /// Returns the id of the recording, which is the id of its first session.
    pub(crate) fn recording(&self) -> u64 {
        self.part.as_ref().map_or(self.id, Part::recording)
    }

    /// Returns true if the recording should continue in another file.
    pub(crate) fn is_full_part(&self) -> bool {
        self.part.as_ref().is_some_and(|part| part.is_full(self.n_bytes_taken()))
    }

    fn n_bytes_taken(&self) -> u64 {
        self.n_taken.load(Ordering::Relaxed) * CHUNK_BYTES as u64
    }

    /// Returns the urgency of writing earlier parts.
    fn urgency(&self) -> Urgency {
        let part = self.part.as_ref().filter(|_| self.on_parts_due.is_some());
        let urgency = |part: &Part| part.urgency(background::n_active(), self.n_bytes_taken(), self.spool.limit());
        part.map_or(Urgency::Low, urgency)
    }

    /// Starts the next part and writes the outputs of earlier ones, as far as they are due. Called by the keeper.
    pub(crate) fn tend_parts(&self) {
        let (Some(part), Some(on_parts_due)) = (&self.part, self.on_parts_due) else {
            return;
        };
        background::demand(self.urgency());
        if self.is_full_part() || part.is_retry_due() {
            on_parts_due(self.id);
        }
    }

    /// Work of a higher layer to do from time to time. Called by the keeper.
    pub(crate) fn on_keeping(&self) {
        if let Some(on_keeping) = self.on_keeping {
            on_keeping();
        }
    }

    fn is_limited_by_time(&self) -> bool {
        self.part.as_ref().is_some_and(|part| part.time_left().is_some())
    }

    /// Returns true if the keeper thread has anything to do.
    pub(crate) fn needs_keeper(&self) -> bool {
        self.is_limited_by_time() || self.n_taken.load(Ordering::Relaxed) > CHUNKS_WITHOUT_KEEPER
    }

    fn keeper(&self) -> Option<&Thread> {
        self.keeper.get_or_init(|| keeper::start(self.me.clone())).as_ref()
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn clock(&self) -> ClockKind {
        self.clock
    }

    pub(crate) fn spool(&self) -> &Spool {
        &self.spool
    }

    /// Returns true if times in JSON are whole microseconds.
    pub(crate) fn has_whole_micros(&self) -> bool {
        self.whole_micros
    }

    pub(crate) fn ending_threads(&self) -> &Mutex<EndingThreadWriter> {
        &self.ending_threads
    }

    pub(crate) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    /// Counts lost events.
    pub(crate) fn count_dropped(&self, n: u64) {
        self.dropped.add(n);
        self.n_lost.fetch_add(n, Ordering::Relaxed);
    }

    /// Counts a lost event of a thread.
    pub(crate) fn count_dropped_by(&self, thread: &ThreadEntry) {
        thread.dropped.add(1);
        self.n_lost.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of events that the recording has lost so far, in all of its parts.
    pub(crate) fn n_lost(&self) -> u64 {
        self.n_lost.load(Ordering::Relaxed)
    }

    /// Counts a refused dump in the spool.
    pub(crate) fn count_refused_dump(&self, reason: DumpRefusal) {
        self.header.counter(file::DUMPS_REFUSED + reason as usize).add(1);
    }

    /// Takes an empty chunk for events. Returns `None` if there is none, or if the session has been closed.
    pub(crate) fn fresh_chunk(&self) -> Option<MappedChunk> {
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
            let is_urgent = || self.urgency() > Urgency::Low && !background::is_demanded(self.urgency());
            let is_first = !self.has_used_keeper.swap(true, Ordering::Relaxed);
            let needs_keeper = is_first || self.spool.is_low() || self.is_full_part() || is_urgent();
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

    /// Returns a stack of open spans that has a slot for `level`. It replaces the thread's stack `small`, if any.
    /// Returns `None` if there is no room.
    pub(crate) fn open_stack(&self, owner: Owner, small: Option<&OpenStack>, level: usize) -> Option<OpenStack> {
        let mut stacks = lock_for_event(&self.open_stacks)?;
        let fresh = || self.open_spans_chunk();
        match small {
            Some(small) => stacks.grow(owner, small, level, fresh),
            None => stacks.take(owner, level, fresh),
        }
    }

    /// Returns a stack with the spans that a thread had open in the previous part, if any.
    pub(crate) fn carry_open_stack_over(&self, owner: Owner, old: Option<&OpenStack>) -> Option<OpenStack> {
        lock_for_event(&self.open_stacks)?.carry_over(owner, old, || self.open_spans_chunk())
    }

    /// Takes stacks of open spans back from a thread. Returns false if the lock is held for too long.
    pub(crate) fn put_open_stacks_back<'a>(&self, stacks: impl Iterator<Item = &'a OpenStack>) -> bool {
        let Some(mut all) = lock_for_event(&self.open_stacks) else {
            return false;
        };
        stacks.for_each(|stack| all.put_back(stack));
        true
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
        // After the end, the spool is stopped because the recording has ended.
        if self.is_open() {
            self.header.store(file::STOP_REASON, stop_word(reason), Ordering::Relaxed);
            if reason != StopReason::Limit {
                // It resumes the recording when there is room again.
                self.keeper();
            }
        }
    }

    /// Defines a call site under a number. `None` if there is no room, or the lock is held for too long.
    pub(crate) fn define_site(&self, site: &Site, id: u32) -> Option<()> {
        lock_for_event(&self.definitions)?.define_site(site, id, &|| self.definitions_chunk())
    }

    /// Names the process.
    pub(crate) fn define_process(&self, name: &str) -> Option<()> {
        self.define(&Definition::Process { name: kept_text(name) })
    }

    /// Writes the rank, host and boot of this process.
    fn define_origin(&self, rank: Option<u32>) -> Option<()> {
        let host = host_name().unwrap_or_default();
        let boot_id = boot_id().unwrap_or_default();
        self.define(&Definition::Origin { rank, host: kept_text(&host), boot_id: kept_text(&boot_id) })
    }

    /// Changes the name of a thread. In a ring, the thread does so in its chunk.
    pub(crate) fn define_thread_name(&self, id: u32, name: &str) -> Option<()> {
        if self.spool.is_ring() {
            return None;
        }
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

    /// Gives the calling thread a number. In a ring, the thread defines itself in each of its chunks. `None` if there
    /// is no room, or the lock is held for too long.
    pub(crate) fn define_thread(&self, os_id: u64, name: &str) -> Option<ThreadEntry> {
        let mut definitions = lock_for_event(&self.definitions)?;
        if self.spool.is_ring() {
            let id = definitions.number_thread();
            return Some(ThreadEntry { id, dropped: self.header.counter(file::DROPPED) });
        }
        definitions.define_thread(os_id, name, &|| self.definitions_chunk())
    }

    /// Gives a named track a number.
    pub(crate) fn define_track(&self, name: &str, sort: i64) -> Option<u32> {
        lock(&self.definitions).define_track(name, sort, &|| self.definitions_chunk())
    }

    /// Returns the number of a name made at run time, or `None` if there are too many of them to define, or the lock is
    /// held for too long.
    pub(crate) fn intern(&self, name: &str, category: &str) -> Option<Interned> {
        lock_for_event(&self.definitions)?.intern(name, category, &|| self.definitions_chunk())
    }

    /// Writes a calibration point: the present time of the recording's clock and of the monotonic clock.
    pub(crate) fn calibrate(&self) {
        self.define_point(self.clock.calibration_point());
    }

    fn define_point(&self, point: (u64, u64)) {
        let retire = |chunk| self.spool.put_full(chunk, MANY_THREADS);
        lock(&self.definitions).define_point(point, &|| self.definitions_chunk(), retire);
    }

    /// Brings the output up to date with the events that were recorded before this call.
    pub(crate) fn flush(&self) -> Result<(), Error> {
        // Signal handlers of this thread cannot record meanwhile: they might wait for the lock that is held here.
        quietly(|| {
            let mut output = lock(&self.output);
            if !self.is_open() {
                return Err(Error::not_recording());
            }
            self.count_dropped(interrupted::take());
            self.calibrate();
            self.check_length(output.spool_path())?;
            if self.spool.is_ring() {
                let copy = Snapshot::take(self.spool.file(), &with_ending(output.spool_path(), COPY))?;
                return output.rewrite(copy.file());
            }
            // Threads continue to record: the calibration point above lies before their latest events.
            output.flush(self.spool.file(), &|| self.calibrate())
        })
    }

    /// Closes the session: threads that record from now on find another recording or none. Returns false if it was
    /// closed already.
    pub(crate) fn close(&self) -> bool {
        let is_closed = self.mark_closed();
        if is_closed {
            self.close_chunks();
        }
        is_closed
    }

    /// The first half of [`close`](Self::close): no chunk is handed out from now on. Returns false if it was closed
    /// already.
    pub(crate) fn mark_closed(&self) -> bool {
        self.pid == std::process::id() && self.is_open.swap(false, Ordering::AcqRel)
    }

    /// The second half of [`close`](Self::close): threads that own a chunk find it closed and request another one. This
    /// writes to each chunk, which may take long in the kernel, so the caller must hold no lock that those threads
    /// need.
    pub(crate) fn close_chunks(&self) {
        // Pairs with the fence in `Attachment::refill`, for threads that are taking a chunk at this moment.
        fence(Ordering::SeqCst);
        self.spool.close_chunks();
        quietly(|| lock(&self.open_stacks).close());
    }

    /// Completes the output of a session that has been closed, and removes the spool unless it is the output.
    /// `write_dumps` writes the pending dump of a ring. May be called again after a failure.
    pub(crate) fn complete(&self, write_dumps: impl FnOnce()) -> Result<Stats, Error> {
        let stats = quietly(|| {
            // Waits for a flush that is in progress; later ones find that the recording has ended.
            let mut output = lock(&self.output);
            if !self.is_released.load(Ordering::Relaxed) {
                self.count_dropped(interrupted::take());
                self.calibrate();
            }
            self.check_length(output.spool_path())?;
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
            // A thread may keep the file open for as long as it lives, but other recordings may use the path now.
            let _ = self.spool.file().unlock();
        }
        stats
    }

    /// Ends a session without events, and removes its spool.
    pub(crate) fn discard(&self) {
        self.close();
        self.unpark_keeper();
        let _ = std::fs::remove_file(self.spool_path());
        self.release_memory();
    }

    /// Releases the memory after [`complete`](Self::complete), in a process that continues. Later writes to it are
    /// lost.
    pub(crate) fn release_memory(&self) {
        self.is_released.store(true, Ordering::Relaxed);
        self.spool.revoke();
    }

    /// Returns an error if another process has cut the spool. The output stays as it was after the last flush.
    fn check_length(&self, path: &Path) -> Result<(), Error> {
        let Some((expected, actual)) = self.spool.cut() else {
            return Ok(());
        };
        let words = format!("another process cut it: expected {expected} bytes, found {actual}");
        Err(Error::io("events of the spool are lost", path, std::io::Error::other(words)))
    }

    fn unpark_keeper(&self) {
        if let Some(Some(keeper)) = self.keeper.get() {
            keeper.unpark();
        }
    }

    /// Returns the counts so far. Reads the part of the spool that is new since the last call.
    pub(crate) fn stats(&self) -> Result<Stats, Error> {
        quietly(|| {
            let bytes = self.spool.n_bytes();
            let mut output = lock(&self.output);
            if self.spool.is_ring() {
                output.begin_anew();
            }
            output.stats(self.spool.file(), bytes)
        })
    }

    /// Returns the reason why events were lost for lack of room, if any were. Only while the memory is not released.
    pub(crate) fn why_lost(&self) -> Option<&'static str> {
        stop_reason(self.header.load(file::STOP_REASON, Ordering::Relaxed)).map(StopReason::describe)
    }

    /// Returns the path of the spool.
    pub(crate) fn spool_path(&self) -> PathBuf {
        lock(&self.output).spool_path().to_owned()
    }

    /// Returns the path of the spool if it is still there: someone may have removed its folder.
    pub(crate) fn spool_on_disk(&self) -> Option<PathBuf> {
        Some(self.spool_path()).filter(|path| is_at(self.spool.file(), path))
    }

    /// Returns the path of the output.
    pub(crate) fn output_path(&self) -> &Path {
        &self.output_path
    }

    /// Returns true if nothing was recorded and the output's path still has the file of another recording.
    pub(crate) fn has_kept_old_file(&self) -> bool {
        let is_staged = self.staged.as_ref().is_some_and(|staged| !staged.is_in_place());
        is_staged || lock(&self.output).has_kept_old_file()
    }

    /// Returns true if any thread has taken a chunk for events.
    pub(crate) fn has_chunks(&self) -> bool {
        self.n_taken.load(Ordering::Relaxed) > 0
    }

    /// Returns the reason why no more events fit, if so.
    pub(crate) fn why_full(&self) -> Option<&'static str> {
        self.spool.stopped().filter(|_| self.is_open() && !self.spool.is_ring()).map(StopReason::describe)
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

fn cannot_start(path: &Path, reason: Option<StopReason>) -> Error {
    let kind = match reason {
        Some(StopReason::NoSpace) => std::io::ErrorKind::StorageFull,
        Some(StopReason::FileSize) => std::io::ErrorKind::FileTooLarge,
        Some(StopReason::Limit | StopReason::Io | StopReason::Truncated) | None => std::io::ErrorKind::Other,
    };
    Error::io("cannot reserve the spool", path, kind.into())
}

//! The full chunks of a flight recorder, and the choice of the next one to overwrite.
//!
//! The oldest chunk is overwritten first, but the last few chunks of each living thread stay as long as other threads
//! have more: a thread that records much does not push out the last moments of a thread that records little. While a
//! dump is pending, chunks from before its trigger stay in half of the ring, and recording continues in the other half.
//!
//! A thread that ends leaves a chunk with room. It counts as any other, and the next thread that begins continues in
//! it: otherwise, many short threads would fill the ring with chunks that are nearly empty. All memory is allocated at
//! the start, since chunks are put here by threads that must not allocate.

use crate::memory::segment::MappedChunk;

/// Full chunks of each living thread that stay as long as others have more, besides the one it writes to.
const CHUNKS_KEPT: u32 = 2;

/// The full chunks of a spool.
#[derive(Debug)]
pub(crate) struct Ring {
    /// By position in the file.
    chunks: Vec<Option<Full>>,
    queues: Vec<Queue>,
    /// While a dump is pending: number of chunks that may still be overwritten before the rest is pinned.
    n_before_pinned: Option<usize>,
}

#[derive(Debug)]
struct Full {
    chunk: MappedChunk,
    /// Time when it was put here.
    nanos: u64,
    /// The thread's next chunk.
    next: Option<u32>,
    /// True if the thread has ended and left room for another thread.
    has_room: bool,
}

/// The chunks of one thread, oldest first.
#[derive(Clone, Copy, Debug)]
struct Queue {
    thread: u32,
    first: u32,
    last: u32,
    len: u32,
    /// True while the thread may put more.
    is_alive: bool,
    /// The last chunk that is pinned for a dump.
    pinned: Option<u32>,
    /// True if the thread's next chunk is pinned too: the thread was writing to it when the dump was triggered.
    pins_next: bool,
}

impl Ring {
    /// Creates a ring with room for `n_chunks` chunks.
    pub(crate) fn new(n_chunks: usize) -> Self {
        let mut chunks = Vec::new();
        chunks.resize_with(n_chunks, || None);
        // A thread without chunks has no queue.
        Self { chunks, queues: Vec::with_capacity(n_chunks), n_before_pinned: None }
    }

    /// Adds a full chunk. Returns the chunk if it has no place here, which does not happen in a ring.
    pub(crate) fn put(&mut self, chunk: MappedChunk, thread: u32, nanos: u64) -> Result<(), MappedChunk> {
        self.add(chunk, thread, nanos, false)
    }

    /// Adds the last chunk of a thread that ends. `has_room` is true if another thread may continue in it.
    pub(crate) fn put_last(
        &mut self,
        chunk: MappedChunk,
        thread: u32,
        nanos: u64,
        has_room: bool,
    ) -> Result<(), MappedChunk> {
        let added = self.add(chunk, thread, nanos, has_room);
        self.end(thread);
        added
    }

    fn add(&mut self, chunk: MappedChunk, thread: u32, nanos: u64, has_room: bool) -> Result<(), MappedChunk> {
        let place = chunk.index() as u32;
        let Some(slot) = self.chunks.get_mut(place as usize).filter(|slot| slot.is_none()) else {
            return Err(chunk);
        };
        *slot = Some(Full { chunk, nanos, next: None, has_room });
        match self.queues.iter_mut().find(|queue| queue.thread == thread) {
            Some(queue) => {
                let last = std::mem::replace(&mut queue.last, place);
                queue.len += 1;
                if std::mem::take(&mut queue.pins_next) {
                    queue.pinned = Some(place);
                }
                if let Some(Some(last)) = self.chunks.get_mut(last as usize) {
                    last.next = Some(place);
                }
            }
            None => {
                let pinned = self.n_before_pinned.map(|_| place);
                let queue =
                    Queue { thread, first: place, last: place, len: 1, is_alive: true, pinned, pins_next: false };
                self.queues.push(queue);
            }
        }
        Ok(())
    }

    /// Marks a thread as ended: its last chunks are no longer spared.
    fn end(&mut self, thread: u32) {
        if let Some(queue) = self.queues.iter_mut().find(|queue| queue.thread == thread) {
            queue.is_alive = false;
        }
    }

    /// Takes the latest chunk with room, so that another thread continues in it. If it is pinned, it is pinned again
    /// when it is put back, as the first chunk of its thread.
    pub(crate) fn take_with_room(&mut self) -> Option<MappedChunk> {
        let left = self.queues.iter().enumerate().filter_map(|(n, queue)| {
            let last = self.full(queue.last).filter(|last| last.has_room && !queue.is_alive)?;
            Some((n, last.nanos))
        });
        let (n, _) = left.max_by_key(|&(_, nanos)| nanos)?;
        let Queue { first, last, .. } = self.queues[n];
        if first == last {
            return self.take_first(n);
        }
        let mut before = first;
        while let Some(next) = self.full(before)?.next.filter(|&next| next != last) {
            before = next;
        }
        let full = self.chunks[last as usize].take()?;
        if let Some(Some(before)) = self.chunks.get_mut(before as usize) {
            before.next = None;
        }
        let queue = &mut self.queues[n];
        (queue.last, queue.len) = (before, queue.len - 1);
        queue.pinned = queue.pinned.map(|pinned| if pinned == last { before } else { pinned });
        Some(full.chunk)
    }

    /// Pins the present chunks for a dump. Half of the ring may still be overwritten, oldest first; the rest stays
    /// until [`unpin`](Self::unpin).
    pub(crate) fn pin(&mut self) {
        self.n_before_pinned = Some(self.chunks.len() / 2);
        for queue in &mut self.queues {
            queue.pinned = Some(queue.last);
            queue.pins_next = queue.is_alive;
        }
    }

    /// Unpins all chunks: the dump has been copied.
    pub(crate) fn unpin(&mut self) {
        self.n_before_pinned = None;
        for queue in &mut self.queues {
            (queue.pinned, queue.pins_next) = (None, false);
        }
    }

    /// Takes the next chunk to overwrite, if it was put here before `nanos`.
    pub(crate) fn take_before(&mut self, nanos: u64) -> Option<MappedChunk> {
        // Once half is overwritten, take new chunks, and pinned ones only if there are no others.
        let unpinned = (self.n_before_pinned == Some(0)).then(|| self.choose(Self::first_unpinned)).flatten();
        let (n, place) = unpinned.or_else(|| self.choose(|_, queue| Some(queue.first)))?;
        if self.full(place)?.nanos >= nanos {
            return None;
        }
        if let Some(left) = &mut self.n_before_pinned {
            *left = left.saturating_sub(1);
        }
        if place == self.queues[n].first { self.take_first(n) } else { self.take_unpinned(n, place) }
    }

    /// Chooses the queue and the chunk to overwrite next. `candidate` gives at most one chunk of each queue.
    fn choose(&self, candidate: impl Fn(&Self, &Queue) -> Option<u32>) -> Option<(usize, u32)> {
        let is_free = |queue: &Queue| !queue.is_alive || queue.len > CHUNKS_KEPT;
        let oldest = |is_included: &dyn Fn(&Queue) -> bool| {
            let included = self.queues.iter().enumerate().filter(|(_, queue)| is_included(queue));
            let candidates = included.filter_map(|(n, queue)| Some((n, candidate(self, queue)?)));
            candidates.min_by_key(|&(_, place)| self.full(place).map_or(u64::MAX, |full| full.nanos))
        };
        oldest(&is_free).or_else(|| oldest(&|_| true))
    }

    fn full(&self, place: u32) -> Option<&Full> {
        self.chunks.get(place as usize)?.as_ref()
    }

    /// Returns the thread's oldest chunk that is not pinned.
    fn first_unpinned(&self, queue: &Queue) -> Option<u32> {
        match queue.pinned {
            Some(pinned) => self.full(pinned)?.next,
            None => Some(queue.first),
        }
    }

    fn take_first(&mut self, n: usize) -> Option<MappedChunk> {
        let queue = &mut self.queues[n];
        let full = self.chunks[queue.first as usize].take()?;
        queue.len -= 1;
        queue.pinned = queue.pinned.filter(|&pinned| pinned != queue.first);
        match full.next {
            Some(next) => queue.first = next,
            None => drop(self.queues.swap_remove(n)),
        }
        Some(full.chunk)
    }

    /// Takes the first chunk after the pinned ones.
    fn take_unpinned(&mut self, n: usize, place: u32) -> Option<MappedChunk> {
        let queue = &mut self.queues[n];
        let full = self.chunks[place as usize].take()?;
        queue.len -= 1;
        let pinned = queue.pinned?;
        if queue.last == place {
            queue.last = pinned;
        }
        if let Some(Some(pinned)) = self.chunks.get_mut(pinned as usize) {
            pinned.next = full.next;
        }
        Some(full.chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::spool::Spool;

    const N: usize = 16;

    /// Returns chunks without a writer, numbered from 0.
    fn chunks(name: &str) -> Vec<MappedChunk> {
        let path = std::env::temp_dir().join(format!("ferrum-ring-unit-{}-{name}", std::process::id()));
        let mut options = std::fs::OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let spool = Spool::new(file, 1 << 20, None);
        let mut chunks: Vec<MappedChunk> = (0..N).map(|_| spool.take_fresh().unwrap()).collect();
        chunks.sort_by_key(MappedChunk::index);
        chunks
    }

    /// Returns a ring filled by two threads in turns.
    fn full_ring(name: &str) -> Ring {
        let mut ring = Ring::new(N);
        for (n, chunk) in chunks(name).into_iter().enumerate() {
            ring.put(chunk, n as u32 % 2, n as u64).unwrap();
        }
        ring
    }

    /// Records `n` chunks on thread 0: takes each chunk from the ring and puts it back full. Returns their numbers.
    fn record(ring: &mut Ring, n: u64) -> Vec<u64> {
        let take = |nanos| {
            let chunk = ring.take_before(u64::MAX).unwrap();
            let index = chunk.index();
            ring.put(chunk, 0, 100 + nanos).unwrap();
            index
        };
        (0..n).map(take).collect()
    }

    #[test]
    fn the_oldest_is_overwritten_but_the_last_ones_of_each_living_thread_stay() {
        let mut ring = full_ring("oldest");
        // Thread 1 records no more; its last two stay.
        assert_eq!(record(&mut ring, 14), (0..12).chain([12, 14]).collect::<Vec<u64>>());
        assert!(record(&mut ring, 50).iter().all(|&index| index != 13 && index != 15));
        ring.end(1);
        assert!(record(&mut ring, 14).contains(&13));
    }

    #[test]
    fn the_latest_chunk_that_an_ended_thread_has_left_is_continued() {
        let mut ring = Ring::new(N);
        let mut chunks = chunks("continued").into_iter();
        let mut next = || chunks.next().unwrap();
        let index = |taken: Option<MappedChunk>| taken.map(|chunk| chunk.index());
        ring.put(next(), 1, 0).unwrap();
        assert_eq!(index(ring.take_with_room()), None, "a full chunk has no room");
        ring.put_last(next(), 1, 1, true).unwrap();
        ring.put_last(next(), 2, 2, true).unwrap();
        ring.put_last(next(), 3, 3, false).unwrap();
        assert_eq!(index(ring.take_with_room()), Some(2));
        assert_eq!(index(ring.take_with_room()), Some(1));
        assert_eq!(index(ring.take_with_room()), None);
        let rest: Vec<u64> = std::iter::from_fn(|| index(ring.take_before(u64::MAX))).collect();
        assert_eq!(rest, [0, 3]);
    }

    #[test]
    fn a_pinned_chunk_that_is_continued_stays_pinned() {
        let mut ring = full_ring("continued-pinned");
        let last = ring.take_before(u64::MAX).unwrap();
        let index = last.index();
        ring.put_last(last, 7, 50, true).unwrap();
        ring.pin();
        let continued = ring.take_with_room().unwrap();
        assert_eq!(continued.index(), index);
        ring.put_last(continued, 8, 60, true).unwrap();
        assert!(record(&mut ring, 100).iter().all(|&taken| taken != index), "it was overwritten before it was copied");
    }

    #[test]
    fn chunks_from_before_a_dump_stay_in_half_of_the_ring_until_they_are_copied() {
        let mut ring = full_ring("pinned");
        ring.pin();
        assert_eq!(record(&mut ring, 8), (0..8).collect::<Vec<u64>>());
        // Pinned are 8 to 15, and 0, the first that was put after the trigger: it was being written at that time.
        assert!(record(&mut ring, 100).iter().all(|index| (1..8).contains(index)));
        ring.unpin();
        assert_eq!(record(&mut ring, 5), [8, 9, 10, 11, 12]);
        let mut all = record(&mut ring, 100);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), N - 2);
    }

    #[test]
    fn pinned_chunks_are_overwritten_if_there_are_no_others() {
        let mut ring = full_ring("only-pinned");
        ring.pin();
        let taken: Vec<MappedChunk> = std::iter::from_fn(|| ring.take_before(u64::MAX)).collect();
        assert_eq!(taken.len(), N);
    }
}

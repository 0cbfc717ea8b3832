//! The full chunks of a flight recorder, and which of them is used again next.
//!
//! The oldest one goes, but of each living thread the last few stay as long as others have more: a thread that records much does
//! not push out the last moments of one that records little. While a dump is on its way, what led to it stays in half of the ring, and the
//! other half goes on. All memory is there from the beginning, since chunks are put here by threads that
//! must not allocate.

use crate::memory::segment::MappedChunk;

/// Full chunks of each living thread that stay as long as others have more, besides the one it writes to.
const CHUNKS_KEPT: u32 = 2;

/// The full chunks of a spool.
#[derive(Debug)]
pub struct Ring {
    /// By their place in the file.
    chunks: Vec<Option<Full>>,
    queues: Vec<Queue>,
    /// While a dump is on its way: how many chunks may still go before those that led to it stay.
    n_before_pinned: Option<usize>,
}

#[derive(Debug)]
struct Full {
    chunk: MappedChunk,
    /// When it was put here.
    nanos: u64,
    /// The next one of the same thread.
    next: Option<u32>,
}

/// The chunks of one thread, oldest first.
#[derive(Clone, Copy, Debug)]
struct Queue {
    thread: u32,
    first: u32,
    last: u32,
    len: u32,
    /// Whether the thread may come with more.
    is_alive: bool,
    /// The last one of those that led to a dump.
    pinned: Option<u32>,
    /// Whether the next one has part of that: the thread was writing to it.
    pins_next: bool,
}

impl Ring {
    /// Room for so many chunks.
    pub fn new(n_chunks: usize) -> Self {
        let mut chunks = Vec::new();
        chunks.resize_with(n_chunks, || None);
        // A thread without chunks has no queue.
        Self { chunks, queues: Vec::with_capacity(n_chunks), n_before_pinned: None }
    }

    /// Keeps a full chunk. One that has no place, as in no ring it should, is given back.
    pub fn put(&mut self, chunk: MappedChunk, thread: u32, nanos: u64) -> Result<(), MappedChunk> {
        let place = chunk.index() as u32;
        let Some(slot) = self.chunks.get_mut(place as usize).filter(|slot| slot.is_none()) else {
            return Err(chunk);
        };
        *slot = Some(Full { chunk, nanos, next: None });
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

    /// A thread has ended, and its chunks are as good as any.
    pub fn end(&mut self, thread: u32) {
        if let Some(queue) = self.queues.iter_mut().find(|queue| queue.thread == thread) {
            queue.is_alive = false;
        }
    }

    /// A dump is asked for: once half of the chunks have gone, those that are here now stay until [`unpin`](Self::unpin).
    pub fn pin(&mut self) {
        self.n_before_pinned = Some(self.chunks.len() / 2);
        for queue in &mut self.queues {
            queue.pinned = Some(queue.last);
            queue.pins_next = queue.is_alive;
        }
    }

    /// The dump has what it needs.
    pub fn unpin(&mut self) {
        self.n_before_pinned = None;
        for queue in &mut self.queues {
            (queue.pinned, queue.pins_next) = (None, false);
        }
    }

    /// Takes the chunk that is to be used again, if it was put here before `nanos`.
    pub fn take_before(&mut self, nanos: u64) -> Option<MappedChunk> {
        // Rather what led to a dump than what happens now.
        let behind = (self.n_before_pinned == Some(0)).then(|| self.choose(Self::first_behind)).flatten();
        let (n, place) = behind.or_else(|| self.choose(|_, queue| Some(queue.first)))?;
        if self.full(place)?.nanos >= nanos {
            return None;
        }
        if let Some(left) = &mut self.n_before_pinned {
            *left = left.saturating_sub(1);
        }
        if place == self.queues[n].first { self.take_first(n) } else { self.take_behind(n, place) }
    }

    /// A thread whose chunk is to be used again, and which one. Threads have one or none to choose from.
    fn choose(&self, candidate: impl Fn(&Self, &Queue) -> Option<u32>) -> Option<(usize, u32)> {
        let is_free = |queue: &Queue| !queue.is_alive || queue.len > CHUNKS_KEPT;
        let oldest = |is_asked: &dyn Fn(&Queue) -> bool| {
            let asked = self.queues.iter().enumerate().filter(|(_, queue)| is_asked(queue));
            let candidates = asked.filter_map(|(n, queue)| Some((n, candidate(self, queue)?)));
            candidates.min_by_key(|&(_, place)| self.full(place).map_or(u64::MAX, |full| full.nanos))
        };
        oldest(&is_free).or_else(|| oldest(&|_| true))
    }

    fn full(&self, place: u32) -> Option<&Full> {
        self.chunks.get(place as usize)?.as_ref()
    }

    /// The oldest chunk of a thread that has nothing of what led to a dump.
    fn first_behind(&self, queue: &Queue) -> Option<u32> {
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

    /// Takes the chunk right behind those that led to a dump.
    fn take_behind(&mut self, n: usize, place: u32) -> Option<MappedChunk> {
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

    /// Chunks that nobody writes to, numbered from 0.
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

    /// Fills a ring in turns by two threads.
    fn full_ring(name: &str) -> Ring {
        let mut ring = Ring::new(N);
        for (n, chunk) in chunks(name).into_iter().enumerate() {
            ring.put(chunk, n as u32 % 2, n as u64).unwrap();
        }
        ring
    }

    /// One thread goes on: takes what it may, and puts that back full.
    fn go_on(ring: &mut Ring, n: u64) -> Vec<u64> {
        let take = |nanos| {
            let chunk = ring.take_before(u64::MAX).unwrap();
            let index = chunk.index();
            ring.put(chunk, 0, 100 + nanos).unwrap();
            index
        };
        (0..n).map(take).collect()
    }

    #[test]
    fn the_oldest_goes_first_but_the_last_ones_of_each_living_thread_stay() {
        let mut ring = full_ring("oldest");
        // Of thread 1, which records no more, the last two stay.
        assert_eq!(go_on(&mut ring, 14), (0..12).chain([12, 14]).collect::<Vec<u64>>());
        assert!(go_on(&mut ring, 50).iter().all(|&index| index != 13 && index != 15));
        ring.end(1);
        assert!(go_on(&mut ring, 14).contains(&13));
    }

    #[test]
    fn what_led_to_a_dump_stays_in_half_of_the_ring_until_it_is_copied() {
        let mut ring = full_ring("pinned");
        ring.pin();
        assert_eq!(go_on(&mut ring, 8), (0..8).collect::<Vec<u64>>());
        // What was there at the dump and is still there: 8 to 15, and the first that was put after it, 0, which was being written to.
        assert!(go_on(&mut ring, 100).iter().all(|index| (1..8).contains(index)));
        ring.unpin();
        assert_eq!(go_on(&mut ring, 5), [8, 9, 10, 11, 12]);
        let mut all = go_on(&mut ring, 100);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), N - 2);
    }

    #[test]
    fn rather_what_led_to_a_dump_goes_than_what_happens_now() {
        let mut ring = full_ring("rather");
        ring.pin();
        let taken: Vec<MappedChunk> = std::iter::from_fn(|| ring.take_before(u64::MAX)).collect();
        assert_eq!(taken.len(), N);
    }
}

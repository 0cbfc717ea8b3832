//! Reads a whole file, on one thread or on several that take one piece after the other.

use super::facts::WithFacts;
use super::pieces::{PIECE_BYTES, Piece, Pieces};
use super::scanner::{DocumentShape, EventSink, MoreInput, Scanner, VALUE_BYTES_MAX};
use crate::Error;
use crate::ordered::{Turns, on_workers};
use ferrum_trace_model::Recordings;
use std::io::Read;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Facts about a file other than its events, known after reading all of it.
#[derive(Clone, Debug)]
pub struct Outline {
    /// The structure of the document.
    pub shape: DocumentShape,
    /// Facts that the recorder states about the recordings in it.
    pub recordings: Recordings,
}

/// Calls `sink` for every event of a file, in order.
///
/// # Errors
///
/// If the file cannot be read, or is not a trace.
pub fn for_each<S: EventSink>(input: impl Read, sink: &mut S) -> Result<Outline, Error> {
    let mut sink = WithFacts::new(sink);
    let mut pieces = Pieces::new(input, PIECE_BYTES);
    let mut joiner = PieceJoiner::default();
    while let Some(piece) = next_piece(&mut pieces)? {
        joiner.add(&piece, &mut sink)?;
        pieces.give_back(piece.bytes);
    }
    let shape = joiner.finish(&mut sink)?;
    Ok(Outline { shape, recordings: sink.recordings })
}

/// Finds every event of a file on several threads. Each piece of the file has its own sink; `take` gets the sinks in
/// the order of the file. The result does not depend on the number of threads.
///
/// # Errors
///
/// If the file cannot be read, is not a trace, or `take` fails.
pub fn read<S: EventSink + Send>(
    input: impl Read + Send,
    n_workers: usize,
    new_sink: impl Fn() -> S + Sync,
    take: impl FnMut(S) -> Result<(), Error> + Send,
) -> Result<Outline, Error> {
    read_in_pieces(input, PIECE_BYTES, n_workers, new_sink, take)
}

/// Does the same as [`read`] with another size of pieces, for tests. The result does not depend on the size.
#[doc(hidden)]
pub fn read_in_pieces<S: EventSink + Send>(
    input: impl Read + Send,
    piece_bytes: usize,
    n_workers: usize,
    new_sink: impl Fn() -> S + Sync,
    mut take: impl FnMut(S) -> Result<(), Error> + Send,
) -> Result<Outline, Error> {
    let mut recordings = Recordings::default();
    let take = |piece: WithFacts<S>| {
        recordings.append(piece.recordings);
        take(piece.sink)
    };
    let shape = read_pieces(Pieces::new(input, piece_bytes), n_workers, || WithFacts::new(new_sink()), take)?;
    Ok(Outline { shape, recordings })
}

fn read_pieces<S: EventSink + Send>(
    mut pieces: Pieces<impl Read + Send>,
    n_workers: usize,
    new_sink: impl Fn() -> S + Sync,
    mut take: impl FnMut(S) -> Result<(), Error> + Send,
) -> Result<DocumentShape, Error> {
    let mut joiner = PieceJoiner::default();
    // The start of the document determines how the list is read.
    while !joiner.scanner.has_list() {
        let Some(piece) = next_piece(&mut pieces)? else {
            break;
        };
        let mut sink = new_sink();
        joiner.add(&piece, &mut sink)?;
        take(sink)?;
        pieces.give_back(piece.bytes);
    }
    let shape = joiner.scanner.shape();
    let scan = OrderedScan { pieces: Mutex::new((pieces, 0)), turns: Turns::new(Receiver { joiner, take }) };
    on_workers(n_workers, "ferrum-trace-read", || scan.work(shape, &new_sink));
    let (result, Receiver { joiner, mut take }) = scan.turns.into_inner();
    result?;
    let mut sink = new_sink();
    let shape = joiner.finish(&mut sink)?;
    take(sink)?;
    Ok(shape)
}

fn next_piece<R: Read>(pieces: &mut Pieces<R>) -> Result<Option<Piece>, Error> {
    pieces.next_piece().map_err(|cause| match cause.downcast::<Error>() {
        Ok(error) => error,
        Err(cause) => Error::io("cannot read", cause),
    })
}

/// Joins the pieces of a file in order.
#[derive(Default)]
struct PieceJoiner {
    scanner: Scanner,
    /// The bytes of an incomplete value.
    rest: Vec<u8>,
    /// The offset of these bytes in the file.
    offset: u64,
}

impl PieceJoiner {
    /// Scans the next piece.
    fn add(&mut self, piece: &Piece, sink: &mut impl EventSink) -> Result<(), Error> {
        if self.rest.is_empty() {
            self.offset = piece.offset;
            let n_done = self.scanner.scan(&piece.bytes, piece.offset, MoreInput::Coming, sink)?;
            self.keep(&piece.bytes, n_done);
            return Ok(());
        }
        self.rest.extend_from_slice(&piece.bytes);
        self.scan_rest(MoreInput::Coming, sink)?;
        if self.rest.len() > VALUE_BYTES_MAX {
            self.scan_rest(MoreInput::TooLong, sink)?;
        }
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8], n_done: usize) {
        self.rest.extend_from_slice(&bytes[n_done..]);
        self.offset += n_done as u64;
    }

    fn scan_rest(&mut self, more: MoreInput, sink: &mut impl EventSink) -> Result<(), Error> {
        let n_done = self.scanner.scan(&self.rest, self.offset, more, sink)?;
        self.rest.drain(..n_done);
        self.offset += n_done as u64;
        Ok(())
    }

    /// Accepts the result of a scan that assumed an event at the start of the piece, if the assumption was right.
    fn accept(&mut self, speculative: &SpeculativeScan<'_>) -> bool {
        let is_right = self.rest.is_empty() && self.scanner.is_before_event(speculative.shape);
        if is_right {
            self.scanner.clone_from(&speculative.scanner);
            self.offset = speculative.piece.offset;
            self.keep(&speculative.piece.bytes, speculative.n_done);
        }
        is_right
    }

    fn finish(mut self, sink: &mut impl EventSink) -> Result<DocumentShape, Error> {
        self.scan_rest(MoreInput::Nothing, sink)?;
        Ok(self.scanner.shape())
    }
}

/// Result of scanning a piece under the assumption that an event starts there.
struct SpeculativeScan<'a> {
    piece: &'a Piece,
    shape: DocumentShape,
    scanner: Scanner,
    n_done: usize,
}

/// Threads that take pieces in order, scan them in parallel, and deliver the results in order.
struct OrderedScan<R, F> {
    /// The rest of the file, and the number of the next piece.
    pieces: Mutex<(Pieces<R>, usize)>,
    turns: Turns<Receiver<F>>,
}

/// Gets the results of all pieces in the order of the file.
struct Receiver<F> {
    joiner: PieceJoiner,
    take: F,
}

impl<R: Read, F> OrderedScan<R, F> {
    fn work<S: EventSink>(&self, shape: DocumentShape, new_sink: &impl Fn() -> S)
    where
        F: FnMut(S) -> Result<(), Error>,
    {
        while let Some((turn, piece)) = self.next_piece() {
            let mut sink = new_sink();
            let mut scanner = Scanner::before_event(shape);
            let scanned = scanner.scan(&piece.bytes, piece.offset, MoreInput::Coming, &mut sink);
            self.turns.end(turn, |receiver| {
                let speculative = SpeculativeScan { piece: &piece, shape, scanner, n_done: scanned? };
                receiver.take(&speculative, sink, new_sink)
            });
            lock(&self.pieces).0.give_back(piece.bytes);
        }
    }

    /// Returns the next piece and its number; `None` after the last piece or an error.
    fn next_piece(&self) -> Option<(usize, Piece)> {
        let mut pieces = lock(&self.pieces);
        let (stream, next_turn) = &mut *pieces;
        if !self.turns.is_ok() {
            return None;
        }
        match next_piece(stream) {
            Ok(piece) => {
                let turn = *next_turn;
                *next_turn += 1;
                piece.map(|piece| (turn, piece))
            }
            Err(error) => {
                self.turns.fail(error);
                None
            }
        }
    }
}

impl<F> Receiver<F> {
    fn take<S: EventSink>(
        &mut self,
        speculative: &SpeculativeScan<'_>,
        sink: S,
        new_sink: &impl Fn() -> S,
    ) -> Result<(), Error>
    where
        F: FnMut(S) -> Result<(), Error>,
    {
        if self.joiner.accept(speculative) {
            return (self.take)(sink);
        }
        let mut sink = new_sink();
        self.joiner.add(speculative.piece, &mut sink)?;
        (self.take)(sink)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

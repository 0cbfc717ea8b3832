//! A pipe between two threads.

use crate::Error;
use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Size of a buffer, and number of buffers that may wait in the channel.
const BUFFER_BYTES: usize = 1 << 20;
const BUFFERS_WAITING: usize = 4;

/// Runs `write` on its own thread and returns a reader of its output. An error of `write` is returned by the reader,
/// after all bytes written before it.
///
/// # Errors
///
/// If no thread can be started.
pub fn spawn(
    write: impl FnOnce(&mut ChannelWriter) -> Result<(), Error> + Send + 'static,
) -> Result<ChannelReader, Error> {
    let (sender, receiver) = sync_channel(BUFFERS_WAITING);
    let run = move || {
        let mut writer = ChannelWriter { sender, buffered: Vec::new() };
        let written =
            write(&mut writer).and_then(|()| writer.send().map_err(|cause| Error::io("cannot convert", cause)));
        if let Err(error) = written {
            // If the reader is gone, the error is not needed.
            let _ = writer.sender.send(Err(error));
        }
    };
    let spawned = thread::Builder::new().name("ferrum-trace-convert".into()).spawn(run);
    spawned.map_err(|cause| Error::io("cannot start a thread", cause))?;
    Ok(ChannelReader { receiver, buffered: Vec::new(), n_taken: 0 })
}

/// The writing end.
#[derive(Debug)]
pub struct ChannelWriter {
    sender: SyncSender<Result<Vec<u8>, Error>>,
    buffered: Vec<u8>,
}

impl ChannelWriter {
    fn send(&mut self) -> io::Result<()> {
        let buffered = std::mem::take(&mut self.buffered);
        self.sender.send(Ok(buffered)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for ChannelWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffered.extend_from_slice(bytes);
        if self.buffered.len() >= BUFFER_BYTES {
            self.send()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The reading end.
#[derive(Debug)]
pub struct ChannelReader {
    receiver: Receiver<Result<Vec<u8>, Error>>,
    buffered: Vec<u8>,
    n_taken: usize,
}

impl Read for ChannelReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.n_taken == self.buffered.len() {
            match self.receiver.recv() {
                Ok(Ok(buffered)) => (self.buffered, self.n_taken) = (buffered, 0),
                Ok(Err(error)) => return Err(io::Error::other(error)),
                // The writer has finished.
                Err(_) => return Ok(0),
            }
        }
        let rest = &self.buffered[self.n_taken..];
        let n_bytes = rest.len().min(buffer.len());
        buffer[..n_bytes].copy_from_slice(&rest[..n_bytes]);
        self.n_taken += n_bytes;
        Ok(n_bytes)
    }
}

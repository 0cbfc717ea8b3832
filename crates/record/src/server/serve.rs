//! A server of its own, on a thread of its own.

use super::gate::check_host;
use super::options::{Address, HttpOptions};
use super::router;
#[cfg(unix)]
use super::unix_socket;
use crate::lifecycle::environment::HTTP_TOKEN;
use crate::os::stderr::say;
use crate::os::thread::without_signals;
use axum::Router;
use axum::middleware::from_fn;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
#[cfg(unix)]
use tokio::net::UnixListener;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, oneshot};
use tokio_io_timeout::TimeoutStream;

/// Connections at a time.
const CONNECTIONS_MAX: usize = 16;
/// Bytes of a request's head at most.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Lines of a request's head at most.
const HEADERS_MAX: usize = 64;
/// How long a client may take for a head, counted from the connection or the last answer on.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long a client may leave an answer unread.
const UNREAD_TIME: Duration = Duration::from_secs(30);
/// How long a connection lasts at most: a file of many gigabytes, but not for ever.
const CONNECTION_TIME: Duration = Duration::from_secs(3600);
/// How long to wait when the system has no connection to give.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Threads for what may wait: each connection has one, and some that nobody waits for.
const WAITING_THREADS_MAX: usize = 2 * CONNECTIONS_MAX;

const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: application/json\r\n\
                      Content-Length: 34\r\n\r\n{\"error\": \"too many connections\"}\n";

/// A server that runs. Dropping it changes nothing.
#[derive(Debug)]
pub struct Server {
    address: Address,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Server {
    /// Where it listens: the port that was free, if 0 was asked for.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Ends it, and answers that are under way. Recordings go on.
    pub fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.thread.join();
    }
}

/// Runs the interface on a thread of its own, at the address of the options.
pub fn serve(options: HttpOptions) -> io::Result<Server> {
    check(&options)?;
    let (tell, told) = mpsc::channel();
    let (stop, stopped) = oneshot::channel();
    let work = move || run(options, stopped, &tell);
    let builder = thread::Builder::new().name("ferrum-trace-http".into());
    let thread = without_signals(|| builder.spawn(work))?;
    let address = told.recv().map_err(io::Error::other)??;
    Ok(Server { address, stop, thread })
}

/// What `FERRUM_TRACE_HTTP` asks for, with one line if that goes wrong, and one with the port if any was asked for.
pub fn serve_from_environment() {
    let options = match HttpOptions::from_environment() {
        Ok(Some(options)) => options,
        Ok(None) => return,
        Err(words) => return say(&format!("{words}; there is no HTTP interface")),
    };
    let is_any_port = matches!(options.address, Address::Tcp(address) if address.port() == 0);
    match serve(options) {
        Ok(server) if is_any_port => say(&format!("listening on http://{}", server.address())),
        Ok(_) => {}
        Err(error) => say(&format!("{error}; there is no HTTP interface")),
    }
}

fn check(options: &HttpOptions) -> io::Result<()> {
    let wrong = |words: String| Err(io::Error::new(io::ErrorKind::InvalidInput, words));
    let HttpOptions { address, directory, token, .. } = options;
    if !address.is_local() && token.is_none() {
        return wrong(format!("{address}: an address that others can reach needs a token, such as {HTTP_TOKEN}"));
    }
    if token.as_ref().is_some_and(|token| token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic())) {
        return wrong("expected a token of printable ASCII characters without blanks".to_owned());
    }
    if !directory.is_dir() {
        return wrong(format!("{}: expected a directory for recordings", directory.display()));
    }
    Ok(())
}

/// The thread. It tells where it listens, or why it does not.
fn run(options: HttpOptions, stopped: oneshot::Receiver<()>, tell: &mpsc::Sender<io::Result<Address>>) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let builder = builder.enable_all().max_blocking_threads(WAITING_THREADS_MAX).thread_name("ferrum-trace-http");
    let runtime = match builder.build() {
        Ok(runtime) => runtime,
        Err(error) => return drop(tell.send(Err(error))),
    };
    let bound = runtime.block_on(Listener::bind(&options.address));
    let listener = match bound.map_err(|error| with_address(&options.address, &error)) {
        Ok((listener, address)) => {
            let _ = tell.send(Ok(address));
            listener
        }
        Err(error) => return drop(tell.send(Err(error))),
    };
    serve_until(&runtime, listener, &app(options), stopped);
    // What waits for a file to be written would keep it.
    runtime.shutdown_background();
}

fn with_address(address: &Address, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{address}: cannot listen: {error}"))
}

fn app(options: HttpOptions) -> Router {
    let is_tcp = matches!(options.address, Address::Tcp(_));
    let needs_host = is_tcp && options.token.is_none();
    let app = router(options);
    if needs_host { app.layer(from_fn(check_host)) } else { app }
}

fn serve_until(runtime: &Runtime, listener: Listener, app: &Router, stopped: oneshot::Receiver<()>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    runtime.block_on(async {
        let mut stopped = pin!(asked(stopped));
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = &mut stopped => return,
            };
            let Ok(stream) = accepted else {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            };
            match Arc::clone(&room).try_acquire_owned() {
                Ok(place) => {
                    let connection = tokio::time::timeout(CONNECTION_TIME, talk(stream, app.clone()));
                    tokio::spawn(async move {
                        let _ = connection.await;
                        drop(place);
                    });
                }
                Err(_) => stream.refuse(),
            }
        }
    });
}

/// Ends when the handle is told to stop. Dropping it is not that.
async fn asked(stopped: oneshot::Receiver<()>) {
    if stopped.await.is_err() {
        std::future::pending().await
    }
}

enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix {
        listener: UnixListener,
        /// The socket goes with it.
        _claim: unix_socket::Claim,
    },
}

enum Stream {
    Tcp(tokio::net::TcpStream),
    #[cfg(unix)]
    Unix(tokio::net::UnixStream),
}

impl Listener {
    async fn bind(address: &Address) -> io::Result<(Self, Address)> {
        match address {
            Address::Tcp(address) => {
                let listener = TcpListener::bind(address).await?;
                let address = Address::Tcp(listener.local_addr()?);
                Ok((Self::Tcp(listener), address))
            }
            #[cfg(unix)]
            Address::Unix(path) => {
                let (listener, claim) = unix_socket::listen(path)?;
                Ok((Self::Unix { listener, _claim: claim }, address.clone()))
            }
            #[cfg(not(unix))]
            Address::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    async fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Tcp(listener) => listener.accept().await.map(|(stream, _)| Stream::Tcp(stream)),
            #[cfg(unix)]
            Self::Unix { listener, .. } => listener.accept().await.map(|(stream, _)| Stream::Unix(stream)),
        }
    }
}

impl Stream {
    /// Says why, as far as that goes without waiting.
    fn refuse(self) {
        let _ = match self {
            Self::Tcp(stream) => stream.try_write(BUSY),
            #[cfg(unix)]
            Self::Unix(stream) => stream.try_write(BUSY),
        };
    }
}

async fn talk(stream: Stream, app: Router) {
    match stream {
        Stream::Tcp(stream) => talk_over(stream, app).await,
        #[cfg(unix)]
        Stream::Unix(stream) => talk_over(stream, app).await,
    }
}

/// Answers the requests of a connection. How it ends is the client's business.
async fn talk_over(stream: impl AsyncRead + AsyncWrite, app: Router) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(UNREAD_TIME));
    let mut stream = Box::pin(stream);
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
    server.max_buf_size(HEAD_BYTES_MAX).max_headers(HEADERS_MAX);
    let _ = server.serve_connection(TokioIo::new(&mut stream), TowerToHyperService::new(app)).await;
    let _ = stream.shutdown().await;
}

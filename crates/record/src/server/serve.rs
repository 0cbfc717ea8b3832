//! The recorder's own HTTP server, on its own thread.

use super::connections::{Connection, Connections};
use super::endpoints::Interface;
use super::options::{Address, HttpOptions};
use super::router_of;
#[cfg(unix)]
use super::unix_socket;
use crate::lifecycle::environment::HTTP_TOKEN;
use crate::os::stderr::say;
use crate::os::thread::spawn;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::pin::pin;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
#[cfg(unix)]
use tokio::net::UnixListener;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio_io_timeout::TimeoutStream;

/// Maximum number of connections at a time.
const CONNECTIONS_MAX: usize = 16;
/// Maximum size of a request's head in bytes.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Maximum number of headers of a request.
const HEADERS_MAX: usize = 64;
/// Time that a client has to send a head, from the connection or the last response.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Time that a client may leave a response unread.
const UNREAD_TIME: Duration = Duration::from_secs(30);
/// Maximum duration of a connection: long enough for a file of many gigabytes.
const CONNECTION_TIME: Duration = Duration::from_secs(3600);
/// Pause after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Maximum number of threads for blocking work: one per connection, and some for work that no client waits for.
const WAITING_THREADS_MAX: usize = 2 * CONNECTIONS_MAX;

const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: application/json\r\n\
                      Content-Length: 34\r\n\r\n{\"error\": \"too many connections\"}\n";

/// A running server. Dropping it does not stop it.
#[derive(Debug)]
pub struct Server {
    address: Address,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Server {
    /// Returns the address it listens at, with the actual port if port 0 was requested.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Stops the server, including responses in progress. Recordings continue.
    pub fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.thread.join();
    }
}

/// Runs the interface on its own thread, at the address in the options.
pub(crate) fn serve(options: HttpOptions) -> io::Result<Server> {
    check(&options)?;
    let (report, reports) = mpsc::channel();
    let (stop, stopped) = oneshot::channel();
    let work = move || run(options, stopped, &report);
    let builder = thread::Builder::new().name("ferrum-trace-http".into());
    let thread = spawn(builder, work).ok_or(io::ErrorKind::OutOfMemory)?;
    let address = reports.recv().map_err(io::Error::other)??;
    Ok(Server { address, stop, thread })
}

/// Starts the server that `FERRUM_TRACE_HTTP` requests. Prints one line if that fails, and one with the port if any
/// free port was requested.
pub(crate) fn serve_from_environment() {
    let options = match HttpOptions::from_environment() {
        Ok(Some(options)) => options,
        Ok(None) => return,
        Err(words) => return say(&format!("{words}; the HTTP interface is off")),
    };
    let is_any_port = matches!(options.address, Address::Tcp(address) if address.port() == 0);
    match serve(options) {
        Ok(server) if is_any_port => say(&format!("listening on http://{}", server.address())),
        Ok(_) => {}
        Err(error) => say(&format!("{error}; the HTTP interface is off")),
    }
}

fn check(options: &HttpOptions) -> io::Result<()> {
    let wrong = |words: String| Err(io::Error::new(io::ErrorKind::InvalidInput, words));
    let HttpOptions { address, directory, token, .. } = options;
    if !address.is_local() && token.is_none() {
        return wrong(format!(
            "{address}: expected a token ({HTTP_TOKEN}) for an address that other hosts can reach, found none"
        ));
    }
    if token.as_ref().is_some_and(|token| token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic())) {
        return wrong("expected a token of printable ASCII characters without spaces".to_owned());
    }
    if !directory.is_dir() {
        return wrong(format!("{}: expected a directory for recordings", directory.display()));
    }
    Ok(())
}

/// Runs the thread. Reports the address it listens at, or the error.
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
    // A normal shutdown would wait until files are written.
    runtime.shutdown_background();
}

fn with_address(address: &Address, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{address}: cannot listen: {error}"))
}

fn app(options: HttpOptions) -> Router {
    let is_unix_socket = matches!(options.address, Address::Unix(_));
    router_of(Interface::new(options, is_unix_socket))
}

fn serve_until(runtime: &Runtime, listener: Listener, app: &Router, stopped: oneshot::Receiver<()>) {
    let connections = Connections::new(CONNECTIONS_MAX);
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
            match connections.add().await {
                Some(connection) => {
                    let app = app.clone();
                    tokio::spawn(async move {
                        let talk = talk(stream, app, &connection);
                        let _ = tokio::time::timeout(CONNECTION_TIME, talk).await;
                    });
                }
                None => stream.refuse(),
            }
        }
    });
}

/// Completes when the handle's `stop` is called, not when the handle is dropped.
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
        /// Removes the socket when dropped.
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
    /// Sends the reason, if that is possible without waiting.
    fn refuse(self) {
        let _ = match self {
            Self::Tcp(stream) => stream.try_write(BUSY),
            #[cfg(unix)]
            Self::Unix(stream) => stream.try_write(BUSY),
        };
    }
}

async fn talk(stream: Stream, app: Router, connection: &Connection) {
    match stream {
        Stream::Tcp(stream) => talk_over(stream, app, connection).await,
        #[cfg(unix)]
        Stream::Unix(stream) => talk_over(stream, app, connection).await,
    }
}

/// Serves the requests of a connection. Errors of the connection are ignored: they concern the client only.
async fn talk_over(stream: impl AsyncRead + AsyncWrite, app: Router, connection: &Connection) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(UNREAD_TIME));
    let mut stream = Box::pin(stream);
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
    server.max_buf_size(HEAD_BYTES_MAX).max_headers(HEADERS_MAX);
    let service = TowerToHyperService::new(connection.count_requests(app));
    tokio::select! {
        _ = server.serve_connection(TokioIo::new(&mut stream), service) => {}
        () = connection.closed() => {}
    }
    let _ = stream.shutdown().await;
}

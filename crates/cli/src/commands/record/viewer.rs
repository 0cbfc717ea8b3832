//! Shows a trace in ui.perfetto.dev, which fetches it from this machine.
//!
//! The page fetches files only from `http://127.0.0.1:9001`, so one file is served there, once. Every user of the
//! machine can connect to that port, so the path contains a secret that only the page's link has.

use crate::user_error::UserError;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PAGE: &str = "https://ui.perfetto.dev";
const PORT: u16 = 9001;
/// Longest wait for the page to be opened.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Time limits for a request and for its response.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(60);
/// Interval of checks for a client.
const PERIOD: Duration = Duration::from_millis(20);
/// Longest accepted request.
const REQUEST_BYTES_MAX: u64 = 16 << 10;

/// A server for one file.
#[derive(Debug)]
pub(crate) struct ViewerServer {
    listener: TcpListener,
    file: File,
    /// The secret, and the name of the file.
    path: String,
    timeout: Duration,
}

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    /// The file was sent.
    File,
    /// The file was not sent.
    Nothing,
}

impl ViewerServer {
    /// Opens the file and the port.
    pub(crate) fn of(trace: &Path) -> Result<Self, UserError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).map_err(|cause| {
            let what =
                format!("cannot serve the trace on 127.0.0.1:{PORT}, the only place the page takes it from: {cause}");
            UserError::new("--open", what).hint(format!("open {PAGE} and drop {} on it", trace.display()))
        })?;
        let file = File::open(trace).map_err(|cause| UserError::at(trace, format!("cannot open: {cause}")))?;
        Ok(Self { listener, file, path: secret_path(trace), timeout: TIMEOUT })
    }

    /// Returns the URL to open in a browser.
    pub(crate) fn url(&self) -> String {
        format!("{PAGE}/#!/?url=http://{}{}", self.address(), self.path)
    }

    /// Opens the page if there is a desktop.
    pub(crate) fn show(&self) {
        let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        let has_desktop = cfg!(target_os = "macos")
            || ["DISPLAY", "WAYLAND_DISPLAY"]
                .iter()
                .any(|name| std::env::var_os(name).is_some_and(|it| !it.is_empty()));
        if has_desktop {
            let mut command = Command::new(opener);
            // If this fails, the user has the URL.
            let _ = command.arg(self.url()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        }
    }

    /// Serves requests until the file was sent, or the time is over.
    #[expect(clippy::disallowed_methods, reason = "waits for a person")]
    pub(crate) fn serve(mut self) -> io::Result<Served> {
        self.listener.set_nonblocking(true)?;
        let begin = Instant::now();
        while begin.elapsed() < self.timeout {
            match self.listener.accept() {
                // Ignore failed connections and other requests.
                Ok((client, _)) => {
                    if matches!(self.answer(client), Ok(Served::File)) {
                        return Ok(Served::File);
                    }
                }
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(PERIOD),
                Err(cause) => return Err(cause),
            }
        }
        Ok(Served::Nothing)
    }

    fn address(&self) -> String {
        let address = self.listener.local_addr().map(|address| address.to_string());
        address.unwrap_or_else(|_| format!("127.0.0.1:{PORT}"))
    }

    fn answer(&mut self, mut client: TcpStream) -> io::Result<Served> {
        client.set_nonblocking(false)?;
        let head = read_head(&mut client)?;
        client.set_write_timeout(Some(TRANSFER_TIMEOUT))?;
        match Request::of(&head) {
            // Another page may resolve its own name to this address (DNS rebinding).
            Some(request) if request.host != self.address() => refuse(&mut client, "403 Forbidden"),
            Some(Request { origin: Some(origin), .. }) if origin != PAGE => refuse(&mut client, "403 Forbidden"),
            Some(Request { method: "OPTIONS", .. }) => {
                let allowed = "Access-Control-Allow-Methods: GET\r\nAccess-Control-Allow-Headers: *\r\n\
                               Access-Control-Allow-Private-Network: true\r\n";
                write_head(&mut client, "204 No Content", 0, allowed)?;
                Ok(Served::Nothing)
            }
            Some(Request { method: "GET", path: asked, .. }) if self.is_path(asked) => self.send(&mut client),
            Some(Request { method: "GET", .. }) => refuse(&mut client, "404 Not Found"),
            Some(_) => refuse(&mut client, "405 Method Not Allowed"),
            None => refuse(&mut client, "400 Bad Request"),
        }
    }

    /// Compares a path in a time that reveals nothing about the secret.
    fn is_path(&self, asked: &str) -> bool {
        let differences = self.path.bytes().zip(asked.bytes()).fold(0, |all, (known, asked)| all | (known ^ asked));
        self.path.len() == asked.len() && differences == 0
    }

    fn send(&mut self, client: &mut TcpStream) -> io::Result<Served> {
        let n_bytes = self.file.metadata()?.len();
        write_head(client, "200 OK", n_bytes, "Content-Type: application/octet-stream\r\n")?;
        io::Seek::rewind(&mut self.file)?;
        io::copy(&mut self.file, client)?;
        client.shutdown(std::net::Shutdown::Write)?;
        Ok(Served::File)
    }
}

/// The parts of a request that are used.
struct Request<'a> {
    method: &'a str,
    path: &'a str,
    host: &'a str,
    /// The page that sent the request, if a browser did.
    origin: Option<&'a str>,
}

impl<'a> Request<'a> {
    fn of(head: &'a str) -> Option<Self> {
        let (first, fields) = head.split_once("\r\n")?;
        let mut words = first.split(' ');
        let (method, path, version) = (words.next()?, words.next()?, words.next()?);
        let field = |wanted: &str| {
            fields.lines().find_map(|field| {
                let (name, value) = field.split_once(':')?;
                name.eq_ignore_ascii_case(wanted).then(|| value.trim())
            })
        };
        let (host, origin) = (field("host")?, field("origin"));
        version.starts_with("HTTP/1.").then_some(Self { method, path, host, origin })
    }
}

/// Reads the head of a request, up to its empty line.
#[expect(clippy::disallowed_methods, reason = "waits for a client")]
fn read_head(client: &mut TcpStream) -> io::Result<String> {
    let begin = Instant::now();
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = REQUEST_TIMEOUT.checked_sub(begin.elapsed()).filter(|left| !left.is_zero());
        client.set_read_timeout(Some(left.ok_or(io::ErrorKind::TimedOut)?))?;
        let n_bytes = client.read(&mut piece)?;
        head.extend_from_slice(&piece[..n_bytes]);
        if n_bytes == 0 || head.len() as u64 > REQUEST_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn refuse(client: &mut TcpStream, status: &str) -> io::Result<Served> {
    write_head(client, status, 0, "")?;
    Ok(Served::Nothing)
}

/// Writes the head of a response. Only the page of the viewer may read it.
fn write_head(client: &mut TcpStream, status: &str, n_bytes: u64, more: &str) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {n_bytes}\r\nAccess-Control-Allow-Origin: {PAGE}\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n{more}\r\n"
    );
    client.write_all(head.as_bytes())
}

/// Returns a path with 128 random bits before the name of a file.
fn secret_path(trace: &Path) -> String {
    // The standard library's hashers have keys from the system's source of random numbers.
    let random = || RandomState::new().hash_one(std::process::id());
    format!("/{:016x}{:016x}/{}", random(), random(), url_name(trace))
}

/// Returns the name of a file without characters that URLs must escape.
fn url_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let spell = |char: char| match char {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' => char,
        _ => '_',
    };
    name.chars().map(spell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a server for a file with these bytes, on a free port.
    fn server(bytes: &[u8], timeout: Duration) -> ViewerServer {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        ViewerServer { listener, file, path: secret_path(Path::new("d/my trace.json")), timeout }
    }

    /// Sends a request, with `HOST` replaced by the address, and returns the response.
    fn ask(address: &str, request: &str) -> String {
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(request.replace("HOST", address).as_bytes()).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn the_file_is_served_once_and_only_to_the_page() {
        let server = server(b"[1,2,3]", TIMEOUT);
        let (address, path) = (server.address(), server.path.clone());
        assert!(path.ends_with("/my_trace.json") && path.len() == "//my_trace.json".len() + 32, "{path}");
        assert_eq!(server.url(), format!("https://ui.perfetto.dev/#!/?url=http://{address}{path}"));
        let server = std::thread::spawn(move || server.serve().unwrap());
        let request = |request: &str| ask(&address, &request.replace("PATH", &path));
        let status = |head: &str| request(head).lines().next().unwrap_or_default().to_owned();
        assert_eq!(status("GET /other HTTP/1.1\r\nHost: HOST\r\n\r\n"), "HTTP/1.1 404 Not Found");
        // Other users of the machine know neither the secret nor a part of it.
        assert_eq!(status("GET /my_trace.json HTTP/1.1\r\nHost: HOST\r\n\r\n"), "HTTP/1.1 404 Not Found");
        let guessed = format!("GET /{}/my_trace.json HTTP/1.1\r\nHost: HOST\r\n\r\n", "0".repeat(32));
        assert_eq!(status(&guessed), "HTTP/1.1 404 Not Found");
        let other_page = "GET PATH HTTP/1.1\r\nHost: HOST\r\nOrigin: https://evil.example\r\n\r\n";
        assert_eq!(status(other_page), "HTTP/1.1 403 Forbidden");
        assert_eq!(status("GET PATH HTTP/1.1\r\nHost: evil.example\r\n\r\n"), "HTTP/1.1 403 Forbidden");
        assert_eq!(status("GET /../etc/passwd HTTP/1.1\r\nHost: HOST\r\n\r\n"), "HTTP/1.1 404 Not Found");
        assert_eq!(status("POST PATH HTTP/1.1\r\nHost: HOST\r\n\r\n"), "HTTP/1.1 405 Method Not Allowed");
        assert_eq!(status("hello\r\n\r\n"), "HTTP/1.1 400 Bad Request");
        let asked = request("OPTIONS PATH HTTP/1.1\r\nHost: HOST\r\nOrigin: https://ui.perfetto.dev\r\n\r\n");
        assert!(asked.starts_with("HTTP/1.1 204 "), "{asked}");
        assert!(asked.contains("\r\nAccess-Control-Allow-Private-Network: true\r\n"), "{asked}");
        let answer = request("GET PATH HTTP/1.1\r\nhost: HOST\r\nOrigin: https://ui.perfetto.dev\r\n\r\n");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n"), "{head}");
        assert!(head.contains("\r\nAccess-Control-Allow-Origin: https://ui.perfetto.dev\r\n"), "{head}");
        assert_eq!(body, "[1,2,3]");
        assert_eq!(server.join().unwrap(), Served::File);
        assert!(TcpStream::connect(&address).is_err(), "it has ended");
    }

    #[test]
    fn failed_connections_do_not_block_the_page() {
        let server = server(b"[]", TIMEOUT);
        let (address, path) = (server.address(), server.path.clone());
        let server = std::thread::spawn(move || server.serve().unwrap());
        drop(TcpStream::connect(&address).unwrap());
        let mut endless = TcpStream::connect(&address).unwrap();
        // The server closes the connection, so that a write fails.
        while endless.write_all(&[b'x'; 4096]).is_ok() {}
        let answer = ask(&address, &format!("GET {path} HTTP/1.1\r\nHost: HOST\r\n\r\n"));
        assert!(answer.ends_with("\r\n\r\n[]"), "{answer}");
        assert_eq!(server.join().unwrap(), Served::File);
    }

    #[test]
    fn every_server_has_another_secret() {
        let [one, other] = [(); 2].map(|()| secret_path(Path::new("t.json")));
        assert_ne!(one, other);
    }

    #[test]
    fn the_server_ends_after_its_timeout() {
        assert_eq!(server(b"[]", Duration::ZERO).serve().unwrap(), Served::Nothing);
    }
}

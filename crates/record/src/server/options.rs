//! Options of the interface: address, directory, token, limit.

use crate::lifecycle::environment::{self, HTTP, HTTP_DIR, HTTP_TOKEN, OUT};
use crate::os::stderr::say;
use crate::recording::origin::rank_of_environment;
use crate::recording::pattern::Pattern;
use ferrum_trace_model::settings::SettingError;
use std::ffi::OsStr;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

/// Default port.
const PORT: u16 = 9123;

/// Options of the interface; see [`router`](crate::http::router()) and [`serve`](crate::http::serve()).
#[derive(Clone)]
pub struct HttpOptions {
    pub(super) directory: PathBuf,
    pub(super) limit: u64,
    pub(super) token: Option<String>,
    pub(super) address: Address,
    pub(super) hosts: Vec<String>,
}

impl HttpOptions {
    /// Creates options. Files are written to this directory, which must exist, and nowhere else. Default: no token,
    /// `127.0.0.1:9123`.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            limit: limit_of_environment(),
            token: None,
            address: Address::default(),
            hosts: Vec::new(),
        }
    }

    /// Makes requests require `Authorization: Bearer TOKEN`.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Allows requests without a token whose header `Host` has this name, without a port. May be called several times.
    ///
    /// Always allowed are `localhost` and loopback addresses. Others are refused with status 403, since a web page
    /// could send them through a name of its own that points to this host (DNS rebinding). Requests with the token,
    /// and those over a Unix socket, may have any name.
    pub fn allow_host(mut self, name: impl Into<String>) -> Self {
        self.hosts.push(name.into());
        self
    }

    /// Sets the address that [`serve`](crate::http::serve()) listens at.
    pub fn address(mut self, address: Address) -> Self {
        self.address = address;
        self
    }

    /// Sets the maximum that a client may request as `limit` or `ring`, in bytes. Default: `FERRUM_TRACE_LIMIT`, or 4
    /// GiB.
    pub fn limit(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// Returns the options that the environment requests, if any. `Err` is a message about an invalid value.
    pub(super) fn from_environment() -> Result<Option<Self>, String> {
        let text = |name| std::env::var_os(name).filter(|value| !environment::is_off(value));
        let Some(address) = text(HTTP) else {
            return Ok(None);
        };
        let address = address.to_string_lossy().parse().map_err(|error| format!("{HTTP}: {error}"))?;
        let directory = text(HTTP_DIR).map(PathBuf::from).or_else(|| text(OUT).and_then(|out| folder_of(&out)));
        let directory = directory.filter(|directory| !directory.as_os_str().is_empty());
        let mut options = Self::new(directory.unwrap_or_else(|| ".".into())).address(address);
        if let Some(token) = std::env::var_os(HTTP_TOKEN).filter(|token| !token.is_empty()) {
            let token = token.into_string().map_err(|_| format!("{HTTP_TOKEN}: expected text in UTF-8"))?;
            options = options.token(token);
        }
        Ok(Some(options))
    }
}

/// Returns the limit in the environment. If it is invalid, prints a message and returns the smallest possible limit.
fn limit_of_environment() -> u64 {
    environment::limit_of_environment().unwrap_or_else(|error| {
        say(&format!("{}: {error}; recordings over HTTP are limited to 1 MiB", environment::LIMIT));
        1 << 20
    })
}

/// Returns the directory of the recording that the environment requests.
fn folder_of(out: &OsStr) -> Option<PathBuf> {
    let rank = rank_of_environment().map(|rank| rank.to_string());
    let path = Pattern { text: out.to_owned(), rank: rank.map(Into::into) }.path();
    if path.is_dir() { Some(path) } else { path.parent().map(PathBuf::from) }
}

/// Omits the token.
impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpOptions")
            .field("directory", &self.directory)
            .field("address", &self.address)
            .field("has_token", &self.token.is_some())
            .finish_non_exhaustive()
    }
}

/// The address of a server: `127.0.0.1:9123` (port 0 for any free port), `[::1]:9123`, `localhost:9123` or
/// `unix:/run/engine.sock`.
///
/// ```
/// use ferrum_trace::http::Address;
/// assert_eq!("localhost:0".parse::<Address>().unwrap().to_string(), "127.0.0.1:0");
/// assert!("engine.sock".parse::<Address>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A TCP port.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

impl Default for Address {
    fn default() -> Self {
        Self::Tcp((Ipv4Addr::LOCALHOST, PORT).into())
    }
}

impl Address {
    /// Returns true if only processes of this host can reach it.
    pub(super) fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => is_loopback(address.ip()),
            Self::Unix(_) => true,
        }
    }
}

pub(super) fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl FromStr for Address {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let wrong = || SettingError::new("an address such as `127.0.0.1:9123` or `unix:/run/engine.sock`", text);
        let trimmed = text.trim();
        if let Some(path) = trimmed.strip_prefix("unix:") {
            let is_path = !path.is_empty() && !path.contains('\0');
            return is_path.then(|| Self::Unix(path.into())).ok_or_else(wrong);
        }
        if let Some(port) = trimmed.strip_prefix("localhost:") {
            let port: u16 = port.parse().map_err(|_| wrong())?;
            return Ok(Self::Tcp((Ipv4Addr::LOCALHOST, port).into()));
        }
        trimmed.parse().map(Self::Tcp).map_err(|_| wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_are_parsed_or_named_in_the_error() {
        for (text, is_local) in [
            ("127.0.0.1:0", true),
            ("[::1]:80", true),
            ("[::ffff:127.0.0.1]:80", true),
            ("0.0.0.0:80", false),
            ("unix:a", true),
        ] {
            assert_eq!(text.parse::<Address>().unwrap().is_local(), is_local, "{text}");
        }
        for text in ["", "9123", "127.0.0.1", "unix:", "unix:a\0b", "localhost:x", "engine:80"] {
            assert!(text.parse::<Address>().unwrap_err().to_string().contains(text), "{text}");
        }
    }

    #[test]
    fn a_token_is_not_printed() {
        assert!(!format!("{:?}", HttpOptions::new(".").token("secret")).contains("secret"));
    }

    proptest! {
        #[test]
        fn a_parsed_address_is_printed_as_text_that_parses_to_it(text in "(unix:|localhost:)?.{0,20}|[0-9.:]{0,20}") {
            if let Ok(address) = text.parse::<Address>() {
                prop_assert_eq!(address.to_string().parse::<Address>().unwrap(), address);
            }
        }
    }
}

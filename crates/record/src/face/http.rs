//! Control of the recording from outside, over HTTP.
//!
//! ```sh
//! FERRUM_TRACE_HTTP=127.0.0.1:9123 FERRUM_TRACE_HTTP_DIR=/var/trace ./engine
//! curl -X POST localhost:9123/start_profile -d '{"num_steps": 20}'
//! curl -X POST localhost:9123/stop_profile
//! curl -OJ localhost:9123/trace
//! ```
//!
//! Or from the program, as a separate server or mounted in the engine's server:
//!
//! ```
//! # let folder = std::env::temp_dir();
//! use ferrum_trace::http::{self, HttpOptions};
//!
//! let options = HttpOptions::new(&folder);
//! let app: axum::Router = axum::Router::new().nest("/profiler", http::router(options.clone()));
//! let server = http::serve(options.address("127.0.0.1:0".parse().unwrap())).unwrap();
//! println!("{}", server.address());
//! server.stop();
//! ```
//!
//! | request | effect |
//! | --- | --- |
//! | `POST /start_profile` | starts recording to `DIR/NAME-001.json`, or resumes a paused recording; 409 if the process already records |
//! | `POST /stop_profile` | stops recording and responds when the file is complete, or at once with `?wait=0`; 409 if nothing is recorded |
//! | `POST /flush` | brings the file up to date |
//! | `POST /pause`, `POST /resume` | pauses and resumes recording |
//! | `POST /categories` | sets the recorded categories: `attention,gemm` or `-memory`, as body or as `?categories=` |
//! | `POST /dump?reason=…` | writes a dump of a flight recorder |
//! | `GET /status` | returns the state of the recording, without waiting |
//! | `GET /trace` | returns the newest file that was recorded over this interface, or the file of `?name=` |
//!
//! The body of `/start_profile` may be a JSON object: `name`, `output_dir` (inside the directory), `num_steps`,
//! `start_step` (as in SGLang), `window`, `categories`, `ring`, `limit`, `form` (`json`, `spool`, …). Fields for
//! torch's profiler are ignored, with a note in the response. All responses are JSON, also errors: `{"error": "…"}`.
//!
//! # Protection
//!
//! - Files are written to and read from one directory only, by names without separators.
//! - Without a token it listens only on loopback or a Unix socket, refuses requests from web pages, and requests for
//!   other hosts than loopback and [`HttpOptions::allow_host`], also in a mounted [`router`].
//! - A request is limited to 4 KiB of body and 16 KiB of head, with ten seconds for each, and there are at most 16
//!   connections at a time: an idle one is closed for the next. Ten recordings may start at once, then one every six
//!   seconds. With a mounted [`router`], heads and connections are up to the engine's server.
//! - Work that may block runs on the runtime's threads for blocking work; no recording thread waits for a request.

pub use crate::server::{Address, HttpOptions, Server};

use crate::probe::mode::mode;
use crate::server;
use axum::Router;
use std::io;

/// Returns the interface as a router, to be mounted into a server of the program: `app.nest("/profiler",
/// router(options))`. Uses the token in the options, but not the address.
pub fn router(options: HttpOptions) -> Router {
    mode();
    server::router(options)
}

/// Runs the interface on its own thread, at the address in the options.
///
/// # Errors
///
/// If the address is not loopback and there is no token, if the address is in use or not available, or if the directory
/// does not exist.
pub fn serve(options: HttpOptions) -> io::Result<Server> {
    mode();
    server::serve(options)
}

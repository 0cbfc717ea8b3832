//! Starting, stopping and asking from outside, over HTTP.
//!
//! ```sh
//! FERRUM_TRACE_HTTP=127.0.0.1:9123 FERRUM_TRACE_HTTP_DIR=/var/trace ./engine
//! curl -X POST localhost:9123/start_profile -d '{"num_steps": 20}'
//! curl -X POST localhost:9123/stop_profile
//! curl -OJ localhost:9123/trace
//! ```
//!
//! Or by the program, in a server of its own or as a part of the engine's:
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
//! | request | what it does |
//! | --- | --- |
//! | `POST /start_profile` | begins `DIR/NAME-001.json`, or goes on with what is paused; 409 if something is being recorded |
//! | `POST /stop_profile` | ends it and answers when the file is complete, or at once with `?wait=0`; 409 if there is nothing |
//! | `POST /flush` | brings the file up to date |
//! | `POST /pause`, `POST /resume` | records nothing meanwhile |
//! | `POST /categories` | `attention,gemm` or `-memory`, as body or as `?categories=` |
//! | `POST /dump?reason=…` | has a flight recorder write its ring out |
//! | `GET /status` | how things stand; waits for nothing |
//! | `GET /trace` | the newest file, or the one of `?name=`, of those that were asked for here |
//!
//! The body of `/start_profile` may be a JSON object: `name`, `output_dir` (inside the directory), `num_steps`, `start_step` (as SGLang has
//! them), `window`, `categories`, `ring`, `limit`, `form` (`json`, `spool`, …). What is meant for torch's profiler is left aside with a note.
//! All answers are JSON, errors too: `{"error": "…"}`.
//!
//! # What it does not let happen
//!
//! - Files are written to and read from one directory only, by names that have no separators in them.
//! - Without a token it listens on loopback or a Unix socket only, and refuses what web pages send.
//! - A request has 4 KiB of body and 16 KiB of head, ten seconds for each, and there are 16 connections at a time. Recordings may begin ten
//!   times at once and then every six seconds. A mounted [`router`] leaves heads and connections to the engine's server.
//! - What may take time runs on threads of the runtime that are there for it; no thread that records waits for a request.

use crate::probe::mode::mode;
use crate::server;
use axum::Router;

pub use crate::server::{Address, HttpOptions, Server};
use std::io;

/// Returns the interface as a router, to be mounted into a server of the program: `app.nest("/profiler", router(options))`.
/// The address in the options is not used; a token is.
pub fn router(options: HttpOptions) -> Router {
    mode();
    server::router(options)
}
/// Runs the interface on a thread of its own, at the address of the options.
///
/// # Errors
///
/// If the address is not loopback and there is no token, if the address is in use or not available, or if the directory
/// does not exist.
pub fn serve(options: HttpOptions) -> io::Result<Server> {
    mode();
    server::serve(options)
}

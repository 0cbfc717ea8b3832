//! The handlers of requests. Work that may block runs on a thread for blocking work.

use super::answer::{Answer, Refusal, name_of, quoted, status_value, text_of, written_value};
use super::files::{Files, Found};
use super::gate::BODY_BYTES_MAX;
use super::options::HttpOptions;
use super::rate::Rate;
use super::start_request::StartRequest;
use crate::error::Error;
use crate::lifecycle::control::{self, State as Recording};
use crate::lifecycle::start;
use crate::os::clock;
use crate::os::stderr::say;
use crate::process::current;
use crate::recording::background;
use crate::util::compiled_out::COMPILED_OUT;
use crate::util::lock::lock;
use axum::body::{Body, Bytes};
use axum::extract::{Query, RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::AsyncReadExt;
use tokio_util::io::ReaderStream;

/// Limit on starts of recordings: 10 at once, then one every 6 s.
const STARTS: Rate = Rate::new(10, 6_000_000_000);
/// Maximum number of files being written when another recording starts.
const WRITING_MAX: usize = 4;
/// Size of the pieces in which a file is sent.
const PIECE_BYTES: usize = 64 * 1024;

const LIST: &str = "\
POST /start_profile  start recording; JSON body, all optional: name, output_dir, num_steps, start_step, window,
                     categories, ring, limit, form
POST /stop_profile   stop recording; responds when the file is complete, or at once with ?wait=0
POST /flush          bring the file up to date; ?wait=0
POST /pause          pause recording
POST /resume         resume recording
POST /categories     record only these until the recording ends: attention,gemm or -memory, as body or ?categories=
POST /dump           write a dump of a flight recorder; ?reason=
GET  /status         state of the recording
GET  /trace          the newest file; ?name= for another file that was recorded over this interface
";

/// The interface of one router or server.
#[derive(Debug)]
pub(super) struct Interface {
    options: HttpOptions,
    /// True if web pages cannot reach the interface, so that the host of a request is not checked.
    is_out_of_reach: bool,
    /// Locked while a recording starts.
    starts: Mutex<Rate>,
    files: Mutex<Files>,
    is_flushing: AtomicBool,
}

impl Interface {
    pub(super) fn new(options: HttpOptions, is_out_of_reach: bool) -> Self {
        Self {
            options,
            is_out_of_reach,
            starts: Mutex::new(STARTS),
            files: Mutex::default(),
            is_flushing: AtomicBool::new(false),
        }
    }

    pub(super) fn token(&self) -> Option<&str> {
        self.options.token.as_deref()
    }

    /// Returns the allowed hosts besides loopback, or `None` if all are allowed.
    pub(super) fn hosts(&self) -> Option<&[String]> {
        (!self.is_out_of_reach).then_some(&self.options.hosts)
    }

    fn start(&self, request: &StartRequest) -> Result<Answer, Refusal> {
        let mut starts = lock(&self.starts);
        let mut notes = request.notes();
        let status = control::status();
        if status.state == Recording::Paused {
            control::set_paused(false)?;
            if request.asks_for_something() {
                notes.push(
                    "the paused recording was resumed with its own settings; those of this request are not used"
                        .to_owned(),
                );
            }
            return Ok(Answer::ok(self.started(true, notes)));
        }
        if status.state != Recording::Off {
            return Err(Refusal::conflict(format!(
                "this process is already recording to {}; `POST /stop_profile` ends that recording",
                status.path.as_deref().map_or_else(String::new, text_of)
            )));
        }
        let now = clock::monotonic_nanos();
        let wait = starts.wait(now).div_ceil(1_000_000_000);
        if wait > 0 {
            return Err(Refusal::later(format!("too many recordings were started; try again in {wait} s"), wait));
        }
        if status.writing >= WRITING_MAX {
            let words = format!("{} files of earlier recordings are still being written", status.writing);
            return Err(Refusal::later(words, 1));
        }
        let (recording, _) = start::start(request.options(&self.options)?)?;
        starts.count(now);
        lock(&self.files).add(recording.output_path());
        Ok(Answer::ok(self.started(false, notes)))
    }

    fn started(&self, is_resumed: bool, notes: Vec<String>) -> Value {
        let status = control::status();
        let path = status.path.as_deref();
        json!({
            "path": path.map(text_of),
            "name": path.map(name_of),
            "resumed": is_resumed,
            "notes": notes,
            "status": status_value(&status),
        })
    }

    fn find(&self, name: Option<&str>) -> Result<(Found, std::fs::File, u64), Refusal> {
        let active = control::status().path;
        let none = || {
            Refusal::new(
                StatusCode::NOT_FOUND,
                match name {
                    Some(name) => {
                        format!("expected a complete file that was made here, found none named {}", quoted(name))
                    }
                    None => "no file is complete yet; `POST /stop_profile` or `POST /flush` makes one".to_owned(),
                },
            )
        };
        let found = lock(&self.files).find(name, active.as_deref()).ok_or_else(none)?;
        // The file may have been removed meanwhile.
        let (file, n_bytes) = found.open().map_err(|_| none())?;
        Ok((found, file, n_bytes))
    }
}

type Shared = State<Arc<Interface>>;

/// Runs work that may block on a thread for blocking work. A panic in it becomes an error response.
async fn waiting<T: Send + 'static>(work: impl FnOnce() -> Result<T, Refusal> + Send + 'static) -> Result<T, Refusal> {
    let failed = |_| {
        Err(Refusal::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the recorder panicked while handling this request; recording continues",
        ))
    };
    tokio::task::spawn_blocking(work).await.unwrap_or_else(failed)
}

pub(super) async fn list() -> &'static str {
    LIST
}

pub(super) async fn status() -> Result<Answer, Refusal> {
    waiting(|| Ok(Answer::ok(status_value(&control::status())))).await
}

pub(super) async fn start(State(interface): Shared, body: Bytes) -> Result<Answer, Refusal> {
    if COMPILED_OUT {
        return Err(Refusal::new(StatusCode::NOT_IMPLEMENTED, "recording is compiled out of this program"));
    }
    let request = StartRequest::read(&body)?;
    waiting(move || interface.start(&request)).await
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Waits {
    wait: Option<String>,
}

impl Waits {
    fn waits(&self) -> Result<bool, Refusal> {
        match self.wait.as_deref() {
            None | Some("1" | "true" | "yes") => Ok(true),
            Some("0" | "false" | "no") => Ok(false),
            Some(other) => Err(Refusal::bad(format!("expected `wait` to be 0 or 1, found {}", quoted(other)))),
        }
    }
}

pub(super) async fn stop(State(interface): Shared, Query(waits): Query<Waits>) -> Result<Answer, Refusal> {
    let waits = waits.waits()?;
    let stopping = waiting(move || {
        let stopping = control::stop().map_err(nothing_to_stop)?;
        lock(&interface.files).add(stopping.path());
        Ok(stopping)
    })
    .await?;
    let path = stopping.path().to_owned();
    let begun = being_written(&path);
    let written = waiting(move || {
        let stats = stopping.wait().inspect_err(|error| say_unless(waits, &error.to_string()))?;
        Ok(Answer::ok(written_value(&path, &stats)))
    });
    answer_now_or_then(waits, begun, written).await
}

fn nothing_to_stop(error: Error) -> Refusal {
    if error.is_not_recording() {
        return Refusal::conflict("nothing is being recorded; `POST /start_profile` starts a recording");
    }
    error.into()
}

pub(super) async fn flush(State(interface): Shared, Query(waits): Query<Waits>) -> Result<Answer, Refusal> {
    let waits = waits.waits()?;
    if interface.is_flushing.swap(true, Ordering::AcqRel) {
        return Err(Refusal::later("another flush is in progress", 1));
    }
    let turn = FlushTurn(Arc::clone(&interface));
    let (turn, flushing) = waiting(move || {
        let flushing = control::flush().map_err(nothing_to_stop)?;
        lock(&interface.files).add(flushing.path());
        Ok((turn, flushing))
    })
    .await?;
    let path = flushing.path().to_owned();
    let begun = being_written(&path);
    let written = waiting(move || {
        let _turn = turn;
        flushing.wait().inspect_err(|error| say_unless(waits, &error.to_string()))?;
        Ok(Answer::ok(json!({ "path": text_of(&path), "name": name_of(&path) })))
    });
    answer_now_or_then(waits, begun, written).await
}

/// Permission to flush, which one client has at a time.
struct FlushTurn(Arc<Interface>);

impl Drop for FlushTurn {
    fn drop(&mut self) {
        self.0.is_flushing.store(false, Ordering::Release);
    }
}

fn being_written(path: &Path) -> Answer {
    Answer::accepted(json!({ "path": text_of(path), "name": name_of(path), "writing": background::n_active() }))
}

/// Waits for the work and returns its response, or responds at once and leaves the work running.
async fn answer_now_or_then(
    waits: bool,
    begun: Answer,
    written: impl Future<Output = Result<Answer, Refusal>> + Send + 'static,
) -> Result<Answer, Refusal> {
    if waits {
        return written.await;
    }
    tokio::spawn(written);
    Ok(begun)
}

/// Prints an error that no client waits for.
fn say_unless(is_told: bool, words: &str) {
    if !is_told {
        say(words);
    }
}

pub(super) async fn pause() -> Result<Answer, Refusal> {
    changed(|| control::set_paused(true).map_err(nothing_to_stop)).await
}

pub(super) async fn resume() -> Result<Answer, Refusal> {
    changed(|| control::set_paused(false).map_err(nothing_to_stop)).await
}

async fn changed(change: impl FnOnce() -> Result<(), Refusal> + Send + 'static) -> Result<Answer, Refusal> {
    waiting(|| {
        change()?;
        Ok(Answer::ok(status_value(&control::status())))
    })
    .await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CategoriesRequest {
    categories: String,
}

pub(super) async fn categories(RawQuery(query): RawQuery, body: Bytes) -> Result<Answer, Refusal> {
    let text = match query.filter(|query| !query.is_empty()) {
        Some(query) => {
            let wrong = |_| Refusal::bad("expected `?categories=attention,gemm`");
            let uri =
                format!("/?{query}").parse().map_err(|_| Refusal::bad("expected a query of printable characters"))?;
            let Query(CategoriesRequest { categories }) = Query::try_from_uri(&uri).map_err(wrong)?;
            categories
        }
        None => categories_of_body(&body)?,
    };
    let categories = text.parse().map_err(|error| Refusal::bad(format!("{error}")))?;
    changed(move || Ok(control::set_categories_of_recording(categories)?)).await
}

/// Reads categories from a body: `attention,gemm` as plain text or in a JSON object.
fn categories_of_body(body: &[u8]) -> Result<String, Refusal> {
    let text = std::str::from_utf8(body).map_err(|_| Refusal::bad("expected text in UTF-8"))?.trim();
    if text.is_empty() {
        return Err(Refusal::bad(
            "expected categories such as `attention,gemm` or `-memory` (`*` for all), found nothing",
        ));
    }
    if !text.starts_with('{') {
        return Ok(text.to_owned());
    }
    let wrong = |error| Refusal::bad(format!("expected `{{\"categories\": \"…\"}}`: {error}"));
    serde_json::from_str(text).map(|CategoriesRequest { categories }| categories).map_err(wrong)
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Reason {
    reason: Option<String>,
}

pub(super) async fn dump(State(interface): Shared, Query(reason): Query<Reason>) -> Result<Answer, Refusal> {
    let mut reason = reason.reason.unwrap_or_else(|| "asked for over HTTP".to_owned());
    reason.truncate(reason.floor_char_boundary(BODY_BYTES_MAX));
    waiting(move || {
        let session = current::running().ok_or_else(|| nothing_to_stop(Error::not_recording()))?;
        if !session.spool().is_ring() {
            return Err(Refusal::conflict(
                "expected a flight recorder (`ring`), found a recording without one; use `POST /flush` instead",
            ));
        }
        let path = session.output_path();
        let asked = clock::wall_nanos();
        crate::watch::dump::request(&reason).map_err(|refusal| match refusal {
            Some(why) => Refusal::later(format!("dumps are limited: this one was requested {}", why.describe()), 10),
            None => Refusal::later("nothing is recorded right now", 10),
        })?;
        lock(&interface.files).add_dumps(path, asked);
        Ok(Answer::accepted(json!({ "reason": reason, "beside": text_of(path) })))
    })
    .await
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Name {
    name: Option<String>,
}

/// Sends a file in pieces, as fast as the client reads.
pub(super) async fn trace(State(interface): Shared, Query(name): Query<Name>) -> Result<Response, Refusal> {
    let (found, file, n_bytes) = waiting(move || interface.find(name.name.as_deref())).await?;
    let pieces = ReaderStream::with_capacity(tokio::fs::File::from_std(file).take(n_bytes), PIECE_BYTES);
    let is_plain = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '.' | '_' | '-');
    let name: String = found.name.chars().map(|ch| if is_plain(ch) { ch } else { '_' }).collect();
    let headers = [
        (CONTENT_TYPE, found.content_type().to_owned()),
        (CONTENT_LENGTH, n_bytes.to_string()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
    ];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_response() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let answer = runtime.block_on(waiting::<Answer>(|| panic!("on purpose")));
        assert_eq!(answer.unwrap_err().into_response().status(), StatusCode::INTERNAL_SERVER_ERROR);
    }

    #[test]
    fn categories_are_text_or_json() {
        assert_eq!(categories_of_body(b" a,b \n").unwrap(), "a,b");
        assert_eq!(categories_of_body(br#"{"categories": "-a"}"#).unwrap(), "-a");
        for body in [&b""[..], b" ", b"\xff", b"{}", br#"{"cat": 1}"#] {
            assert!(categories_of_body(body).is_err());
        }
    }
}

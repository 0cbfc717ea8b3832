//! Responses: JSON, also for errors.

use crate::error::Error;
use crate::lifecycle::control::Status;
use crate::stats::Stats;
use axum::http::StatusCode;
use axum::http::header::{CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use axum::response::{IntoResponse, Response};
use ferrum_trace_model::RefusedDumps;
use serde_json::{Map, Value, json};
use std::path::Path;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A JSON object and its status code.
#[derive(Debug)]
pub(super) struct Answer {
    code: StatusCode,
    value: Value,
}

impl Answer {
    pub(super) fn ok(value: Value) -> Self {
        Self { code: StatusCode::OK, value }
    }

    /// The request will be carried out later.
    pub(super) fn accepted(value: Value) -> Self {
        Self { code: StatusCode::ACCEPTED, value }
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        (self.code, [(CONTENT_TYPE, JSON)], format!("{}\n", self.value)).into_response()
    }
}

/// The reason for which a request is refused.
#[derive(Debug)]
pub(super) struct Refusal {
    code: StatusCode,
    words: String,
    /// True if the rest of the request is not read.
    is_last: bool,
    retry_after: Option<u64>,
}

impl Refusal {
    pub(super) fn new(code: StatusCode, words: impl Into<String>) -> Self {
        Self { code, words: words.into(), is_last: false, retry_after: None }
    }

    pub(super) fn bad(words: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, words)
    }

    pub(super) fn conflict(words: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, words)
    }

    /// Closes the connection after this response.
    pub(super) fn and_close(self) -> Self {
        Self { is_last: true, ..self }
    }

    /// The client may try again after `seconds`.
    pub(super) fn later(words: impl Into<String>, seconds: u64) -> Self {
        let refusal = Self::new(StatusCode::TOO_MANY_REQUESTS, words);
        Self { retry_after: Some(seconds), ..refusal }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let code = if error.is_already_recording() || error.is_not_recording() {
            StatusCode::CONFLICT
        } else {
            StatusCode::INTERNAL_SERVER_ERROR
        };
        Self::new(code, error.to_string())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = Answer { code: self.code, value: json!({ "error": self.words }) }.into_response();
        if self.is_last {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// Returns the status as JSON.
pub(super) fn status_value(status: &Status) -> Value {
    json!({
        "state": status.state.as_str(),
        "path": status.path.as_deref().map(text_of),
        "spool_bytes": status.spool_bytes,
        "full": status.full,
        "dropped": status.dropped,
        "unwritten": status.unwritten,
        "error": status.error,
        "steps": status.steps,
        "writing": status.writing,
        "categories": status.categories.to_string(),
        "dumps": status.dumps,
        "dumps_refused": refused_value(&status.dumps_refused),
    })
}

/// Returns the path and counts of a complete file as JSON.
pub(super) fn written_value(path: &Path, stats: &Stats) -> Value {
    json!({
        "path": text_of(path),
        "name": name_of(path),
        "recorded": stats.recorded,
        "dropped": stats.dropped,
        "spool_bytes": stats.bytes,
        "threads": stats.threads,
        "dumps": stats.dumps,
        "dumps_refused": refused_value(&stats.refused),
    })
}

/// Returns an object with a count for each reason that occurred.
fn refused_value(refused: &RefusedDumps) -> Value {
    refused.counts().map(|(reason, n)| (reason.as_str().to_owned(), n.into())).collect::<Map<_, _>>().into()
}

/// Returns a path as text.
pub(super) fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Returns the name of a file for `GET /trace`.
pub(super) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Quotes text from the client, escaped and shortened.
pub(super) fn quoted(text: &str) -> String {
    const CHARS: usize = 60;
    let more = if text.chars().nth(CHARS).is_some() { "…" } else { "" };
    format!("`{}{more}`", text.chars().take(CHARS).collect::<String>().escape_debug())
}

//! A model of the original engine's writer, written from its description.
//!
//! As expensive as the original, on purpose: one mutex around everything, a clock read inside it, two owned strings and
//! an argument map per event, and one `serde_json` string of the whole buffer when the file is written.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Contender, Outcome, Readable, SITES, Work, body, sixteen};
use crate::spelling;

pub(crate) static REFERENCE: Reference = Reference;

/// The model as a contender: an `Instant` around the body, then one push.
pub(crate) struct Reference;

static WRITER: OnceLock<Model> = OnceLock::new();
static DISABLED: Model = Model::disabled();

impl Contender for Reference {
    fn name(&self) -> &'static str {
        "reference"
    }

    fn batch(&self) -> u64 {
        200_000
    }

    fn output(&self) -> &'static str {
        "JSON"
    }

    fn start(&self, dir: &Path, _work: Work) -> Outcome {
        WRITER.set(Model::enabled(dir.join("reference.json"))).map_err(|_| "started twice")?;
        Ok(())
    }

    fn record(&self, work: Work) {
        let writer = WRITER.get().expect("started");
        for idx in 0..work.spans {
            let begin = Instant::now();
            body();
            let elapsed_ms = begin.elapsed().as_secs_f64() * 1e3;
            if work.args {
                let mut args = Map::new();
                args.insert("layer".to_owned(), Value::from(idx));
                args.insert("tokens".to_owned(), Value::from(idx + 1));
                writer.push_with_args("rms_norm", "norm", elapsed_ms, 1, args);
            } else {
                writer.push("rms_norm", "norm", elapsed_ms, 1);
            }
        }
    }

    fn finish(&self, _dir: &Path) -> Outcome {
        WRITER.get().expect("started").flush()?;
        Ok(())
    }

    fn readable(&self, dir: &Path) -> Outcome<Readable> {
        spelling::json_events(&dir.join("reference.json"), "X").map(Readable::Spans)
    }

    /// Its push when disabled: the mutex is taken nevertheless.
    fn off(&self) -> Option<fn(u64)> {
        Some(|calls| {
            for _ in 0..calls / SITES {
                sixteen!({
                    body();
                    DISABLED.push("rms_norm", "norm", 0.0, 1);
                });
            }
        })
    }
}

/// The writer itself, also used by the figure for `push`.
pub(crate) struct Model(Mutex<State>);

enum State {
    Off,
    On { path: PathBuf, events: Vec<Event>, epoch: Instant },
}

#[derive(Serialize)]
struct Event {
    name: String,
    cat: String,
    ph: char,
    ts: u64,
    dur: u64,
    pid: u32,
    tid: u32,
    #[serde(skip_serializing_if = "Map::is_empty")]
    args: Map<String, Value>,
}

impl Model {
    pub(crate) fn enabled(path: PathBuf) -> Self {
        Self(Mutex::new(State::On { path, events: Vec::with_capacity(1024), epoch: Instant::now() }))
    }

    pub(crate) const fn disabled() -> Self {
        Self(Mutex::new(State::Off))
    }

    pub(crate) fn push(&self, name: impl Into<String>, cat: impl Into<String>, elapsed_ms: f64, tid: u32) {
        self.push_with_args(name, cat, elapsed_ms, tid, Map::new());
    }

    pub(crate) fn push_with_args(
        &self,
        name: impl Into<String>,
        cat: impl Into<String>,
        elapsed_ms: f64,
        tid: u32,
        args: Map<String, Value>,
    ) {
        let mut state = self.0.lock().expect("no pusher panics");
        let State::On { events, epoch, .. } = &mut *state else {
            return;
        };
        let now_us = epoch.elapsed().as_micros() as u64;
        events.push(Event {
            name: name.into(),
            cat: cat.into(),
            ph: 'X',
            ts: now_us.saturating_sub((elapsed_ms * 1e3) as u64),
            dur: (elapsed_ms * 1e3).round() as u64,
            pid: 0,
            tid,
            args,
        });
    }

    pub(crate) fn flush(&self) -> std::io::Result<()> {
        let mut state = self.0.lock().expect("no pusher panics");
        let State::On { path, events, .. } = &mut *state else {
            return Ok(());
        };
        let text = serde_json::to_string(events)?;
        std::fs::write(path, text)?;
        events.clear();
        Ok(())
    }
}

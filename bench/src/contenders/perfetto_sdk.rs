//! perfetto-sdk: the C++ tracing service in process, track events through its Rust macros.
#![allow(unsafe_code, reason = "`track_event_categories!` expands to a `static mut`; there is no other `unsafe` here")]
#![allow(missing_docs, clippy::undocumented_unsafe_blocks, reason = "in the same expansion")]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, Once};

use perfetto_sdk::heap_buffer::HeapBuffer;
use perfetto_sdk::pb_msg::{PbMsg, PbMsgWriter};
use perfetto_sdk::producer::{Backends, Producer, ProducerInitArgsBuilder};
use perfetto_sdk::protos::config::data_source_config::DataSourceConfig;
use perfetto_sdk::protos::config::trace_config::{TraceConfig, TraceConfigBufferConfig, TraceConfigDataSource};
use perfetto_sdk::protos::config::track_event::track_event_config::TrackEventConfig;
use perfetto_sdk::tracing_session::TracingSession;
use perfetto_sdk::track_event::{EventContext, TrackEvent, TrackEventDebugArg};
use perfetto_sdk::{scoped_track_event, track_event_categories};

use super::{Contender, Outcome, Readable, SITES, Work, body, sixteen};
use crate::pftrace;

track_event_categories! {
    pub mod categories {
        ("norm", "Normalization", []),
    }
}
use categories as perfetto_te_ns;

pub(crate) static PERFETTO_SDK: PerfettoSdk = PerfettoSdk;

/// An in-process session whose buffer holds the whole batch.
pub(crate) struct PerfettoSdk;

/// Large enough that nothing is overwritten.
const BUFFER_KIB: u32 = 1024 * 1024;
/// The largest shared buffer it accepts, so that bursts are not lost on the way to the service.
const SHARED_KIB: u32 = 32 * 1024;

/// A session is a pointer whose type is not `Send`; only the main thread uses it.
struct Session(TracingSession);

thread_local! {
    static SESSION: std::cell::RefCell<Option<Session>> = const { std::cell::RefCell::new(None) };
}

impl Contender for PerfettoSdk {
    fn name(&self) -> &'static str {
        "perfetto-sdk"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["perfetto-sdk", "perfetto-sdk-sys"]
    }

    fn batch(&self) -> u64 {
        200_000
    }

    fn output(&self) -> &'static str {
        "protobuf"
    }

    fn start(&self, _dir: &Path, _work: Work) -> Outcome {
        init()?;
        let mut session = TracingSession::in_process()?;
        session.setup(&config()?);
        session.start_blocking();
        SESSION.set(Some(Session(session)));
        Ok(())
    }

    fn record(&self, work: Work) {
        if work.args {
            for idx in 0..work.spans {
                scoped_track_event!("norm", "rms_norm", |ctx: &mut EventContext| {
                    ctx.add_debug_arg("layer", TrackEventDebugArg::Uint64(idx));
                    ctx.add_debug_arg("tokens", TrackEventDebugArg::Uint64(idx + 1));
                });
                body();
            }
        } else {
            for _ in 0..work.spans {
                scoped_track_event!("norm", "rms_norm");
                body();
            }
        }
    }

    fn finish(&self, dir: &Path) -> Outcome {
        let file = Arc::new(Mutex::new(File::create(dir.join("spans.pftrace"))?));
        let Session(mut session) = SESSION.take().expect("started on this thread");
        session.stop_blocking();
        session.read_trace_blocking(move |bytes, _more| {
            file.lock().expect("unpoisoned").write_all(bytes).expect("the scratch folder is writable");
        });
        Ok(())
    }

    fn readable(&self, dir: &Path) -> Outcome<Readable> {
        pftrace::slices(&dir.join("spans.pftrace")).map(Readable::Spans)
    }

    /// Initialized, but no session enables the category.
    fn off(&self) -> Option<fn(u64)> {
        Some(|calls| {
            static INIT: Once = Once::new();
            INIT.call_once(|| init().expect("initialized once"));
            for _ in 0..calls / SITES {
                sixteen!({
                    scoped_track_event!("norm", "rms_norm");
                    body();
                });
            }
        })
    }
}

fn init() -> Outcome {
    let producer = ProducerInitArgsBuilder::new().backends(Backends::IN_PROCESS).shmem_size_hint_kb(SHARED_KIB);
    Producer::init(producer.build());
    TrackEvent::init();
    Ok(perfetto_te_ns::register()?)
}

/// The session's configuration, encoded for its C interface.
fn config() -> Outcome<Vec<u8>> {
    let writer = PbMsgWriter::new();
    let heap = HeapBuffer::new(writer.stream_writer());
    let mut message = PbMsg::new(&writer).map_err(|error| error.to_string())?;
    TraceConfig { msg: &mut message }
        .set_buffers(|buffer: &mut TraceConfigBufferConfig| {
            buffer.set_size_kb(BUFFER_KIB);
        })
        .set_data_sources(|source: &mut TraceConfigDataSource| {
            source.set_config(|config: &mut DataSourceConfig| {
                config.set_name("track_event");
                config.set_track_event_config(|events: &mut TrackEventConfig| {
                    events.set_enabled_categories("norm");
                });
            });
        });
    message.finalize();
    let mut bytes = vec![0; writer.stream_writer().get_written_size()];
    heap.copy_into(&mut bytes);
    Ok(bytes)
}

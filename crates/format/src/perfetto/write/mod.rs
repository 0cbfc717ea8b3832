//! Writes Perfetto traces.
//!
//! One sequence of packets is for events and one for tracks. The first packet defines a clock on which each time is the
//! difference to the previous packet; names, categories, keys and repeated texts are defined once and then referred to
//! by number. The begin of a slice takes about 16 bytes and its end 12.
//!
//! ```
//! use ferrum_trace_format::perfetto::write::{Encoder, Process, Thread};
//! use ferrum_trace_model::Value;
//!
//! let mut encoder = Encoder::new(1_000);
//! encoder.process(1, &Process { pid: 7, name: "engine", ..Process::default() });
//! encoder.thread(2, &Thread { process_track: 1, pid: 7, tid: 8, name: "main", sort_index: None });
//! let (name, category) = (encoder.name("decode"), Some(encoder.category("step")));
//! encoder.push_arg("tokens", &Value::Signed(32));
//! encoder.begin(1_000, 2, name, category);
//! encoder.end(1_500, 2);
//! assert!(encoder.bytes().len() < 200);
//! ```

mod argument;
mod encoder;
mod interner;
mod json_args;
mod text;
mod track;

pub(crate) use encoder::Sequence;
pub use encoder::{AsyncPhase, Encoder, FlowPhase};
pub use interner::Word;
pub use track::{Process, Thread, Track};

//! The LLM vocabulary: steps, layers, operations, requests and counters of an engine.
//!
//! Events recorded through this module have the names, categories and arguments that `ferrum-trace layers`, `steps` and
//! `requests` look for; `docs/vocabulary.md` has the list. They cost as much as spans, async events and counters, and
//! one relaxed load if recording is off.
//!
//! ```
//! use ferrum_trace::llm::{self, Phase, Step};
//!
//! let mut request = llm::request(17).prompt_tokens(512).arrived();
//! request.prefill();
//! request.first_token();
//!
//! for step in 0..3 {
//!     let _step = llm::step(Step {
//!         phase: Phase::Decode,
//!         batch: 1,
//!         prefill_tokens: 0,
//!         decode_tokens: 1,
//!         context_tokens: 513 + step,
//!     });
//!     for layer in 0..2 {
//!         let _layer = llm::layer(layer);
//!         let _op = llm::op!("qkv_proj", Gemm, layer, m = 1);
//!     }
//!     request.token();
//!     llm::kv_cache(33, 67);
//! }
//! request.finished("stop");
//! llm::running(0);
//! ```

#[cfg(doctest)]
#[doc = include_str!("../../../../../docs/instrument.md")]
mod instrument {}

mod attention_sums;
mod counters;
mod graph;
mod layer;
mod op;
mod request;
mod step;

#[doc(inline)]
pub use crate::__llm_op as op;
pub use crate::flight::step::{EndedStep, Step};
pub use attention_sums::AttentionSums;
pub use counters::{kv_cache, running, tokens, waiting};
pub use ferrum_trace_model::vocab::{Op, Phase};
pub use graph::{Graph, Launched, Replay};
pub use layer::layer;
pub use request::{Arrival, Request, request};
pub use step::{StepSpan, step};

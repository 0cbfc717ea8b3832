//! A layer of the model.

use crate::probe::mode::mode;
use crate::probe::span::Span;
use crate::process::switch::OFF;
use crate::process::value::Value;
use crate::thread::site::Site;
use ferrum_trace_model::vocab::layer as words;

static LAYER: Site = Site::new(words::NAME, words::CATEGORY, &[words::LAYER]);

/// Begins a layer, counted from 0, which ends when the returned span is dropped. Events recorded meanwhile on the same
/// thread belong to it, so operations inside need no argument for their layer.
///
/// ```
/// for n in 0..32 {
///     let _layer = ferrum_trace::llm::layer(n);
/// }
/// ```
#[inline(always)]
pub fn layer(n: usize) -> Span<1> {
    match mode() {
        OFF => Span::off(&LAYER),
        mode => Span::begin(mode, &LAYER, [n.to_arg()]),
    }
}

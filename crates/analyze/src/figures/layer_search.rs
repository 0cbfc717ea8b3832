//! Finds the layer of each slice.

use crate::launches::device_work::works_of;
use crate::launches::launchers::LAUNCH_ARGS;
use crate::launches::launching_slices::launching_slices;
use crate::structure::arg_filter::arg_column;
use crate::structure::nesting::Nesting;
use ferrum_trace_model::{ArgColumn, ArgValue, StringId, Trace, TrackId};
use hashbrown::HashMap;
use std::collections::BTreeSet;

/// The argument that states the layer of a slice. It must be loaded for [`LayerSource::Arg`] to work.
pub const LAYER_ARG: &str = "layer";

/// Arguments that lead to the layer of a slice: [`LAYER_ARG`], and those that join device work with its launch.
pub const LAYER_ARGS: [&str; 4] = [LAYER_ARG, LAUNCH_ARGS[0], LAUNCH_ARGS[1], LAUNCH_ARGS[2]];

/// Source of the layer of a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LayerSource {
    /// The first of the other sources, in their order, that finds more than one layer; [`Name`](Self::Name) if none
    /// does. Track ids count only if they are consecutive numbers from 0 or 1: thread ids are no layers.
    #[default]
    Auto,
    /// The argument [`LAYER_ARG`] of the slice or of an enclosing one: a number, or a text that contains a layer as a
    /// name does.
    Arg,
    /// The name of the slice or of an enclosing one, for example `model.layers.12.self_attn`.
    Name,
    /// The id of the track, if it is a number.
    Tid,
}

/// No layer.
pub(crate) const NONE: u32 = u32::MAX;

/// Returns the layer of each slice, and the source that was used. Device work that states no layer has that of the
/// slice that launched it. The arguments [`LAYER_ARGS`] must be loaded.
pub(crate) fn find_layers(trace: &Trace, nesting: &Nesting, source: LayerSource) -> (LayerSource, Vec<u32>) {
    let (source, mut layer_of) = stated_layers(trace, nesting, source);
    if source != LayerSource::Tid {
        add_layers_of_launches(trace, nesting, &mut layer_of);
    }
    (source, layer_of)
}

/// Returns the layer that each slice or a slice around it states, and the source that was used.
fn stated_layers(trace: &Trace, nesting: &Nesting, source: LayerSource) -> (LayerSource, Vec<u32>) {
    match source {
        LayerSource::Arg => (source, by_arg(trace, nesting)),
        LayerSource::Name => (source, by_name(trace, nesting)),
        LayerSource::Tid => (source, by_tid(trace)),
        LayerSource::Auto => {
            let (source, layer_of) = by_arg_or_name(trace, nesting);
            if !has_several(&layer_of) && tracks_are_layers(trace, nesting) {
                return (LayerSource::Tid, by_tid(trace));
            }
            (source, layer_of)
        }
    }
}

/// Returns the layer of each slice, or [`NONE`]: from the source that [`LayerSource::Auto`] finds, except for track
/// ids. The arguments [`LAYER_ARGS`] must be loaded.
pub(crate) fn layer_of_each(trace: &Trace, nesting: &Nesting) -> Vec<u32> {
    match find_layers(trace, nesting, LayerSource::Auto) {
        (LayerSource::Tid, layer_of) => vec![NONE; layer_of.len()],
        (_, layer_of) => layer_of,
    }
}

/// Returns the result of [`layer_of_each`] if any slice has a layer. If none has, it saves the time and the memory of
/// the list.
pub(crate) fn layers_if_any(trace: &Trace, nesting: &Nesting) -> Option<Vec<u32>> {
    let any_stated = layer_column(trace).is_some() || layers_of_names(trace).is_some();
    any_stated.then(|| layer_of_each(trace, nesting))
}

fn by_arg_or_name(trace: &Trace, nesting: &Nesting) -> (LayerSource, Vec<u32>) {
    if layer_column(trace).is_some() {
        let layer_of = by_arg(trace, nesting);
        if has_several(&layer_of) {
            return (LayerSource::Arg, layer_of);
        }
    }
    (LayerSource::Name, by_name(trace, nesting))
}

/// Returns the values of [`LAYER_ARG`], if there are any.
fn layer_column(trace: &Trace) -> Option<&ArgColumn> {
    arg_column(trace, LAYER_ARG).filter(|column| !column.order.is_empty())
}

/// Returns true if the ids of the tracks with slices are layers.
fn tracks_are_layers(trace: &Trace, nesting: &Nesting) -> bool {
    let with_slices = trace.tracks.iter().zip(&nesting.tracks).filter(|(_, track)| track.n_slices > 0);
    tids_are_layers(with_slices.filter_map(|((_, track), _)| track.tid.map(|tid| trace.strings.get(tid))))
}

fn has_several(layer_of: &[u32]) -> bool {
    let mut layers = layer_of.iter().filter(|&&layer| layer != NONE);
    layers.next().is_some_and(|first| layers.any(|layer| layer != first))
}

/// Returns true if every number from 0 or 1 to the largest occurs.
fn are_consecutive(layer_of: &[u32]) -> bool {
    let layers: BTreeSet<u32> = layer_of.iter().copied().filter(|&layer| layer != NONE).collect();
    let (first, last) = (layers.first().copied().unwrap_or(0), layers.last().copied().unwrap_or(0));
    first <= 1 && layers.len() == (last - first) as usize + 1
}

fn by_arg(trace: &Trace, nesting: &Nesting) -> Vec<u32> {
    let Some(column) = layer_column(trace) else {
        return vec![NONE; trace.slices.len()];
    };
    let mut known: HashMap<ArgValue, u32> = HashMap::new();
    let mut layer_of_value = |value: ArgValue| {
        *known.entry(value).or_insert_with(|| layer_of_value(&value.content(&trace.strings)).unwrap_or(NONE))
    };
    inherit(trace, nesting, |slice| column.of(trace.slices.order[slice]).map_or(NONE, &mut layer_of_value))
}

fn by_name(trace: &Trace, nesting: &Nesting) -> Vec<u32> {
    match layers_of_names(trace) {
        Some(known) => inherit(trace, nesting, |slice| known[trace.slices.name[slice].index()].unwrap_or(NONE)),
        None => vec![NONE; trace.slices.len()],
    }
}

/// Returns the layer or [`NONE`] for each text that is the name of a slice, if any of them has one.
fn layers_of_names(trace: &Trace) -> Option<Vec<Option<u32>>> {
    let mut known: Vec<Option<u32>> = vec![None; trace.strings.len()];
    let mut has_any = false;
    for name in &trace.slices.name {
        let layer = &mut known[name.index()];
        if layer.is_none() {
            let found = layer_in(trace.strings.get(*name));
            has_any |= found.is_some();
            *layer = Some(found.unwrap_or(NONE));
        }
    }
    has_any.then_some(known)
}

fn by_tid(trace: &Trace) -> Vec<u32> {
    let of_track = |tid: Option<StringId>| number(trace.strings.get(tid?));
    let layers: Vec<u32> = trace.tracks.iter().map(|(_, track)| of_track(track.tid).unwrap_or(NONE)).collect();
    trace.slices.track.iter().map(|track| layers[track.index()]).collect()
}

/// Gives each slice its own layer, or that of the nearest enclosing slice on its track.
fn inherit(trace: &Trace, nesting: &Nesting, mut own: impl FnMut(usize) -> u32) -> Vec<u32> {
    let mut layer_of = vec![NONE; trace.slices.len()];
    for (track, _) in trace.tracks.iter() {
        nesting.walk(trace, track, |slice, around| {
            let own = own(slice as usize);
            layer_of[slice as usize] = match around.last() {
                Some(&parent) if own == NONE => layer_of[parent as usize],
                _ => own,
            };
        });
    }
    layer_of
}

/// Gives slices of devices that have no layer that of the slice that launched them, or else that of the slice around
/// them.
fn add_layers_of_launches(trace: &Trace, nesting: &Nesting, layer_of: &mut [u32]) {
    if layer_of.iter().all(|&layer| layer == NONE) {
        return;
    }
    let on_device = works_of(trace);
    let launching = launching_slices(trace, nesting, &on_device);
    let has_launches: BTreeSet<TrackId> =
        launching.iter().zip(&trace.slices.track).filter(|(it, _)| **it != NONE).map(|(_, &track)| track).collect();
    for track in has_launches {
        nesting.walk(trace, track, |slice, around| {
            if layer_of[slice as usize] == NONE {
                // Kernels of one stream may overlap without belonging together.
                let group = around.last().copied().filter(|&outer| on_device[outer as usize].is_none());
                let origins = [launching[slice as usize], group.unwrap_or(NONE)];
                let mut layers = origins.into_iter().filter_map(|origin| layer_of.get(origin as usize).copied());
                layer_of[slice as usize] = layers.find(|&layer| layer != NONE).unwrap_or(NONE);
            }
        });
    }
}

/// Returns the layer that a value of [`LAYER_ARG`] states: a number, or a text that contains a layer as a name does.
pub(crate) fn layer_of_value(text: &str) -> Option<u32> {
    number(text).or_else(|| layer_in(text))
}

/// Returns true if the ids of tracks are layers: several consecutive numbers from 0 or 1. Other texts are ignored.
pub(crate) fn tids_are_layers<'a>(tids: impl Iterator<Item = &'a str>) -> bool {
    let layers: Vec<u32> = tids.filter_map(number).collect();
    has_several(&layers) && are_consecutive(&layers)
}

/// Parses a number that consists of digits only.
pub(crate) fn number(text: &str) -> Option<u32> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits.then(|| text.parse().ok()).flatten().filter(|&layer| layer != NONE)
}

/// Returns the first layer in a name: a number after a word for layers.
///
/// | spelling | seen in |
/// | --- | --- |
/// | `model.layers.12.self_attn`, `layers[12]`, `layer_12`, `layer 12`, `layer12` | Hugging Face, vLLM, SGLang, engines of all kinds |
/// | `transformer.h.12.attn` | GPT-2 and similar models |
/// | `blk.12.attn_q`, `blocks.12.attn` | GGUF, vision transformers |
/// | `nn.Module: LlamaDecoderLayer_12`, `nn.Module: T5Block_3` | torch.profiler with modules |
///
/// The number must not be followed by a letter: `h.3x3` is not a layer.
pub(crate) fn layer_in(name: &str) -> Option<u32> {
    let bytes = name.as_bytes();
    let is_module = name.starts_with("nn.Module: ");
    let mut at = 0;
    while at < bytes.len() {
        let n_digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let after = at + n_digits;
        if n_digits > 0
            && !bytes.get(after).is_some_and(u8::is_ascii_alphabetic)
            && is_word_for_layer(&name[..at], is_module)
            && let Some(layer) = number(&name[at..after])
        {
            return Some(layer);
        }
        at = after + 1;
    }
    None
}

/// Returns true if the text before a number marks it as the number of a layer.
fn is_word_for_layer(before: &str, is_module: bool) -> bool {
    let text = before.trim_end_matches(['.', '_', '/', '[', ' ', ':', '=', '-']);
    let separator = &before[text.len()..];
    let word_at = text.rfind(|letter: char| !letter.is_ascii_alphabetic()).map_or(0, |at| at + 1);
    // The last letter may be longer than a byte if the word is not ASCII.
    let Some(word) = text.get(word_at..) else { return false };
    match word {
        "layers" => separator.len() == 1,
        "layer" => separator.len() <= 1,
        "h" | "blk" | "block" | "blocks" => separator == ".",
        _ => is_module && separator == "_" && (word.ends_with("Layer") || word.ends_with("Block")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_found_in_names() {
        let layers = [
            ("layers.12.attn", 12),
            ("model.layers.7", 7),
            ("model.layers.0.self_attn.layers.9", 0),
            ("transformer.h.3.mlp", 3),
            ("h.31", 31),
            ("blk.12.attn_q.weight", 12),
            ("vision.blocks.4.norm1", 4),
            ("layers[5]", 5),
            ("layer_6 attn", 6),
            ("layer 8", 8),
            ("layer12", 12),
            ("attn/layer=2", 2),
            ("nn.Module: Qwen2DecoderLayer_9", 9),
            ("nn.Module: BertLayer_0", 0),
            ("nn.Module: T5Block_3", 3),
            ("int8 gemm, layers.4", 4),
            ("größer.layers.1", 1),
        ];
        for (name, layer) in layers {
            assert_eq!(layer_in(name), Some(layer), "{name}");
        }
    }

    #[test]
    fn names_without_a_layer_have_none() {
        let names = [
            "",
            "12",
            "gemm_128",
            "layers",
            "layers.x",
            "players.3",
            "h.3x3",
            "conv_h3",
            "gemm_block_128",
            "nn.Module: LayerNorm_12",
            "nn.Module: Linear_5",
            "CustomLayer_4",
            "layers..4",
            "layers.99999999999",
            "ölayers.1",
        ];
        for name in names {
            assert_eq!(layer_in(name), None, "{name}");
        }
    }
}

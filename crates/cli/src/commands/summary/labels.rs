//! Labels that `summary --by` needs beyond names, categories, tracks and processes.

use crate::flags::By;
use ferrum_trace_analyze::{LAYER_ARGS, LabelSets, Labels, LayerSource, Nesting, STEP_ARGS, StepLabels, step_labels};
use ferrum_trace_model::Trace;

/// Returns true if the key is a label.
pub(crate) fn is_label(by: &By) -> bool {
    !matches!(by, By::Name | By::Cat | By::Track | By::Process)
}

/// Returns the arguments that the keys need.
pub(crate) fn needed_args(by: &[By]) -> Vec<String> {
    let needed = |by: &By| match by {
        By::Layer => LAYER_ARGS.map(str::to_owned).to_vec(),
        By::Step | By::Phase => STEP_ARGS.map(str::to_owned).to_vec(),
        by => by.arg().into_iter().map(str::to_owned).collect(),
    };
    by.iter().flat_map(needed).collect()
}

/// Returns the labels of the keys that are labels, in the order of the keys.
pub(crate) fn labels(trace: &Trace, nesting: &Nesting, by: &[By]) -> Vec<Labels> {
    let mut steps: Option<StepLabels> = None;
    let mut of_steps = || steps.get_or_insert_with(|| step_labels(trace)).clone();
    let labels = |by: &By| match by {
        By::Layer => Some(Labels::of_layers(trace, nesting, LayerSource::Auto)),
        By::Step => Some(of_steps().numbers),
        By::Phase => Some(of_steps().phases),
        By::Parent => Some(Labels::of_parents(trace, nesting)),
        By::Arg(name) => Some(Labels::of_arg(trace, name)),
        By::Name | By::Cat | By::Track | By::Process | By::Batch => None,
    };
    by.iter().filter_map(labels).collect()
}

/// Returns the reasons why labels are missing on all slices and async operations, if any are.
pub(crate) fn missing(by: &[By], of_rows: [&LabelSets; 2]) -> Option<String> {
    let labels = by.iter().filter(|by| is_label(by)).enumerate();
    let missing = labels.filter(|(place, _)| of_rows.iter().all(|sets| !sets.has(*place)));
    let reasons: Vec<String> = missing.filter_map(|(_, by)| reason(by)).collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

fn reason(by: &By) -> Option<String> {
    Some(match by {
        By::Layer => "no slice belongs to a layer: looked for an argument `layer`, names such as `layers.12.attn`, \
                      and consecutive tids"
            .to_owned(),
        By::Step => "no slice belongs to a step".to_owned(),
        By::Phase => "no slice belongs to a step with a phase".to_owned(),
        By::Arg(name) => format!("no slice or async operation has an argument `{name}`"),
        _ => return None,
    })
}

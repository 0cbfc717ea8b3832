//! The figures that `steps` prints.

use super::args::StepsArgs;
use crate::flags::By;
use crate::input::captures::Captures;
use crate::input::source::Source;
use crate::render::table::clean;
use crate::render::units::{count, number};
use crate::render::{captures, contents, limits, recorder};
use crate::user_error::UserError;
use ferrum_trace_analyze::{
    KeyedStepGroup, LAYER_ARG, Labels, Nesting, STEP_ARGS, StepKey, StepKeyValue, Steps, Transfer, add_mark_args,
    group_steps, names_device, steps,
};
use ferrum_trace_format::chrome::read::Loaded;
use ferrum_trace_model::Trace;
use ferrum_trace_model::vocab::Phase;

/// Description of the marks that are recognized as steps.
const LOOKED_FOR: &str = "slices of category `step`, marks of vLLM such as `execute_context_1(512)_generation_3(3)`, marks of SGLang \
                          such as `step[DECODE bs=64]`, annotations that begin with `prefill`, `decode` or `mixed`, and `ProfilerStep#1`";

/// Results for one trace.
pub(crate) struct StepsReport {
    pub(crate) loaded: Loaded,
    pub(crate) notes: Vec<String>,
    pub(crate) steps: Steps,
    /// The keys of the groups.
    pub(crate) by: Vec<By>,
    /// The steps in groups.
    pub(crate) groups: Vec<KeyedStepGroup>,
    /// The reason why there are no steps.
    pub(crate) missing: Option<String>,
    /// The reason why a key of `--by` is missing on all steps.
    pub(crate) missing_key: Option<String>,
    /// The result of `--capture`.
    pub(crate) transfer: Option<Transfer>,
}

impl StepsReport {
    /// Loads a trace and measures its steps.
    pub(crate) fn of(source: &Source, args: &StepsArgs, captures: &Captures) -> Result<Self, UserError> {
        let layer = args.by.contains(&By::Layer).then_some(LAYER_ARG);
        let wanted = STEP_ARGS.into_iter().chain(layer).chain(args.arg_names()).chain(captures.arg_names());
        let (mut loaded, facts) = source.load(wanted.map(str::to_owned).collect())?;
        if args.arg_names().next().is_some() {
            add_mark_args(&mut loaded.trace);
        }
        let transfer = captures.apply(&mut loaded.trace);
        let nesting = Nesting::of(&loaded.trace);
        let selected = args.selection.selection().apply(&loaded.trace);
        let steps = steps(&loaded.trace, &nesting, &selected, &args.options(names_device(&loaded.fields)));
        let mut notes = facts.notes();
        notes.extend(limits::notes(&loaded.trace));
        notes.extend(recorder::notes(&loaded.recordings));
        if steps.n_tracks > 1 {
            let n_tracks = steps.n_tracks;
            notes.push(format!(
                "steps are on {n_tracks} tracks, and tokens are counted on each; select one with `--filter track=ID`"
            ));
        }
        if steps.n_unfinished > 0 {
            let steps = count(steps.n_unfinished as u64, "step");
            notes.push(format!("{steps} had not ended when the trace was written: in no figure"));
        }
        notes.extend(captures::notes(transfer.as_ref()));
        notes.extend(incomplete_note(&steps));
        let missing = steps.steps.is_empty().then(|| missing(&loaded.trace, &steps, args));
        let by = args.group_keys();
        let groups = group_steps(&loaded.trace, &steps.steps, &step_keys(&loaded.trace, &by));
        let missing_key = if missing.is_none() { missing_key(&steps, &by, &groups, args) } else { None };
        Ok(Self { notes, steps, by, groups, missing, missing_key, transfer, loaded })
    }
}

/// Returns the keys of groups.
fn step_keys(trace: &Trace, by: &[By]) -> Vec<StepKey> {
    let key = |by: &By| match by {
        By::Batch => StepKey::Batch,
        By::Arg(name) => StepKey::Label(Labels::of_arg(trace, name)),
        _ => StepKey::Phase,
    };
    by.iter().map(key).collect()
}

/// Returns the reason why a key of `--by` is missing, if any is.
fn missing_key(steps: &Steps, by: &[By], groups: &[KeyedStepGroup], args: &StepsArgs) -> Option<String> {
    let has_layers = steps.layer_times.iter().any(|time| time.layer.is_some());
    if args.by.contains(&By::Layer) && !has_layers {
        return Some(
            "no layers in steps: looked for an argument `layer`, names such as `layers.12.attn`, and consecutive tids"
                .to_owned(),
        );
    }
    let is_missing = |place: usize| groups.iter().all(|group| group.key.get(place) == Some(&StepKeyValue::Label(None)));
    let missing = by.iter().enumerate().find(|(place, _)| is_missing(*place))?;
    Some(format!("no step has an argument `{}`", clean(missing.1.arg().unwrap_or_default())))
}

/// Returns a note if work on devices is not in the file.
fn incomplete_note(steps: &Steps) -> Option<String> {
    let (n_incomplete, all) = (steps.all.n_incomplete, steps.all.count);
    if n_incomplete == 0 {
        return None;
    }
    let n_launches: u64 = steps.steps.iter().map(|step| u64::from(step.n_unanswered)).sum();
    let launches = match n_launches {
        0 => String::new(),
        n_launches => format!(" ({} without a kernel)", count(n_launches, "launch")),
    };
    let what = match n_incomplete == all {
        true => format!(
            "work on devices for the steps is not in the file{launches}: durations are too short, and there is no rate"
        ),
        false => format!(
            "work on devices for {} of {} is not in the file{launches}: their durations are too short, and they are in no rate",
            number(n_incomplete),
            count(all, "step")
        ),
    };
    Some(what)
}

/// Returns the reason why there are no steps.
fn missing(trace: &Trace, steps: &Steps, args: &StepsArgs) -> String {
    if steps.found_phases.is_empty() {
        return format!("no steps: looked for {LOOKED_FOR}; {}", contents::contents_text(trace));
    }
    if steps.phases.is_empty() {
        let (found, values) = (phases(&steps.found_phases), args.selection.values_text(trace));
        return format!("no steps that --filter and --within leave: the file has {found}{values}");
    }
    let wanted: Vec<String> = args.phases.iter().map(|phase| format!("`{}`", phase.vocab())).collect();
    let place = if steps.phases == steps.found_phases { "the file has" } else { "--filter and --within leave" };
    format!("no steps of phase {}: {place} {}", wanted.join(" or "), phases(&steps.phases))
}

fn phases(phases: &[(Option<Phase>, u64)]) -> String {
    let messages = |&(phase, n_steps): &(Option<Phase>, u64)| match phase {
        Some(phase) => count(n_steps, &format!("{phase} step")),
        None => format!("{} without a phase", count(n_steps, "step")),
    };
    contents::list(phases.iter().map(messages))
}

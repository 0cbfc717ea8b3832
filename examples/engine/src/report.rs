//! Reports of a run: from the engine's own statistics, and from its trace.

use crate::stats::Stats;
use crate::table::{millis, row, table};
use anyhow::Result;
use ferrum_trace_analyze::{
    Distribution, LAYER_ARG, LayersOptions, Nesting, STEP_ARGS, Selected, StepsOptions, layers, steps,
};
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use ferrum_trace_model::vocab::Phase;
use ferrum_trace_model::{ArgValue, Trace};
use std::fs::File;
use std::path::Path;

/// Latencies of requests, from the engine's statistics.
pub fn of_stats(stats: &Stats) -> String {
    let Stats { wall_ns, steps, generated_tokens, preemptions, requests, flop, .. } = stats;
    let seconds = *wall_ns as f64 / 1e9;
    let prompt_tokens: usize = requests.iter().map(|request| request.prompt_tokens).sum();
    let head = format!(
        "{} requests, {prompt_tokens} prompt tokens, {generated_tokens} tokens in {seconds:.2} s: {:.0} tokens/s\n\
         {} steps: {} prefill, {} decode, {} mixed; {preemptions} preemptions\n\
         {:.3} GFLOP in the model, {:.3} GFLOP/s\n\n",
        requests.len(),
        *generated_tokens as f64 / seconds,
        steps.all(),
        steps.prefill,
        steps.decode,
        steps.mixed,
        *flop as f64 / 1e9,
        *flop as f64 / 1e9 / seconds,
    );
    let mut rows = vec![row("", ["p50", "p95", "max"])];
    let mut add = |label, latencies: Vec<u64>| {
        let mut latencies: Vec<i64> = latencies.into_iter().map(|ns| ns as i64).collect();
        let Distribution { p50, p95, max, .. } = Distribution::of(&mut latencies);
        rows.push(row(label, [p50, p95, max].map(millis)));
    };
    add("to the first token", requests.iter().filter_map(|request| request.first_token_latency_ns()).collect());
    add("from token to token", requests.iter().filter_map(|request| request.token_latency_ns()).collect());
    add("to the end", requests.iter().map(|request| request.latency_ns()).collect());
    head + &table("request latencies, ms", &rows)
}

/// Time by step and layer, from the trace.
pub fn of_trace(path: &Path) -> Result<String> {
    let args = STEP_ARGS.into_iter().chain([LAYER_ARG]).map(str::to_owned).collect();
    let options = LoadOptions { args, ..LoadOptions::default() };
    let trace = load(File::open(path)?, &options)?.trace;
    let nesting = Nesting::of(&trace);
    Ok(steps_table(&trace, &nesting) + &layers_table(&trace, &nesting))
}

fn steps_table(trace: &Trace, nesting: &Nesting) -> String {
    let mut rows = vec![row("", ["steps", "total", "p50", "p95", "max", "tokens/s", "covered %"])];
    for &phase in Phase::ALL {
        let options = StepsOptions { phases: vec![phase], ..StepsOptions::default() };
        let group = steps(trace, nesting, &Selected::all(trace), &options).all;
        if group.count == 0 {
            continue;
        }
        let Distribution { p50, p95, max, .. } = group.durations;
        let tokens_a_second = (group.prefill_tokens + group.decode_tokens) as f64 / (group.total as f64 / 1e9);
        let figures = [format!("{tokens_a_second:.0}"), format!("{:.1}", 100.0 * group.coverage())];
        let times = [group.total, p50, p95, max].map(millis);
        rows.push(row(phase.as_str(), std::iter::once(group.count.to_string()).chain(times).chain(figures)));
    }
    table("where the time went by step, ms", &rows)
}

fn layers_table(trace: &Trace, nesting: &Nesting) -> String {
    let found = layers(trace, nesting, &Selected::all(trace), &LayersOptions::default());
    let Some(phase) = found.phases.first() else { return String::new() };
    let content = |value: ArgValue| value.content(&trace.strings).into_owned();
    let names: Vec<String> = found.columns.iter().map(|column| column.map_or_else(String::new, content)).collect();
    let name = |column: usize| names[column].as_str();
    let sum = |column: usize| found.column_sum(phase, column).self_time;
    // Some categories are only outside of layers: loading, scheduling.
    let inside: Vec<usize> = (0..found.columns.len()).filter(|&column| sum(column) > 0).collect();
    let line = |label: &str, time: &dyn Fn(usize) -> i64| {
        let all = inside.iter().map(|&column| time(column)).sum();
        row(label, std::iter::once(all).chain(inside.iter().map(|&column| time(column))).map(millis))
    };
    let mut rows = vec![row("layer", std::iter::once("all").chain(inside.iter().map(|&column| name(column))))];
    for (n, layer) in found.layers.iter().enumerate() {
        rows.push(line(&layer.to_string(), &|column| phase.cell(n, column).self_time));
    }
    rows.push(line("all", &sum));
    let outside = phase.without_layer.iter().enumerate().filter(|(_, cell)| cell.self_time > 0);
    let outside: Vec<_> = outside.map(|(column, cell)| row(name(column), [millis(cell.self_time)])).collect();
    table("where the time went by layer and category, ms of self time", &rows)
        + &table("and outside of layers", &outside)
}

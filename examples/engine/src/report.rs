//! What a run was like: by the engine's own account, and by its trace.

use crate::stats::Stats;
use crate::table::{millis, row, table};
use anyhow::Result;
use ferrum_trace_analyze::{
    Distribution, Glob, LAYER_ARG, LayersOptions, Nesting, Selected, Selection, SortBy, SummaryOptions, layers,
    summarize,
};
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use ferrum_trace_model::{Trace, vocab};
use std::fs::File;
use std::path::Path;

/// How long requests took, as the engine noted it.
pub fn of_stats(stats: &Stats) -> String {
    let Stats { wall_ns, steps, generated_tokens, preemptions, requests, .. } = stats;
    let seconds = *wall_ns as f64 / 1e9;
    let prompt_tokens: usize = requests.iter().map(|request| request.prompt_tokens).sum();
    let head = format!(
        "{} requests, {prompt_tokens} prompt tokens, {generated_tokens} tokens in {seconds:.2} s: {:.0} tokens/s\n\
         {} steps: {} prefill, {} decode, {} mixed; {preemptions} preemptions\n\n",
        requests.len(),
        *generated_tokens as f64 / seconds,
        steps.all(),
        steps.prefill,
        steps.decode,
        steps.mixed,
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

/// Where the time went, as the trace has it.
pub fn of_trace(path: &Path) -> Result<String> {
    let options = LoadOptions { args: vec![LAYER_ARG.to_owned()], ..LoadOptions::default() };
    let trace = load(File::open(path)?, &options)?.trace;
    let nesting = Nesting::of(&trace);
    Ok(steps_table(&trace, &nesting) + &layers_table(&trace, &nesting))
}

fn steps_table(trace: &Trace, nesting: &Nesting) -> String {
    let steps = Selection { categories: vec![Glob::new(vocab::step::CATEGORY)], ..Selection::default() };
    let options = SummaryOptions { sort: SortBy::Total, ..SummaryOptions::default() };
    let summary = summarize(trace, nesting, &steps.apply(trace), &options);
    let mut rows = vec![row("", ["steps", "total", "p50", "p95", "max"])];
    for found in &summary.rows {
        let name = found.key.name.map_or("", |name| trace.strings.get(name));
        let Distribution { p50, p95, max, .. } = found.durations;
        let times = [found.total, p50, p95, max].map(millis);
        rows.push(row(name, std::iter::once(found.count.to_string()).chain(times)));
    }
    table("where the time went by step, ms", &rows)
}

fn layers_table(trace: &Trace, nesting: &Nesting) -> String {
    let found = layers(trace, nesting, &Selected::all(trace), &LayersOptions::default());
    let Some(phase) = found.phases.first() else { return String::new() };
    let name = |column: usize| trace.strings.get(found.categories[column]);
    let sum = |column: usize| found.column_sum(phase, column).self_time;
    // Some categories are only outside of layers: loading, scheduling.
    let inside: Vec<usize> = (0..found.categories.len()).filter(|&column| sum(column) > 0).collect();
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

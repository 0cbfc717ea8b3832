//! The text of `requests`.

use super::args::RequestsArgs;
use super::report::RequestsReport;
use crate::input::source::Source;
use crate::render::recorder;
use crate::render::style::{TITLE, key_value};
use crate::render::table::{self, Column, Table, clean};
use crate::render::units::{count, number, rate, share, time, time_in_column};
use ferrum_trace_analyze::{Figure, Figures, Part, Parts, Request, Requests, Slo};
use ferrum_trace_model::Trace;

/// Returns the overview and the tables.
pub(crate) fn text(source: &Source, report: &RequestsReport, args: &RequestsArgs) -> String {
    let (trace, requests) = (&report.loaded.trace, &report.requests);
    let width = table::width();
    let mut text = overview(source, requests, &args.slos);
    text.push_str(&recorder::lines(&report.loaded));
    text.push('\n');
    text.push_str(&figures(&requests.figures).render(width));
    if requests.figures.completed > 0 {
        text.push('\n');
        text.push_str(&parts_of_all(trace, requests).render(width));
        if requests.n_steps == 0 {
            text.push_str("the trace has no steps, so all time in prefill and decode counts as such\n");
        }
    }
    for &place in &report.explained {
        let (Some(request), Some(parts)) = (requests.requests.get(place), requests.parts.get(place)) else { continue };
        text.push('\n');
        let (title, table) = explanation(trace, request, parts);
        text.push_str(&title);
        if request.end.is_some() {
            text.push_str(&table.render(width));
        }
    }
    if args.each {
        text.push('\n');
        text.push_str(&all_requests(trace, requests).render(width));
    }
    text
}

fn overview(source: &Source, requests: &Requests, slos: &[Slo]) -> String {
    let figures = &requests.figures;
    let mut states = vec![format!("{} completed", number(figures.completed))];
    for (n_requests, state) in [(figures.failed, "failed"), (figures.unfinished, "unfinished")] {
        if n_requests > 0 {
            states.push(format!("{} {state}", number(n_requests)));
        }
    }
    let mut text = format!(
        "{TITLE}{}{TITLE:#}: {} in {}, {}\n",
        clean(&source.label),
        count(requests.requests.len() as u64, "request"),
        time(figures.wall),
        states.join(", ")
    );
    let mut line = |key: &str, value: String| {
        text.push_str(&key_value(key, &value));
    };
    let per_second = |count: u64| rate(figures.per_second(count));
    line("requests", format!("{} per second", per_second(figures.completed)));
    let (prompt, output) = (figures.prompt_tokens, figures.output_tokens);
    let rates = format!("{} and {} per second", per_second(prompt), per_second(output));
    line("tokens", format!("{} of prompts, {} generated; {rates}", number(prompt), number(output)));
    if figures.n_preempted > 0 {
        let (requests, preemptions) = (figures.n_preempted, figures.n_preemptions);
        line("preempted", format!("{}, {}", count(requests, "request"), count(preemptions, "time")));
    }
    if let Some(good) = figures.good {
        line("goodput", goodput(figures, good, slos));
    }
    text
}

fn goodput(figures: &Figures, good: u64, slos: &[Slo]) -> String {
    let limits = slos
        .iter()
        .zip(&figures.met)
        .map(|(slo, &met)| format!("{} within {}: {}", slo.metric.name(), time(slo.limit), number(met)));
    let limits: Vec<String> = limits.collect();
    let (rate, good, all) = (rate(figures.per_second(good)), number(good), number(figures.completed));
    format!("{rate} per second; {good} of {all} meet all limits ({})", limits.join(", "))
}

fn figures(figures: &Figures) -> Table {
    let mut table = Table::new(vec![
        Column::text("figure"),
        Column::number("count").importance(1),
        Column::number("mean"),
        Column::number("p50"),
        Column::number("p95"),
        Column::number("p99"),
        Column::number("min").importance(0),
        Column::number("max").importance(2),
    ]);
    for (name, figure) in named(figures) {
        let values = &figure.values;
        let times = [figure.mean.round() as i64, values.p50, values.p95, values.p99, values.min, values.max];
        let mut cells = vec![name.to_owned(), number(figure.count)];
        cells.extend(times.map(|time| if figure.count == 0 { "-".to_owned() } else { time_in_column(time) }));
        table.push(cells);
    }
    table
}

fn named(figures: &Figures) -> [(&'static str, &Figure); 5] {
    [
        ("TTFT", &figures.ttft),
        ("TPOT", &figures.tpot),
        ("ITL", &figures.itl),
        ("E2EL", &figures.e2el),
        ("queue", &figures.queue),
    ]
}

/// Returns the description of a part.
fn part_text(part: Part) -> &'static str {
    match part {
        Part::Queue => "waiting to be run",
        Part::Prefill => "own prefill",
        Part::OthersDecode => "others' decode, during own prefill",
        Part::OthersPrefill => "others' prefill, during own decode",
        Part::Mixed => "decode, in steps with others' prefill",
        Part::Decode => "decode",
        Part::Preempted => "preempted",
        Part::BetweenSteps => "unexplained: between steps",
        Part::Unexplained => "unexplained: not covered by any recorded step",
    }
}

/// Returns the mean parts of all completed requests.
fn parts_of_all(trace: &Trace, requests: &Requests) -> Table {
    let sums = requests.parts_of_completed(trace);
    let mut table = Table::new(vec![Column::text("where the time went"), Column::number("mean"), Column::number("%")]);
    for part in Part::ALL.into_iter().filter(|&part| sums.get(part) != 0) {
        let mean = sums.get(part) as f64 / requests.figures.completed as f64;
        table.push(vec![
            part_text(part).to_owned(),
            time_in_column(mean.round() as i64),
            share(sums.get(part), sums.sum()),
        ]);
    }
    table
}

/// Returns a line about a request, and the parts of its latency.
fn explanation(trace: &Trace, request: &Request, parts: &Parts) -> (String, Table) {
    let id = clean(&request.id.content(&trace.strings));
    let known = |time: Option<i64>| time.map_or("unknown".to_owned(), self::time);
    let prompt = request.prompt_tokens.map_or("unknown".to_owned(), number);
    let reason =
        request.reason.map_or_else(String::new, |reason| format!(", {}", clean(&reason.content(&trace.strings))));
    let title = format!(
        "{TITLE}request {id}{TITLE:#}: latency {}, first token after {}, {prompt} tokens of prompt, {} generated{reason}\n",
        known(request.latency()),
        known(request.time_to_first_token()),
        number(request.tokens()),
    );
    let mut table = Table::new(vec![Column::text("part"), Column::number("time"), Column::number("%")]);
    for part in Part::ALL.into_iter().filter(|&part| parts.get(part) != 0) {
        let time = parts.get(part);
        table.push(vec![part_text(part).to_owned(), time_in_column(time), share(time, parts.sum())]);
    }
    table.push(vec!["latency".to_owned(), time_in_column(parts.sum()), share(parts.sum(), parts.sum())]);
    (title, table)
}

fn all_requests(trace: &Trace, requests: &Requests) -> Table {
    let mut table = Table::new(vec![
        Column::text("request"),
        Column::number("at"),
        Column::number("prompt").importance(2),
        Column::number("output").importance(3),
        Column::number("queue").importance(4),
        Column::number("TTFT"),
        Column::number("TPOT").importance(5),
        Column::number("E2EL"),
        Column::text("reason").importance(1),
    ]);
    let first = trace.census.first.unwrap_or(0);
    let known = |time: Option<i64>| time.map_or("-".to_owned(), time_in_column);
    for request in &requests.requests {
        let reason = request.reason.map(|reason| reason.content(&trace.strings));
        table.push(vec![
            request.id.content(&trace.strings).into_owned(),
            time_in_column(request.arrival.saturating_sub(first)),
            request.prompt_tokens.map_or("-".to_owned(), number),
            number(request.tokens()),
            known(request.queue_time()),
            known(request.time_to_first_token()),
            known(request.time_per_output_token().map(|time| time.round() as i64)),
            known(request.latency()),
            reason.as_deref().unwrap_or(if request.end.is_none() { "unfinished" } else { "-" }).to_owned(),
        ]);
    }
    table
}

//! The layer.

use super::callsite::{end_site_of, site_of};
use super::fields::Fields;
use super::stack::{self, Entered};
use crate::arg::Value;
use crate::async_span::next_id;
use crate::attach;
use crate::buffer::{self, Draft};
use crate::clock;
use crate::event::point;
use crate::global::{self, OFF};
use crate::site::Site;
use crate::span::{DynamicName, close, end_otherwise, now_of, open};
use ferrum_trace_format::spool::record::Kind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, SpanRef};

/// A layer that records, as the [module](super) says.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Layer {}

/// The layer that records.
pub fn layer() -> Layer {
    Layer::default()
}

/// What is kept of a span.
#[derive(Debug)]
struct Kept {
    metadata: &'static Metadata<'static>,
    fields: Fields,
    life: Life,
}

/// How often a span was entered, and for how long. Times are those of the recording's clock.
#[derive(Debug, Default)]
struct Life {
    n_entered: AtomicU64,
    first: AtomicU64,
    busy: AtomicU64,
    /// Its row, from the second entry on.
    row: OnceLock<Row>,
}

/// The row of a span that is entered more than once.
#[derive(Debug)]
struct Row {
    id: u64,
    /// When it was made, on the clock of the recording and in nanoseconds: with another such pair, what the clock's unit is.
    pair: (u64, u64),
}

impl Kept {
    fn site(&self) -> &'static Site {
        site_of(self.metadata, self.fields.present)
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> tracing_subscriber::Layer<S> for Layer {
    /// Also while nothing is recorded: it may be entered when something is.
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id).filter(|_| !crate::COMPILED_OUT) else {
            return;
        };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(Kept { metadata: attributes.metadata(), fields, life: Life::default() });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(kept) = span.extensions_mut().get_mut::<Kept>()
        {
            values.record(&mut kept.fields);
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let mode = global::mode();
        if crate::COMPILED_OUT || mode == OFF {
            return;
        }
        if let Some(span) = context.span(id) {
            note_entry(&span);
        }
        // Last, so that nothing of ours is in the slice.
        let (start, level) = open(mode);
        if !stack::push(Entered { span: id.into_u64(), start, level }) {
            close(level);
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let ticks = clock::ticks();
        let Some(entered) = stack::take(id.into_u64()) else {
            return;
        };
        let end = buffer::current().end_at(ticks);
        let Some(span) = context.span(id) else {
            close(entered.level);
            return;
        };
        let extensions = span.extensions();
        let Some(kept) = extensions.get::<Kept>() else {
            close(entered.level);
            return;
        };
        kept.life.busy.fetch_add(now_of(entered.level, end).saturating_sub(entered.start), Ordering::Relaxed);
        end_slice(kept, &entered, end);
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if crate::COMPILED_OUT || global::mode() == OFF {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        match fields.only_message() {
            Some(message) => named_instant(message, event.metadata().target()),
            None => point(Kind::Instant, site_of(event.metadata(), fields.present), &[], &fields.args()),
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        let extensions = span.extensions();
        let Some(kept) = extensions.get::<Kept>() else {
            return;
        };
        if let Some(row) = kept.life.row.get().filter(|_| global::mode() != OFF) {
            end_row(kept, row);
        }
    }
}

fn end_slice(kept: &Kept, entered: &Entered, end: u64) {
    let site = kept.site();
    let args = kept.fields.args();
    let buffer = buffer::current();
    let (start, level, known) = (entered.start, entered.level, site.known_id());
    let is_written = match args.as_slice() {
        [] => buffer.try_span(known, start, end, level, &[]),
        &[one] => buffer.try_span(known, start, end, level, &[one]),
        &[one, two] => buffer.try_span(known, start, end, level, &[one, two]),
        &[one, two, three] => buffer.try_span(known, start, end, level, &[one, two, three]),
        _ => false,
    };
    if !is_written {
        end_otherwise(start, end, level, &args, || site.id());
    }
}

/// Counts an entry. At the second, the span gets a row of its own, which begins where the first was.
fn note_entry<S: for<'a> LookupSpan<'a>>(span: &SpanRef<'_, S>) {
    let extensions = span.extensions();
    let Some(kept) = extensions.get::<Kept>() else {
        return;
    };
    let life = &kept.life;
    match life.n_entered.fetch_add(1, Ordering::Relaxed) {
        0 => life.first.store(global::now(), Ordering::Relaxed),
        1 => begin_row(kept),
        _ => {}
    }
}

fn begin_row(kept: &Kept) {
    let id = next_id();
    let _ = kept.life.row.set(Row { id, pair: (global::now(), clock::monotonic_nanos()) });
    let (site, first) = (kept.site(), kept.life.first.load(Ordering::Relaxed));
    let args = kept.fields.args();
    let draft = Draft { kind: Kind::AsyncBegin, site: 0, start: first, end: first, leading: &[id], args: &args };
    attach::record(|| site.id(), &draft);
}

/// The end of a row says how much of it was work.
fn end_row(kept: &Kept, row: &Row) {
    let (now, nanos) = (global::now(), clock::monotonic_nanos());
    let (first, busy) = (kept.life.first.load(Ordering::Relaxed), kept.life.busy.load(Ordering::Relaxed));
    let idle = now.saturating_sub(first).saturating_sub(busy);
    let unit = nanos.saturating_sub(row.pair.1) as f64 / now.saturating_sub(row.pair.0).max(1) as f64;
    let args = [busy, idle].map(|time| ((time as f64 * unit).round() as u64).to_arg());
    let site = end_site_of(kept.metadata);
    let draft = Draft { kind: Kind::AsyncEnd, site: 0, start: now, end: now, leading: &[row.id], args: &args };
    attach::record(|| site.id(), &draft);
}

fn named_instant(name: &str, category: &str) {
    let name = DynamicName::new(name, category);
    let now = global::now();
    let draft = Draft { kind: Kind::Instant, site: 0, start: now, end: now, leading: &[], args: name.args() };
    attach::record(|| name.site(), &draft);
}

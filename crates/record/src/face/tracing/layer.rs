//! The layer that records spans and events of `tracing`.

use super::cache;
use super::callsite::{named_category, site_of};
use super::fields::Fields;
use super::kept::Kept;
use super::span_key::SpanKey;
use super::stack::{self, Entered};
use crate::os::clock;
use crate::probe::mode::mode;
use crate::probe::span::{DynamicName, close, end_slowly, note_begin, now_of, open};
use crate::process::attach;
use crate::process::categories::is_name_muted;
use crate::process::current::site_id;
use crate::process::event::point;
use crate::process::switch::{self, FILTERED, OFF};
use crate::thread::buffer::{self, Draft};
use crate::util::compiled_out::COMPILED_OUT;
use ferrum_trace_format::spool::record::RecordKind;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// Maximum number of characters of a message that become the name of its event.
const NAME_CHARS_MAX: usize = 120;

/// The recording layer, as described in the [module](super).
#[derive(Debug)]
pub struct Layer {
    /// Distinguishes spans of the same number in different registries.
    number: u32,
}

/// Creates the recording layer.
pub fn layer() -> Layer {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    Layer { number: NEXT.fetch_add(1, Ordering::Relaxed) }
}

impl Layer {
    fn key(&self, id: &Id) -> SpanKey {
        SpanKey { layer: self.number, span: id.into_u64() }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> tracing_subscriber::Layer<S> for Layer {
    /// Keeps the span also while nothing is recorded: recording may be on when it is entered.
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id).filter(|_| !COMPILED_OUT) else {
            return;
        };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(Arc::new(Kept::new(attributes.metadata(), fields)));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(kept) = kept_of(id, &context) {
            let mut news = Fields::default();
            values.record(&mut news);
            kept.update(news);
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let mode = mode();
        if COMPILED_OUT || mode == OFF {
            return;
        }
        if mode & FILTERED != 0 && context.metadata(id).is_some_and(|span| is_name_muted(span.target())) {
            return;
        }
        let key = self.key(id);
        let site = cache::with(
            key,
            || kept_of(id, &context),
            |kept| {
                kept.note_entry(|| spans_around(id, &context));
                kept.bare_site()
            },
        );
        // Last, so that the slice does not include this code.
        let (start, level) = open(mode);
        match site.filter(|_| stack::push(Entered { key, start, level })) {
            // Without its fields: reading them takes a lock, and they may still change.
            Some(site) => note_begin(site, start, level, &[]),
            None => close(level),
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let ticks = clock::ticks();
        let key = self.key(id);
        let Some(entered) = stack::take(key) else {
            return;
        };
        let end = buffer::current().end_at(ticks);
        if cache::with(key, || kept_of(id, &context), |kept| end_slice(kept, &entered, end)).is_none() {
            close(entered.level);
        }
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if COMPILED_OUT || mode() == OFF || is_name_muted(event.metadata().target()) {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        match fields.only_message() {
            Some(message) => named_instant(message, event.metadata().target()),
            None => instant(event.metadata(), &fields),
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        cache::forget(self.key(&id));
        if let Some(kept) = kept_of(&id, &context) {
            kept.end_row();
        }
    }
}

/// Returns the registry's state of a span.
fn kept_of<S: for<'a> LookupSpan<'a> + Subscriber>(id: &Id, context: &Context<'_, S>) -> Option<Arc<Kept>> {
    context.span(id)?.extensions().get::<Arc<Kept>>().cloned()
}

/// Returns the spans around a span, the innermost first.
fn spans_around<S: for<'a> LookupSpan<'a> + Subscriber>(id: &Id, context: &Context<'_, S>) -> Vec<Arc<Kept>> {
    let Some(span) = context.span(id) else { return Vec::new() };
    span.scope().skip(1).filter_map(|span| span.extensions().get::<Arc<Kept>>().cloned()).collect()
}

#[inline]
fn end_slice(kept: &Kept, entered: &Entered, end: u64) {
    let (start, level) = (entered.start, entered.level);
    kept.note_exit(now_of(level, end).saturating_sub(start));
    let Some(site) = kept.plain_site() else {
        return end_slice_with_args(kept, entered, end);
    };
    if !buffer::current().try_span(site.known_id(), start, end, level, &[]) {
        end_slowly(start, end, level, &[], || site_id(site));
    }
}

fn end_slice_with_args(kept: &Kept, entered: &Entered, end: u64) {
    let (site, args) = kept.site_and_args();
    let buffer = buffer::current();
    let (start, level, known) = (entered.start, entered.level, site.known_id());
    let is_written = match *args.as_slice() {
        [one] => buffer.try_span(known, start, end, level, &[one]),
        [one, two] => buffer.try_span(known, start, end, level, &[one, two]),
        [one, two, three] => buffer.try_span(known, start, end, level, &[one, two, three]),
        _ => false,
    };
    if !is_written {
        end_slowly(start, end, level, &args, || site_id(site));
    }
}

/// Records an event with fields. Its name is its message, or its source location if it has no message or there are too
/// many different names.
fn instant(metadata: &'static Metadata<'static>, fields: &Fields) {
    let args = fields.args();
    let name = fields.message().and_then(event_name);
    match name.and_then(|name| attach::site_of(&name, named_category(metadata, fields.present))) {
        Some(site) => {
            let now = switch::now();
            let draft = Draft { kind: RecordKind::Instant, site: 0, start: now, end: now, leading: &[], args: &args };
            attach::record(|| site, &draft);
        }
        None => point(RecordKind::Instant, site_of(metadata, fields.present), &[], &args),
    }
}

/// Returns the name for a message: its first line, shortened if it is too long. The whole message is an argument.
fn event_name(message: &str) -> Option<Cow<'_, str>> {
    let line = message.trim_start().lines().next()?.trim_end();
    let cut = line.char_indices().nth(NAME_CHARS_MAX).map(|(end, _)| format!("{}…", &line[..end]));
    Some(cut.map_or(Cow::Borrowed(line), Cow::Owned)).filter(|name| !name.is_empty())
}

fn named_instant(name: &str, category: &str) {
    let name = DynamicName::new(name, category);
    let now = switch::now();
    let draft = Draft { kind: RecordKind::Instant, site: 0, start: now, end: now, leading: &[], args: name.args() };
    attach::record(|| name.site(), &draft);
}

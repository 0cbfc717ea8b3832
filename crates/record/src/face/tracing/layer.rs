//! The layer that records spans and events of `tracing`.

use super::cache;
use super::callsite::{named_category, site_of};
use super::fields::{Fields, ShortFields};
use super::kept::Kept;
use super::slot::{Created, SLOT_ARGS, Slot};
use super::span_key::SpanKey;
use super::stack::{self, Entered};
use super::table;
use crate::os::clock;
use crate::probe::flow::Flow;
use crate::probe::mode::mode;
use crate::probe::span::{DynamicName, close, end_slowly, note_begin, now_of, open};
use crate::process::attach;
use crate::process::categories::is_name_muted;
use crate::process::current::site_id;
use crate::process::event::point;
use crate::process::switch::{self, FILTERED, OFF};
use crate::thread::arg::Arg;
use crate::thread::buffer::{self, Draft};
use crate::thread::site::Site;
use crate::util::compiled_out::COMPILED_OUT;
use ferrum_trace_format::spool::record::RecordKind;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, SpanRef};

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
    /// Stores the span also while nothing is recorded: recording may be on when it is entered.
    #[inline]
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if COMPILED_OUT {
            return;
        }
        let mut fields = ShortFields::new();
        attributes.record(&mut fields);
        let is_stored = fields.fits && self.store(attributes, id, &fields);
        if !is_stored {
            keep(attributes, id, &context);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(kept) = self.kept_of(id, &context) {
            let mut news = Fields::default();
            values.record(&mut news);
            kept.update(news);
        }
    }

    /// Begins a flow in the span that the thread is in. It ends at the next entry of the span that follows.
    fn on_follows_from(&self, id: &Id, _follows: &Id, context: Context<'_, S>) {
        if COMPILED_OUT || mode() == OFF {
            return;
        }
        if let Some((kept, flow)) = self.kept_of(id, &context).zip(Flow::from_open_span()) {
            kept.add_cause(flow);
        }
    }

    #[inline]
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let mode = mode();
        if COMPILED_OUT || mode == OFF {
            return;
        }
        if mode & FILTERED != 0 && context.metadata(id).is_some_and(|span| is_name_muted(span.target())) {
            return;
        }
        let key = self.key(id);
        let is_entered_at_once = stack::take_created() == Some(key);
        match table::find_own(key).filter(|slot| !slot.is_promoted()) {
            Some(slot) if slot.home() == 0 => enter_slot(mode, key, slot, Some(is_entered_at_once)),
            Some(slot) if !slot.is_task(stack::thread(), stack::innermost(key.layer)) => {
                enter_slot(mode, key, slot, None);
            }
            found => self.enter_kept(mode, id, found.is_some(), &context),
        }
    }

    #[inline]
    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let ticks = clock::ticks();
        let key = self.key(id);
        stack::take_created();
        let Some(entered) = stack::take(key) else {
            return;
        };
        let end = buffer::current().end_at(ticks);
        let is_ended = entered.slot.is_some_and(|slot| {
            let is_in_slot = !slot.is_promoted();
            if is_in_slot {
                end_slot_slice(slot, &entered, end);
            }
            slot.leave();
            is_in_slot
        });
        if is_ended {
            return;
        }
        if let Some(kept) = &entered.closed {
            end_slice(kept, &entered, end);
            end_kept(kept);
            return;
        }
        if cache::with(key, || self.kept_of(id, &context), |kept| end_slice(kept, &entered, end)).is_none() {
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

    #[inline]
    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let key = self.key(&id);
        match table::find_own(key) {
            Some(slot) if !slot.is_promoted() => slot.free(),
            _ => close_kept(key, &id, &context),
        }
    }
}

impl Layer {
    /// Stores a span in the calling thread's table. Returns false if there is no room.
    #[inline]
    fn store(&self, attributes: &Attributes<'_>, id: &Id, fields: &ShortFields) -> bool {
        let key = self.key(id);
        let parent = match attributes.parent() {
            Some(parent) => parent.into_u64(),
            None if attributes.is_contextual() => stack::innermost(key.layer),
            None => 0,
        };
        stack::note_created(key);
        let site = site_of(attributes.metadata(), fields.present);
        table::insert(&Created { key, site, present: fields.present, args: fields.args(), parent })
    }

    /// Returns the state of a span, which is moved there if it is in a slot.
    fn kept_of<S: for<'a> LookupSpan<'a> + Subscriber>(&self, id: &Id, context: &Context<'_, S>) -> Option<Arc<Kept>> {
        self.kept_in(&context.span(id)?)
    }

    fn kept_in<'a, R: LookupSpan<'a>>(&self, span: &SpanRef<'a, R>) -> Option<Arc<Kept>> {
        if let Some(kept) = span.extensions().get::<Arc<Kept>>() {
            return Some(Arc::clone(kept));
        }
        let slot = table::find(self.key(&span.id()))?;
        let mut extensions = span.extensions_mut();
        if let Some(kept) = extensions.get_mut::<Arc<Kept>>() {
            return Some(Arc::clone(kept)); // Another thread was faster.
        }
        let kept = Arc::new(Kept::of_slot(span.metadata(), slot));
        extensions.insert(Arc::clone(&kept));
        slot.promote();
        Some(kept)
    }

    /// Enters a span whose state is not in a slot of this thread, or that becomes a task.
    #[cold]
    fn enter_kept<S: for<'a> LookupSpan<'a> + Subscriber>(
        &self,
        mode: u8,
        id: &Id,
        is_task: bool,
        context: &Context<'_, S>,
    ) {
        let key = self.key(id);
        let found = cache::with(
            key,
            || self.kept_of(id, context),
            |kept| {
                kept.note_entry(is_task, || self.spans_around(id, context));
                (kept.bare_site(), kept.take_causes())
            },
        );
        // Last, so that the slice does not include this code.
        let (start, level) = open(mode);
        match found.filter(|_| stack::push(Entered { key, start, level, slot: None, closed: None })) {
            // Without its fields: reading them takes a lock, and they may still change.
            Some((site, causes)) => {
                note_begin(site, start, level, &[]);
                causes.into_iter().for_each(|flow| flow.record(RecordKind::FlowEnd));
            }
            None => close(level),
        }
    }

    /// Returns the spans around a span, the innermost first.
    fn spans_around<S: for<'a> LookupSpan<'a> + Subscriber>(
        &self,
        id: &Id,
        context: &Context<'_, S>,
    ) -> Vec<Arc<Kept>> {
        let Some(span) = context.span(id) else { return Vec::new() };
        span.scope().skip(1).filter_map(|span| self.kept_in(&span)).collect()
    }
}

/// Stores a span that has no slot in the registry.
#[cold]
fn keep<S: for<'a> LookupSpan<'a> + Subscriber>(attributes: &Attributes<'_>, id: &Id, context: &Context<'_, S>) {
    if let Some(span) = context.span(id) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(Arc::new(Kept::new(attributes.metadata(), fields)));
    }
}

/// Enters a span whose state is in a slot. `first` is given at the first entry: true if nothing came between it and the
/// creation of the span.
#[inline]
fn enter_slot(mode: u8, key: SpanKey, slot: &'static Slot, first: Option<bool>) {
    let here = stack::thread();
    // After everything that takes time, so that the slice does not include it.
    let (start, level) = open(mode);
    if let Some(is_entered_at_once) = first {
        slot.begin(here, start, is_entered_at_once);
    }
    match slot.site().filter(|_| stack::push(Entered { key, start, level, slot: Some(slot), closed: None })) {
        Some(site) => {
            slot.enter();
            note_begin_with_args(slot, site, start, level);
        }
        None => close(level),
    }
}

#[inline]
fn note_begin_with_args(slot: &Slot, site: &'static Site, start: u64, level: u32) {
    match slot.n_args() {
        0 => note_begin(site, start, level, &[]),
        1 => note_begin(site, start, level, &slot.args::<1>()),
        2 => note_begin(site, start, level, &slot.args::<2>()),
        3 => note_begin(site, start, level, &slot.args::<3>()),
        _ => note_begin(site, start, level, &slot.args::<SLOT_ARGS>()),
    }
}

#[inline]
fn end_slot_slice(slot: &Slot, entered: &Entered, end: u64) {
    let &Entered { start, level, .. } = entered;
    slot.add_busy(now_of(level, end).saturating_sub(start));
    let Some(site) = slot.site() else {
        close(level);
        return;
    };
    match slot.n_args() {
        0 => end_span(site, start, end, level, &[]),
        1 => end_span(site, start, end, level, &slot.args::<1>()),
        2 => end_span(site, start, end, level, &slot.args::<2>()),
        3 => end_span(site, start, end, level, &slot.args::<3>()),
        _ => end_span(site, start, end, level, &slot.args::<SLOT_ARGS>()),
    }
}

#[inline]
fn end_span<const N: usize>(site: &'static Site, start: u64, end: u64, level: u32, args: &[Arg; N]) {
    if !buffer::current().try_span(site.known_id(), start, end, level, args) {
        end_slowly(start, end, level, args, || site_id(site));
    }
}

/// Removes the state of a span that is closed. If the last handle of a span is dropped while a thread is in it, the
/// registry closes it before this layer leaves it. Then the state is kept until the thread leaves it.
#[cold]
fn close_kept<S: for<'a> LookupSpan<'a> + Subscriber>(key: SpanKey, id: &Id, context: &Context<'_, S>) {
    cache::forget(key);
    let kept = context.span(id).and_then(|span| span.extensions().get::<Arc<Kept>>().cloned());
    match kept {
        Some(kept) if stack::keep_closed(key, &kept) => {}
        Some(kept) => end_kept(&kept),
        None => {
            if let Some(slot) = table::find(key) {
                slot.free();
            }
        }
    }
}

/// Ends the row of a span that is closed, and frees the slot that it was created in.
fn end_kept(kept: &Kept) {
    kept.end_row();
    if let Some(slot) = kept.slot() {
        slot.free();
    }
}

#[inline]
fn end_slice(kept: &Kept, entered: &Entered, end: u64) {
    let (start, level) = (entered.start, entered.level);
    kept.note_exit(now_of(level, end).saturating_sub(start));
    let Some(site) = kept.plain_site() else {
        return end_slice_with_args(kept, entered, end);
    };
    end_span(site, start, end, level, &[]);
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

//! Converts open spans to slices that end at the end of the file.

use super::chunk_names::ChunkNames;
use super::dictionary::{Dictionary, Site};
use super::encoding::Event;
use super::open_span::OpenSpan;
use super::piece::inline_site_of;
use super::record::{Record, SITE_INLINE};
use super::text::Texts;
use crate::ReadAt;
use std::sync::Arc;

/// Maximum number of threads in the list of [`OpenSlices::by_thread`].
const THREADS_MAX: usize = 100;
/// Maximum length of the list of names of one thread.
const STACK_BYTES_MAX: usize = 1000;

fn is_inline(record: &Record<'_>) -> bool {
    record.site == SITE_INLINE
}

/// Open spans with their times and names.
pub(crate) struct OpenSlices<'a, R: ?Sized> {
    texts: Texts<'a, R>,
    spans: Vec<TimedSpan<'a>>,
    /// Time of the last calibration in nanoseconds, when the process was still alive.
    last_alive: u64,
}

struct TimedSpan<'a> {
    span: &'a OpenSpan,
    /// Nanoseconds.
    start: u64,
    /// The site, if the span carries its own name, or a chunk of events defines it.
    inline_site: Option<Arc<Site>>,
}

impl<'a, R: ReadAt + ?Sized> OpenSlices<'a, R> {
    pub(crate) fn new(source: &'a R, spans: &'a [OpenSpan], dictionary: &Dictionary) -> Self {
        let texts = Texts::of_spool(source);
        let mut clock = dictionary.calibration.cursor();
        let mut chunk_names = ChunkNames::new(source);
        let timed = spans.iter().map(|span| {
            let record = span.record().filter(|record| dictionary.site(record.site).is_none_or(|_| is_inline(record)));
            let inline_site = record.and_then(|record| match is_inline(&record) {
                true => Some(Arc::new(inline_site_of(&texts, &record))),
                false => chunk_names.find(dictionary, record.site, span.thread, span.start),
            });
            TimedSpan { span, start: clock.nanos_since_start(span.start), inline_site }
        });
        let spans = timed.collect();
        Self { spans, texts, last_alive: dictionary.calibration.last_nanos_since_start() }
    }

    /// Returns the latest time at which the spans are known to be open; 0 if there are none.
    pub(crate) fn end(&self) -> u64 {
        let last_begin = self.spans.iter().map(|timed| timed.start + 1).max();
        last_begin.map_or(0, |begin| begin.max(self.last_alive))
    }

    /// Returns the names of the spans of each thread, outermost first: `decode > layer > gemm`. The number of threads
    /// is limited.
    pub(crate) fn by_thread(&self, dictionary: &Dictionary) -> Vec<(String, String)> {
        let mut threads: Vec<(u32, String)> = Vec::new();
        for event in self.events(dictionary, u64::MAX) {
            let thread = event.thread.track.id;
            let name = &*event.site.name;
            let has_room = threads.len() < THREADS_MAX;
            match threads.iter_mut().find(|(known, _)| *known == thread) {
                Some((_, stack)) if stack.len() < STACK_BYTES_MAX => {
                    stack.push_str(" > ");
                    stack.push_str(name);
                }
                Some(_) => {}
                None if has_room => threads.push((thread, name.to_owned())),
                None => {}
            }
        }
        let name = |id| dictionary.threads().find(|(_, thread)| thread.track.id == id);
        let named = |(id, stack)| Some((format!("{} {id}", name(id)?.1.track.name), stack));
        threads.into_iter().filter_map(named).collect()
    }

    /// Returns the spans as slices up to `end`. A span whose thread or name is not defined is omitted.
    pub(crate) fn events<'s>(&'s self, dictionary: &'s Dictionary, end: u64) -> Vec<Event<'s, R>> {
        let events = self.spans.iter().filter_map(|timed| {
            let record = timed.span.record()?;
            let site = timed.inline_site.as_deref().or_else(|| dictionary.site(record.site));
            let site = site.or_else(|| dictionary.overwritten_name(record.site))?;
            let thread = dictionary.thread(timed.span.thread)?;
            Some(Event { texts: &self.texts, record, site, thread, start: timed.start, end })
        });
        events.collect()
    }
}

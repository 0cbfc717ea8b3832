//! Reads arbitrary bytes as Chrome trace events. The result must not depend on how the file is split or on the number
//! of threads, and every byte is in an event, skipped once, or between events.

#![no_main]

use ferrum_trace_format::chrome::read::{Event, EventSink, LoadOptions, Loss, Text, for_each, load, read_in_pieces};
use libfuzzer_sys::fuzz_target;

/// The results with their positions.
#[derive(Debug, Default, PartialEq)]
struct Found {
    events: Vec<(u64, usize)>,
    losses: Vec<Loss>,
    n_fields: usize,
}

impl EventSink for Found {
    fn event(&mut self, event: &Event<'_>) {
        self.events.push((event.offset, event.json.len()));
        // Everything in an event must be decodable.
        let scalars = [event.name, event.category, event.pid, event.tid, event.id];
        let n_bytes: usize = scalars.into_iter().flatten().map(|scalar| scalar.decode().len()).sum();
        assert!(n_bytes <= 3 * event.json.len());
    }

    fn loss(&mut self, loss: Loss) {
        self.losses.push(loss);
    }

    fn field(&mut self, _: Text<'_>, _: &[u8]) {
        self.n_fields += 1;
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut whole = Found::default();
    let is_trace = for_each(bytes, &mut whole).is_ok();
    for (piece_bytes, n_workers) in [(32, 1), (100, 2)] {
        let mut parts = Found::default();
        let take = |part: Found| {
            parts.events.extend(part.events);
            parts.losses.extend(part.losses);
            parts.n_fields += part.n_fields;
            Ok(())
        };
        let result = read_in_pieces(bytes, piece_bytes, n_workers, Found::default, take);
        assert_eq!(result.is_ok(), is_trace);
        if is_trace {
            assert_eq!(parts, whole);
        }
    }
    if !is_trace {
        return;
    }
    let mut places: Vec<(u64, u64)> = whole.events.iter().map(|&(at, len)| (at, at + len as u64)).collect();
    places.extend(whole.losses.iter().map(|loss| (loss.offset, loss.offset + loss.n_bytes)));
    places.sort_unstable();
    assert!(places.windows(2).all(|pair| pair[0].1 <= pair[1].0), "positions overlap: {places:?}");
    assert!(places.last().is_none_or(|&(_, end)| end <= bytes.len() as u64));
    let options = LoadOptions { args: vec!["layer".to_owned()], n_workers: 1 };
    let loaded = load(bytes, &options).expect("the scanned bytes are a trace");
    assert_eq!(loaded.trace.census.events, whole.events.len() as u64);
    assert_eq!(loaded.losses.n, whole.losses.len() as u64);
});

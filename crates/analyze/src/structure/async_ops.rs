//! Pairs the begins and ends of async events.

use ferrum_trace_model::vocab::{UNCLOSED, async_end};
use ferrum_trace_model::{ArgColumn, End, Order, StringId, Trace, TrackId};

/// Arguments of async events that [`async_ops`] reads. A trace that was loaded without them has no busy times, and
/// operations that the recorder ended because the trace ends count as finished.
pub const ASYNC_ARGS: [&str; 3] = [async_end::BUSY_NS, async_end::IDLE_NS, UNCLOSED];

/// An async operation: a begin (`b` or `S`) with its end (`e` or `F`). Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsyncOp {
    /// The time of its begin.
    pub start: i64,
    /// The time of its end, or `None` if the trace ends before it does.
    pub end: Option<i64>,
    /// Its name.
    pub name: StringId,
    /// Its category; empty if it has none.
    pub category: StringId,
    /// Its id; operations of one category and id nest.
    pub id: StringId,
    /// The track that its begin was recorded on.
    pub track: TrackId,
    /// Position of its begin in the file.
    pub order: Order,
    /// Busy and idle time, if its end has them.
    pub busy: Option<BusyTime>,
}

/// Time of an async operation in which a thread worked on it, and the rest, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusyTime {
    /// The time in which some thread worked on it.
    pub busy: i64,
    /// The rest of its time.
    pub idle: i64,
}

impl AsyncOp {
    /// Returns its duration, or `None` if it is unfinished.
    pub fn duration(&self) -> Option<i64> {
        self.end.map(|end| end.saturating_sub(self.start))
    }
}

/// Returns the async operations of a trace, one for each begin.
///
/// Begins and ends of one category, id and name belong together, in time order. An end closes the latest open begin of
/// its own process. An end without such a begin closes the latest open begin of another process. Ends without any begin
/// are ignored.
pub fn async_ops(trace: &Trace) -> Vec<AsyncOp> {
    let asyncs = &trace.asyncs;
    let key = |event: u32| {
        let event = event as usize;
        (asyncs.category[event], asyncs.id[event], asyncs.name[event], asyncs.is_legacy[event])
    };
    let time = |event: u32| asyncs.time[event as usize];
    let process = |event: u32| trace.tracks.get(asyncs.track[event as usize]).process;
    // A file has fewer than four billion events.
    let mut events: Vec<u32> =
        (0..asyncs.end.len() as u32).filter(|&event| asyncs.end[event as usize] != End::Step).collect();
    let n_begins = events.iter().filter(|&&event| asyncs.end[event as usize] == End::Begin).count();
    let mut pairing = Pairing { trace, args: EndArgs::of(trace), ops: Vec::with_capacity(n_begins) };

    events.sort_unstable_by_key(|&event| (key(event), process(event), time(event), event));
    let mut unpaired = Vec::new();
    for group in events.chunk_by(|&event, &next| (key(event), process(event)) == (key(next), process(next))) {
        pairing.pair(group, &mut unpaired);
    }
    unpaired.sort_unstable_by_key(|&event| (key(event), time(event), event));
    let mut unfinished = Vec::new();
    for group in unpaired.chunk_by(|&event, &next| key(event) == key(next)) {
        pairing.pair(group, &mut unfinished);
    }
    for event in unfinished {
        pairing.add_unfinished(event);
    }
    pairing.ops
}

/// Builds operations from begins and ends.
struct Pairing<'a> {
    trace: &'a Trace,
    args: EndArgs<'a>,
    ops: Vec<AsyncOp>,
}

impl Pairing<'_> {
    /// Pairs events that belong together and are in time order. Events without a partner go to `unpaired`.
    fn pair(&mut self, group: &[u32], unpaired: &mut Vec<u32>) {
        let mut open = Vec::new();
        for &event in group {
            match (self.trace.asyncs.end[event as usize], open.pop()) {
                (End::Begin, begin) => open.extend(begin.into_iter().chain([event])),
                (_, Some(begin)) => self.add(begin, Some(event)),
                (_, None) => unpaired.push(event),
            }
        }
        unpaired.append(&mut open);
    }

    /// Adds the operation of a begin without an end.
    fn add_unfinished(&mut self, event: u32) {
        if self.trace.asyncs.end[event as usize] == End::Begin {
            self.add(event, None);
        }
    }

    fn add(&mut self, begin: u32, end: Option<u32>) {
        let asyncs = &self.trace.asyncs;
        let begin = begin as usize;
        let end = end.map(|end| end as usize).filter(|&end| !self.args.is_synthetic(asyncs.order[end]));
        self.ops.push(AsyncOp {
            start: asyncs.time[begin],
            end: end.map(|end| asyncs.time[end]),
            name: asyncs.name[begin],
            category: asyncs.category[begin],
            id: asyncs.id[begin],
            track: asyncs.track[begin],
            order: asyncs.order[begin],
            busy: end.and_then(|end| self.args.busy(asyncs.order[end])),
        });
    }
}

/// Columns of the arguments of ends.
struct EndArgs<'a> {
    trace: &'a Trace,
    busy: Option<&'a ArgColumn>,
    idle: Option<&'a ArgColumn>,
    unclosed: Option<&'a ArgColumn>,
}

impl<'a> EndArgs<'a> {
    fn of(trace: &'a Trace) -> Self {
        let [busy, idle, unclosed] = ASYNC_ARGS.map(|key| trace.args.iter().find(|column| column.key == key));
        Self { trace, busy, idle, unclosed }
    }

    /// Returns true if the end was written only because the trace ends there.
    fn is_synthetic(&self, order: Order) -> bool {
        self.unclosed.is_some_and(|column| column.of(order).is_some())
    }

    fn busy(&self, order: Order) -> Option<BusyTime> {
        let number = |column: Option<&ArgColumn>| column?.of(order)?.content(&self.trace.strings).parse().ok();
        Some(BusyTime { busy: number(self.busy)?, idle: number(self.idle)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrum_trace_format::chrome::read::{LoadOptions, load_async_args};

    fn loaded(text: &str) -> Trace {
        let options = LoadOptions { args: ASYNC_ARGS.map(str::to_owned).to_vec(), ..LoadOptions::default() };
        load_async_args(text.as_bytes(), &options).unwrap().trace
    }

    /// Name, start and end of each operation, by start.
    fn found(text: &str) -> Vec<(String, i64, Option<i64>)> {
        let trace = loaded(text);
        let mut ops = async_ops(&trace);
        ops.sort_by_key(|op| (op.start, op.order));
        ops.iter().map(|op| (trace.strings.get(op.name).to_owned(), op.start, op.end)).collect()
    }

    fn op(name: &str, start: i64, end: Option<i64>) -> (String, i64, Option<i64>) {
        (name.to_owned(), start * 1000, end.map(|end| end * 1000))
    }

    #[test]
    fn an_end_closes_the_latest_begin_of_its_name() {
        let text = r#"[
            {"ph":"b","cat":"c","name":"a","id":1,"ts":0,"pid":1,"tid":1},
            {"ph":"b","cat":"c","name":"b","id":1,"ts":1,"pid":1,"tid":1},
            {"ph":"b","cat":"c","name":"a","id":1,"ts":2,"pid":1,"tid":1},
            {"ph":"n","cat":"c","name":"a","id":1,"ts":2,"pid":1,"tid":1},
            {"ph":"e","cat":"c","name":"a","id":1,"ts":3,"pid":1,"tid":1},
            {"ph":"e","cat":"c","name":"a","id":1,"ts":5,"pid":1,"tid":1},
            {"ph":"e","cat":"c","name":"a","id":1,"ts":6,"pid":1,"tid":1},
            {"ph":"e","cat":"other","name":"b","id":1,"ts":6,"pid":1,"tid":1}]"#;
        assert_eq!(found(text), [op("a", 0, Some(5)), op("b", 1, None), op("a", 2, Some(3))]);
    }

    #[test]
    fn an_end_prefers_a_begin_of_its_own_process() {
        let text = r#"[
            {"ph":"b","cat":"c","name":"a","id":1,"ts":0,"pid":1,"tid":1},
            {"ph":"b","cat":"c","name":"a","id":1,"ts":1,"pid":2,"tid":1},
            {"ph":"e","cat":"c","name":"a","id":1,"ts":2,"pid":1,"tid":1},
            {"ph":"e","cat":"c","name":"a","id":1,"ts":3,"pid":3,"tid":1}]"#;
        assert_eq!(found(text), [op("a", 0, Some(2)), op("a", 1, Some(3))]);
    }

    #[test]
    fn legacy_and_nestable_events_do_not_close_each_other() {
        let text = r#"[
            {"ph":"S","cat":"c","name":"a","id":1,"ts":0,"pid":1,"tid":1},
            {"ph":"b","cat":"c","name":"a","id":1,"ts":1,"pid":1,"tid":1},
            {"ph":"T","cat":"c","name":"a","id":1,"ts":2,"pid":1,"tid":1},
            {"ph":"F","cat":"c","name":"a","id":1,"ts":4,"pid":1,"tid":1}]"#;
        assert_eq!(found(text), [op("a", 0, Some(4)), op("a", 1, None)]);
    }

    #[test]
    fn a_synthetic_end_leaves_the_operation_unfinished() {
        let text = r#"[
            {"ph":"b","cat":"c","name":"a","id":1,"ts":0,"pid":1,"tid":1},
            {"ph":"e","cat":"c","name":"a","id":1,"ts":3,"pid":1,"tid":1,"args":{"unclosed":true}},
            {"ph":"b","cat":"c","name":"b","id":1,"ts":1,"pid":1,"tid":1},
            {"ph":"e","cat":"c","name":"b","id":1,"ts":3,"pid":1,"tid":1,"args":{"busy_ns":500,"idle_ns":1500}}]"#;
        assert_eq!(found(text), [op("a", 0, None), op("b", 1, Some(3))]);
        let busy: Vec<_> = async_ops(&loaded(text)).iter().filter_map(|op| op.busy).collect();
        assert_eq!(busy, [BusyTime { busy: 500, idle: 1500 }]);
    }
}

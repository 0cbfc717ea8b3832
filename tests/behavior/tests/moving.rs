//! A span belongs to its thread, which the compiler enforces; other types may move.

mod common;

use common::Stage;
use ferrum_trace::{AsyncSpan, DynamicSpan, Flow, Laps, Span, Track};

/// Compiles only if the type is not `Send`: otherwise two implementations are ambiguous.
macro_rules! assert_not_send {
    ($($type:ty),*) => {
        const _: () = {
            trait AmbiguousIfSend<A> {
                fn some_item() {}
            }
            impl<T: ?Sized> AmbiguousIfSend<()> for T {}
            impl<T: ?Sized + Send> AmbiguousIfSend<u8> for T {}
            $(let _ = <$type as AmbiguousIfSend<_>>::some_item;)*
        };
    };
}

assert_not_send!(Span, Span<2>, DynamicSpan, Laps, Laps<1>);

const fn assert_send<T: Send + 'static>() {}
const _: () = assert_send::<AsyncSpan>();
const _: () = assert_send::<Flow>();
const _: () = assert_send::<Track>();

#[test]
fn an_async_span_ends_on_the_thread_that_drops_it() {
    let stage = Stage::new();
    stage.run("move").expect_success();
    let trace = stage.finished_trace();
    let phases: Vec<(char, u64)> = trace.recorded().map(|event| (event.phase, event.tid)).collect();
    let (main, other) = (trace.tid_of("main"), trace.tid_of("other"));
    assert_eq!(phases, [('b', main), ('n', other), ('e', other)]);
    let ids: Vec<_> = trace.recorded().map(|event| &event.extra["id2"]).collect();
    assert!(ids.iter().all(|id| *id == ids[0]));
}

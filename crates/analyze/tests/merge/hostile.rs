//! Merges traces with hostile metadata.

use crate::{input, merge_aligned};
use ferrum_trace_analyze::merge::{Align, Input};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<u64>().prop_map(|number| number.to_string()),
        Just("1e300".to_owned()),
        Just(i128::MAX.to_string()),
        Just("-0.0005".to_owned()),
        Just("null".to_owned()),
        Just("\"7\"".to_owned()),
        Just("{\"rank\":[]}".to_owned()),
        (0_i64..1000).prop_map(|number| number.to_string()),
        Just("9223372036854775.807".to_owned()),
        Just("-9223372036854775.808".to_owned()),
    ]
}

fn event() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        Just("all_reduce"),
        Just("gloo:barrier"),
        Just("ProfilerStep#3"),
        Just("flow"),
        Just("process_name")
    ];
    let category = prop_oneof![Just("comm"), Just("step"), Just("flow"), Just("user_annotation")];
    let phase = prop_oneof![
        Just("X"),
        Just("B"),
        Just("E"),
        Just("s"),
        Just("f"),
        Just("b"),
        Just("e"),
        Just("M"),
        Just("C"),
        Just("?")
    ];
    (name, category, phase, [number(), number(), number(), number(), number()]).prop_map(|(name, category, phase, numbers)| {
        let [ts, dur, pid, tid, id] = numbers;
        format!(
            r#"{{"name":"{name}","cat":"{category}","ph":"{phase}","ts":{ts},"dur":{dur},"pid":{pid},"tid":{tid},"id":{id},
            "args":{{"number":{id},"group":{pid},"name":{tid},"sort_index":{dur}}}}}"#
        )
    })
}

fn about(part: &'static str) -> impl Strategy<Value = String> {
    [number(), number(), number(), number()].prop_map(move |[monotonic, unix, rank, pid]| {
        let part = part.replace("N", &rank);
        format!(
            r#"{{"name":"ferrum_trace","ph":"M","pid":{pid},"args":{{"start_monotonic_ns":{monotonic},"start_unix_ns":{unix},
            {part}"rank":{rank},"host":{rank},"boot_id":"b"}}}}"#
        )
    })
}

/// `part` is additional metadata of the recorder, with a number for each `N`.
fn trace(part: &'static str) -> impl Strategy<Value = Input> {
    let events = prop::collection::vec(prop_oneof![4 => event(), 1 => about(part)], 0..12);
    // As JSON: with a quote, with escapes of plain letters, with a byte that JSON requires to be escaped.
    let key = prop_oneof![Just(r#"a\"b"#), Just(r#"\u0061\n"#), Just("a\u{1}b"), Just("\\\\")];
    (events, [number(), number()], any::<bool>(), key).prop_map(|(events, [base, info], is_object, key)| {
        let list = format!("[{}]", events.join(","));
        let json = if is_object {
            format!(
                r#"{{"baseTimeNanoseconds":{base},"distributedInfo":{info},"host_name":{info},"{key}":"{key}","own{key}":{info},"traceEvents":{list}}}"#
            )
        } else {
            list
        };
        input("rank1.json", &json)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn odd_parts_do_not_panic(inputs in prop::collection::vec(trace("\"part\":N,\"pid\":5,\"dropped\":N,"), 0..4)) {
        let made = merge_aligned(&inputs, Align::Auto).unwrap();
        prop_assert_eq!(made.merged.inputs.len(), inputs.len());
        for input in &made.merged.inputs {
            let pids: BTreeSet<u32> = input.processes.iter().map(|process| process.pid).collect();
            prop_assert_eq!(pids.len(), input.processes.len(), "each process of a file has its own number");
        }
    }

    #[test]
    fn odd_values_do_not_panic(inputs in prop::collection::vec(trace(""), 0..4), how in 0..4) {
        let align = [Align::Auto, Align::Wall, Align::Start, Align::Nothing][how as usize];
        let made = merge_aligned(&inputs, align).unwrap();
        prop_assert_eq!(made.merged.inputs.len(), inputs.len());
        let pids: Vec<u32> = made.merged.inputs.iter().flat_map(|input| &input.processes).map(|process| process.pid).collect();
        let mut apart = pids.clone();
        apart.sort_unstable();
        apart.dedup();
        prop_assert_eq!(apart.len(), pids.len(), "each process has its own number");
    }
}

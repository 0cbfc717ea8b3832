//! Whole traces from our encoder and in the style of other producers.

use super::{PACKET_BYTES_MAX, Summary, to_chrome};
use crate::perfetto::field::*;
use crate::perfetto::wire::Push;
use crate::perfetto::write::{Encoder, FlowPhase, Process, Thread, Track};
use ferrum_trace_model::Value as Argument;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::io::Write as _;

/// A message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn number(mut self, field: u32, number: u64) -> Self {
        self.0.push_number(field, number);
        self
    }

    fn bytes(mut self, field: u32, bytes: impl AsRef<[u8]>) -> Self {
        self.0.push_bytes(field, bytes.as_ref());
        self
    }

    fn message(self, field: u32, message: Message) -> Self {
        self.bytes(field, message.0)
    }
}

fn message() -> Message {
    Message::default()
}

/// Returns a trace with these packets.
fn trace_of(packets: impl IntoIterator<Item = Message>) -> Vec<u8> {
    packets.into_iter().fold(message(), |trace, packet| trace.message(trace::PACKET, packet)).0
}

fn read(bytes: &[u8]) -> (Vec<Value>, Summary) {
    let mut out = Vec::new();
    let summary = to_chrome(bytes, &mut out).unwrap();
    let document: Value = serde_json::from_slice(&out).unwrap();
    (document["traceEvents"].as_array().unwrap().clone(), summary)
}

/// Returns all events except names, each as phase, time, process, thread and name.
fn brief(events: &[Value]) -> Vec<String> {
    let events = events.iter().filter(|event| event["ph"] != "M");
    let text = |event: &Value, key: &str| event[key].to_string().replace('"', "");
    events.map(|event| ["ph", "ts", "pid", "tid", "name"].map(|key| text(event, key)).join(" ")).collect()
}

#[test]
fn output_of_the_encoder_is_read_back() {
    let mut encoder = Encoder::new(1_700_000_000_123_456_789);
    let start = 1_700_000_000_123_456_789;
    let process = Process { pid: 7, name: "engine", label: "gpu", sort_index: Some(-2), orders_children: true };
    encoder.process(1, &process);
    encoder.thread(2, &Thread { process_track: 1, pid: 7, tid: 8, name: "main", sort_index: Some(3) });
    encoder.track(3, &Track { parent: 1, name: "requests", ..Track::default() });
    encoder.track(4, &Track { parent: 1, name: "memory", is_counter: true, ..Track::default() });
    let (name, category) = (encoder.name("decode"), Some(encoder.category("step")));
    encoder.push_json_args(br#"{"a":{"b":[1,-2,18446744073709551615,0.1,true,null,"x",{},[]]},"c":"y"}"#);
    encoder.push_flow(5);
    encoder.begin(start, 2, name, category);
    encoder.push_arg("c", &Argument::Text("y".into()));
    encoder.instant(start + 1, 3, name, None);
    encoder.int_counter(start + 2, 4, -7);
    encoder.counter(start + 2, 4, 0.5);
    encoder.flow_point(start + 3, 2, name, category, FlowPhase::Begin, 9, true);
    encoder.end(start + 1_000, 2);
    // Time runs backwards.
    encoder.push_terminating_flow(5);
    encoder.begin(start - 1, 3, name, None);
    encoder.end(start + 1_001, 3);
    let (events, summary) = read(encoder.bytes());
    assert_eq!(
        brief(&events),
        [
            "B 1700000000123456.789 7 8 decode",
            "s 1700000000123456.789 7 8 flow",
            "i 1700000000123456.790 7 2013265920 decode",
            "C 1700000000123456.791 7 7 memory",
            "C 1700000000123456.791 7 7 memory",
            "s 1700000000123456.792 7 8 decode",
            "E 1700000000123457.789 7 8 decode",
            // Only a flow is between its begin and its end.
            "X 1700000000123456.788 7 2013265920 decode",
            "f 1700000000123456.788 7 2013265920 flow",
        ]
        // serde_json reads numbers as floats, which cannot hold nanoseconds since 1970.
        .map(|line| {
            let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            words[1] = json!(words[1].parse::<f64>().unwrap()).to_string();
            words.join(" ")
        })
    );
    let begin = events.iter().find(|event| event["ph"] == "B").unwrap();
    assert_eq!(begin["cat"], "step");
    let inner = json!([1, -2, u64::MAX, 0.1, true, "null", "x", {}, []]);
    assert_eq!(begin["args"], json!({ "a": { "b": inner }, "c": "y" }));
    let names: Vec<String> =
        events.iter().filter(|event| event["ph"] == "M").map(|it| it["args"].to_string()).collect();
    let expected = [
        r#"{"name":"engine"}"#,
        r#"{"labels":"gpu"}"#,
        r#"{"sort_index":-2}"#,
        r#"{"name":"main"}"#,
        r#"{"sort_index":3}"#,
        r#"{"name":"requests"}"#,
    ];
    assert_eq!(names, expected);
    assert_eq!((summary.n_events, summary.losses.n, summary.n_unknown_clock), (8, 0, 0));
}

#[test]
fn a_begin_becomes_a_complete_event_only_if_its_end_follows_directly() {
    let mut encoder = Encoder::new(0);
    encoder.process(1, &Process { pid: 7, ..Process::default() });
    for tid in [2, 3] {
        encoder.thread(tid, &Thread { process_track: 1, pid: 7, tid: tid as i64, ..Thread::default() });
    }
    let slice = |encoder: &mut Encoder, name, from, to| {
        let name = encoder.name(name);
        encoder.begin(from, 2, name, None);
        encoder.end(to, 2);
    };
    // Inner slices first, in the order in which a recorder completes them.
    slice(&mut encoder, "inner", 2_000, 3_000);
    slice(&mut encoder, "outer", 1_000, 4_000);
    slice(&mut encoder, "backwards", 9_000, 8_000);
    let name = encoder.name("apart");
    encoder.begin(10_000, 2, name, None);
    encoder.end(11_000, 3);
    encoder.begin(12_000, 2, name, None);
    encoder.push_arg("n", &Argument::Signed(1));
    encoder.end(13_000, 2);
    let (events, _) = read(encoder.bytes());
    let expected = [
        "X 2.0 7 2 inner",
        "X 1.0 7 2 outer",
        "B 9.0 7 2 backwards",
        "E 8.0 7 2 backwards",
        "B 10.0 7 2 apart",
        "E 11.0 7 3 ",
        "B 12.0 7 2 apart",
        "E 13.0 7 2 apart",
    ];
    assert_eq!(brief(&events), expected);
}

/// Returns a packet of sequence 3 that needs definitions.
fn packet_of_3() -> Message {
    message().number(packet::TRUSTED_SEQUENCE_ID, 3).number(packet::SEQUENCE_FLAGS, flags::NEEDS_INCREMENTAL_STATE)
}

fn slice_begin(name_iid: u64) -> Message {
    message().number(event::TYPE, event::SLICE_BEGIN).number(event::NAME_IID, name_iid)
}

fn definition(id: u64, text: &str) -> Message {
    message().number(interned::IID, id).bytes(interned::TEXT, text)
}

#[test]
fn defaults_clocks_and_lost_state_belong_to_the_sequence() {
    let thread = message().number(thread::PID, 10).number(thread::TID, 11).bytes(thread::NAME, "worker");
    let clock = |id, time| message().number(clock::ID, id).number(clock::TIMESTAMP, time);
    let incremental = clock(64, 500).number(clock::IS_INCREMENTAL, 1).number(clock::UNIT_MULTIPLIER_NS, 1000);
    let packets = [
        // Before any definition.
        packet_of_3().number(packet::TIMESTAMP, 1).message(packet::TRACK_EVENT, slice_begin(1)),
        message()
            .number(packet::TRUSTED_SEQUENCE_ID, 3)
            .number(packet::SEQUENCE_FLAGS, flags::INCREMENTAL_STATE_CLEARED)
            .number(packet::PREVIOUS_PACKET_DROPPED, 1)
            .message(
                packet::DEFAULTS,
                message()
                    .number(defaults::TIMESTAMP_CLOCK_ID, 64)
                    .message(defaults::TRACK_EVENT, message().number(event_defaults::TRACK_UUID, 99)),
            )
            .message(
                packet::CLOCK_SNAPSHOT,
                message()
                    .message(clock_snapshot::CLOCK, clock(clock::BOOTTIME, 1_000_000))
                    .message(clock_snapshot::CLOCK, incremental),
            ),
        message().message(packet::TRACK_DESCRIPTOR, message().number(track::UUID, 99).message(track::THREAD, thread)),
        packet_of_3()
            .number(packet::TIMESTAMP, 2)
            .message(packet::INTERNED_DATA, message().message(interned::EVENT_NAMES, definition(1, "one")))
            .message(packet::TRACK_EVENT, slice_begin(1)),
        packet_of_3()
            .number(packet::TIMESTAMP, 5)
            .message(packet::TRACK_EVENT, message().number(event::TYPE, event::SLICE_END)),
        // An absolute time on a clock that the packet names.
        packet_of_3()
            .number(packet::TIMESTAMP, 2_000_000)
            .number(packet::TIMESTAMP_CLOCK_ID, clock::BOOTTIME)
            .message(packet::TRACK_EVENT, slice_begin(2)),
        packet_of_3()
            .number(packet::TIMESTAMP, 1)
            .number(packet::PREVIOUS_PACKET_DROPPED, 1)
            .message(packet::TRACK_EVENT, slice_begin(1)),
        // Kernel events are skipped.
        message().bytes(1, b"\x08\x01"),
    ];
    let (events, summary) = read(&trace_of(packets));
    let expected = ["X 1002.0 10 11 one", "B 2000.0 10 11 (undefined)"];
    assert_eq!(brief(&events), expected);
    assert!(events.iter().any(|event| event["dur"] == 5.0), "{events:?}");
    assert_eq!((summary.n_events, summary.n_without_state, summary.n_packets), (3, 2, 8));
    assert_eq!(summary.skipped, [(1, 1)].into());
}

#[test]
fn events_of_old_producers_become_chrome_events() {
    let legacy = |phase: u8, rest: Message| {
        let legacy = Message([message().number(legacy::PHASE, u64::from(phase)).0, rest.0].concat());
        message().number(event::NAME_IID, 1).number(event::CATEGORY_IIDS, 1).message(event::LEGACY_EVENT, legacy)
    };
    let thread = message().number(thread::PID, 5).number(thread::TID, 6).number(thread::REFERENCE_TIMESTAMP_US, 100);
    let definitions = message()
        .message(interned::EVENT_NAMES, definition(1, "task"))
        .message(interned::EVENT_CATEGORIES, definition(1, "sched"));
    let delta = |event: Message, us: u64| {
        packet_of_3().message(packet::TRACK_EVENT, event.number(event::TIMESTAMP_DELTA_US, us))
    };
    let packets = [
        message()
            .number(packet::TRUSTED_SEQUENCE_ID, 3)
            .number(packet::INCREMENTAL_STATE_CLEARED, 1)
            .message(packet::THREAD_DESCRIPTOR, thread)
            .message(packet::INTERNED_DATA, definitions),
        delta(legacy(b'X', message().number(legacy::DURATION_US, 30)), 10),
        delta(legacy(b'b', message().number(legacy::LOCAL_ID, 255)), 5),
        delta(legacy(b'f', message().number(legacy::UNSCOPED_ID, 16).number(legacy::BIND_TO_ENCLOSING, 1)), 1),
        delta(legacy(b'I', message().number(legacy::INSTANT_SCOPE, 2)), 1),
        delta(legacy(b'B', message().number(legacy::BIND_ID, 3).number(legacy::FLOW_DIRECTION, 2)), 1),
        delta(legacy(b'E', message().number(legacy::PID_OVERRIDE, 50).number(legacy::TID_OVERRIDE, 60)), 1),
    ];
    let (events, summary) = read(&trace_of(packets));
    let expected = [
        "X 110.0 5 6 task",
        "b 115.0 5 6 task",
        "f 116.0 5 6 task",
        "I 117.0 5 6 task",
        "B 118.0 5 6 task",
        "E 119.0 50 60 task",
    ];
    assert_eq!(brief(&events), expected);
    assert_eq!(events[0]["dur"], json!(30.0));
    assert_eq!((&events[0]["cat"], &events[1]["id2"]), (&json!("sched"), &json!({ "local": "0xff" })));
    assert_eq!((&events[2]["id"], &events[2]["bp"], &events[3]["s"]), (&json!(16), &json!("e"), &json!("p")));
    assert_eq!((&events[4]["bind_id"], &events[4]["flow_out"]), (&json!("0x3"), &json!(true)));
    // The monotonic clock was never compared with the clock of the trace.
    assert_eq!((summary.n_events, summary.n_unknown_clock), (6, 6));
}

#[test]
fn incremental_counters_are_summed_up() {
    let counter = message().number(counter::IS_INCREMENTAL, 1).number(counter::UNIT_MULTIPLIER, 10);
    let value = |value: i64| {
        let event = message().number(event::TYPE, event::COUNTER).number(event::TRACK_UUID, 9);
        let event = event.number(event::COUNTER_VALUE, value as u64);
        message().number(packet::TIMESTAMP, 1000).message(packet::TRACK_EVENT, event)
    };
    let track = message().number(track::UUID, 9).bytes(track::NAME, "bytes").message(track::COUNTER, counter);
    let (events, _) = read(&trace_of([message().message(packet::TRACK_DESCRIPTOR, track), value(5), value(-2)]));
    let values: Vec<&Value> = events.iter().map(|event| &event["args"]["value"]).collect();
    assert_eq!(values, [&json!(50), &json!(30)]);
}

#[test]
fn annotations_of_every_kind_become_json() {
    let named = |name: &str| message().bytes(annotation::NAME, name);
    let nested_list = message()
        .number(nested::TYPE, nested::ARRAY)
        .message(nested::ARRAY_VALUES, message().number(nested::INT, -1i64 as u64))
        .message(nested::ARRAY_VALUES, message().bytes(nested::STRING, "s"));
    let nested_dict = message()
        .number(nested::TYPE, nested::DICT)
        .bytes(nested::DICT_KEYS, "k")
        .message(nested::DICT_VALUES, nested_list);
    let annotations = [
        named("pointer").number(annotation::POINTER, 255),
        named("json").bytes(annotation::LEGACY_JSON, r#" {"a":[1]} "#),
        named("no json").bytes(annotation::LEGACY_JSON, "{a"),
        named("nested").message(annotation::NESTED, nested_dict),
        named("nothing"),
        named("strange").bytes(annotation::STRING, b"a\xff\n"),
        message().number(annotation::UINT, 1),
    ];
    let event = annotations.into_iter().fold(
        message().number(event::TYPE, event::INSTANT).bytes(event::NAME, "n").bytes(event::CATEGORIES, "c"),
        |event, annotation| event.message(event::DEBUG_ANNOTATIONS, annotation),
    );
    let (events, _) = read(&trace_of([message().number(packet::TIMESTAMP, 0).message(packet::TRACK_EVENT, event)]));
    let instant = events.iter().find(|event| event["ph"] == "i").unwrap();
    assert_eq!((&instant["s"], &instant["cat"]), (&json!("g"), &json!("c")));
    assert_eq!(
        instant["args"],
        json!({
            "pointer": "0xff", "json": { "a": [1] }, "no json": "{a", "nested": { "k": [-1, "s"] }, "nothing": null,
            "strange": "a\u{fffd}\n", "(unnamed)": 1,
        })
    );
}

#[test]
fn the_depth_of_annotations_is_limited() {
    let deepest = message().number(annotation::INT, 1);
    let deep = (0..20_000).fold(deepest, |inner, _| message().message(annotation::ARRAY_VALUES, inner));
    let event = message().number(event::TYPE, event::INSTANT).message(event::DEBUG_ANNOTATIONS, deep);
    let (events, _) = read(&trace_of([message().number(packet::TIMESTAMP, 0).message(packet::TRACK_EVENT, event)]));
    assert!(events.last().unwrap().to_string().contains("too deep"));
}

/// Returns a trace with `n_slices` slices.
fn sample(n_slices: u64) -> Vec<u8> {
    let mut encoder = Encoder::new(0);
    encoder.process(1, &Process { pid: 1, ..Process::default() });
    encoder.thread(2, &Thread { process_track: 1, pid: 1, tid: 2, ..Thread::default() });
    for n in 0..n_slices {
        let text = format!("slice {}", n % 5);
        let name = encoder.name(&text);
        encoder.push_json_args(br#"{"a":[1,{"b":"text"}],"c":0.5}"#);
        encoder.begin(n * 10, 2, name, None);
        encoder.end(n * 10 + 5, 2);
    }
    encoder.bytes().to_vec()
}

#[test]
fn compressed_packets_are_decompressed_once() {
    let inner = sample(3);
    let mut deflated = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    deflated.write_all(&inner).unwrap();
    let deflated = deflated.finish().unwrap();
    let zstd = zstd::encode_all(&inner[..], 1).unwrap();
    let twice = trace_of([message().bytes(packet::COMPRESSED_PACKETS, &deflated)]);
    let twice = zstd::encode_all(&twice[..], 1).unwrap();
    let (events, summary) = read(&trace_of([
        message().bytes(packet::COMPRESSED_PACKETS, &deflated),
        message().bytes(packet::ZSTD_COMPRESSED_PACKETS, zstd),
        message().bytes(packet::ZSTD_COMPRESSED_PACKETS, twice),
        message().bytes(packet::COMPRESSED_PACKETS, b"no such thing"),
    ]));
    assert_eq!(events.iter().filter(|event| event["ph"] == "X").count(), 6);
    let reasons: Vec<&str> = summary.losses.first.iter().map(|loss| &loss.reason[..24]).collect();
    assert_eq!(reasons, ["compressed packets insid", "compressed packets that "]);
}

#[test]
fn damage_is_reported_with_its_offset_and_the_rest_is_read() {
    let whole = sample(50);
    let n_whole = read(&whole).1.n_events;
    assert_eq!(n_whole, 100);

    let (_, cut) = read(&whole[..whole.len() - 3]);
    assert_eq!((cut.n_events, cut.losses.n), (99, 1));
    assert_eq!(cut.losses.first[0].reason, "the file ends in the middle of a packet");
    assert_eq!(cut.losses.first[0].offset + cut.losses.first[0].n_bytes, whole.len() as u64 - 3);

    // Overwritten bytes in the middle: the complete packets after them are found.
    let mut torn = whole.clone();
    let middle = torn.len() / 2;
    torn[middle..middle + 40].fill(0xff);
    let (_, torn) = read(&torn);
    assert!(torn.n_events >= 90 && torn.losses.n > 0, "{torn:?}");
    assert!(torn.losses.first.iter().all(|loss| loss.offset.abs_diff(middle as u64) < 200));

    // A packet with invalid content.
    let (_, inside) = read(&trace_of([message().number(packet::TIMESTAMP, 1), Message(b"\x0b\x01".to_vec())]));
    assert_eq!((inside.n_packets, inside.losses.n), (2, 1));
}

#[test]
fn the_search_after_damage_is_bounded() {
    // At every other byte a packet seems to start that has thousands of fields and breaks off in the last one.
    let mut bytes = sample(1);
    let n_events = read(&bytes).1.n_events;
    bytes.push(0xff);
    for _ in 0..200_000 {
        bytes.extend_from_slice(&[0x0a, 0x8a, 0x1f, 0x08]);
    }
    assert_eq!(read(&bytes).1.n_events, n_events);
}

#[test]
fn a_packet_that_is_too_large_is_skipped() {
    let mut bytes = sample(1);
    let n_before = bytes.len();
    bytes.push(0x0a);
    bytes.push_varint(PACKET_BYTES_MAX as u64 + 1);
    bytes.resize(bytes.len() + PACKET_BYTES_MAX + 1, 0);
    bytes.extend(sample(1));
    let (events, summary) = read(&bytes);
    assert_eq!(events.iter().filter(|event| event["ph"] == "X").count(), 2);
    assert_eq!((summary.losses.n, summary.losses.first[0].offset), (1, n_before as u64));
    assert!(summary.losses.n_bytes > PACKET_BYTES_MAX as u64);
}

#[test]
fn a_file_that_is_not_a_trace_is_refused() {
    for bytes in [&b""[..], b"{\"traceEvents\":[]}", b"\x0a", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"] {
        assert!(to_chrome(bytes, Vec::new()).unwrap_err().is_wrong_format(), "{bytes:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_give_an_error_or_json(bytes: Vec<u8>) {
        let mut out = Vec::new();
        if to_chrome(&bytes[..], &mut out).is_ok() {
            prop_assert!(serde_json::from_slice::<Value>(&out).is_ok());
        }
    }

    #[test]
    fn a_trace_with_any_bytes_changed_gives_json(changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..20)) {
        let mut bytes = sample(20);
        for (place, byte) in changes {
            let place = place % bytes.len();
            bytes[place] = byte;
        }
        let mut out = Vec::new();
        if to_chrome(&bytes[..], &mut out).is_ok() {
            prop_assert!(serde_json::from_slice::<Value>(&out).is_ok(), "{}", String::from_utf8_lossy(&out));
        }
    }
}

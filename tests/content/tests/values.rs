//! Names and arguments of every kind: the file is valid, and has each value or its documented spelling.

use content::child;
use content::texts::{KEPT_WHOLE, spelled, strange};
use ferrum_trace_testkit::strict_trace::{Event, Phase, Trace};
use serde_json::json;

/// The trace of a scene that must succeed without messages.
fn trace_of(scene: &str) -> Trace {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    child!(scene).out(&path).run().expect_quiet();
    Trace::read(path)
}

/// The events with this name, sorted by their argument `n`.
fn numbered<'a>(trace: &'a Trace, name: &str) -> Vec<&'a Event> {
    let mut events: Vec<&Event> = trace.all(name).into_iter().filter(|event| event.args.has("n")).collect();
    events.sort_by_key(|event| event.args.number("n"));
    events
}

#[test]
fn every_text_is_kept_as_an_argument() {
    let trace = trace_of("texts");
    for name in ["span", "span of many", "laps", "instant", "complete"] {
        let found: Vec<String> = numbered(&trace, name).iter().map(|event| event.args.text("text")).collect();
        assert!(found == strange().iter().map(|text| spelled(text)).collect::<Vec<_>>(), "`{name}`");
    }
    let begins: Vec<&Event> =
        trace.all("async").into_iter().filter(|event| matches!(event.phase, Phase::AsyncBegin(_))).collect();
    let found: Vec<String> = begins.iter().map(|event| event.args.text("text")).collect();
    assert!(found == strange().iter().map(|text| spelled(text)).collect::<Vec<_>>());
}

#[test]
fn every_text_is_kept_as_a_name_and_as_a_category() {
    let trace = trace_of("texts");
    let expected: Vec<String> = strange().iter().map(|text| spelled(text)).collect();
    for category in ["name on a track", "dynamic name", "pushed name"] {
        let found: Vec<&str> =
            trace.recorded().filter(|event| event.cat == category).map(|event| event.name.as_str()).collect();
        assert!(found == expected, "`{category}`");
    }
    for name in ["dynamic category", "pushed category"] {
        let found: Vec<&str> = trace.all(name).into_iter().map(|event| event.cat.as_str()).collect();
        // An event without a category gets the default one: some readers drop events without.
        let expected = expected.iter().map(|text| if text.is_empty() { "default" } else { text });
        assert!(found == expected.collect::<Vec<_>>(), "`{name}`");
    }
}

#[test]
fn pushed_arguments_are_kept_unless_they_are_longer_than_8_kib() {
    let trace = trace_of("texts");
    let pushed = trace.all("pushed");
    assert_eq!(pushed.len(), strange().len());
    for (n, (event, text)) in pushed.iter().zip(strange()).enumerate() {
        let json = json!({"n": n, "text": text}).to_string();
        if json.len() <= KEPT_WHOLE {
            assert_eq!(event.args.number("n"), n as u64);
            assert_eq!(event.args.text("text"), text);
        } else {
            let note = format!("arguments of {} bytes left out", json.len());
            assert_eq!(event.args.0, [("ferrum_trace".into(), json!(note).to_string())]);
        }
    }
}

#[test]
fn text_is_written_as_utf8_with_only_the_escapes_that_json_requires() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    child!("texts").out(&path).run().expect_quiet();
    let bytes = std::fs::read(path).unwrap();
    let text = String::from_utf8(bytes).expect("it is UTF-8");
    assert!(text.contains("\"🦀\"") && text.contains("\"before␀after\"") && text.contains("\"العربية עברית\""));
    let surrogates = ["\\ud8", "\\ud9", "\\uda", "\\udb", "\\uD8", "\\uD9", "\\uDA", "\\uDB"];
    assert!(surrogates.iter().all(|surrogate| !text.contains(surrogate)));
    assert!(text.bytes().all(|byte| byte >= 0x20 || byte == b'\n'), "no control byte but the ends of lines");
}

/// Perfetto v52 reads an escaped backslash and the quote after it as an escaped quote: it refuses the file, or silently
/// shows nothing.
#[test]
fn no_text_in_the_file_ends_in_an_escaped_backslash() {
    let folder = tempfile::tempdir().unwrap();
    for scene in ["texts", "strange threads and tracks"] {
        let path = folder.path().join(format!("{scene}.json"));
        child!(scene).out(&path).run().expect_quiet();
        let file = std::fs::read_to_string(path).unwrap();
        let found = escaped_backslash_before_end(&file).map(|at| file[at..].lines().next());
        assert_eq!(found, None, "`{scene}`");
    }
}

/// Position of the first text whose last character is an escaped backslash.
fn escaped_backslash_before_end(json: &str) -> Option<usize> {
    let (mut at, mut is_inside, mut last_escape) = (0, false, "");
    while let Some(skipped) = json[at..].find(['"', '\\']) {
        let start = at + skipped;
        let is_quote = json[start..].starts_with('"');
        if is_quote && is_inside && skipped == 0 && last_escape == "\\\\" {
            return Some(start);
        }
        is_inside ^= is_quote;
        // An escape has two characters, whatever the second one is.
        at = start + if is_quote { 1 } else { 2 };
        last_escape = if is_quote { "" } else { &json[start..at] };
    }
    assert!(!is_inside);
    None
}

#[test]
fn extreme_integers_are_exact() {
    let trace = trace_of("numbers");
    let spellings =
        |name: &str| -> Vec<String> { trace.one(name).args.0.iter().map(|(_, spelling)| spelling.clone()).collect() };
    assert_eq!(
        spellings("signed"),
        [
            "-128",
            "-32768",
            "-2147483648",
            "-9223372036854775808",
            "-9223372036854775808",
            "9223372036854775807",
            "-1",
            "0"
        ]
    );
    assert_eq!(
        spellings("unsigned"),
        ["255", "65535", "4294967295", "18446744073709551615", "18446744073709551615", "0"]
    );
    // Numbers of more than 64 bits are kept as text.
    assert_eq!(
        spellings("wide"),
        [
            "\"-170141183460469231731687303715884105728\"",
            "\"170141183460469231731687303715884105727\"",
            "\"340282366920938463463374607431768211455\"",
            "-9223372036854775808",
            "9223372036854775807",
            "18446744073709551615",
            "\"9223372036854775808\"",
        ]
    );
    assert_eq!(trace.one("span of extremes").args.spelling("a"), "18446744073709551615");
}

#[test]
fn floats_are_exact_to_the_last_bit() {
    let trace = trace_of("numbers");
    for (key, number) in [
        ("max", f64::MAX),
        ("min", f64::MIN),
        ("tiny", f64::from_bits(1)),
        ("epsilon", f64::EPSILON),
        ("minus_zero", -0.0),
        ("tenth", 0.1),
        ("third", 1.0 / 3.0),
        ("whole", 1e15),
        ("large", 1e300),
        ("short", f64::from(0.1f32)),
        ("short_max", f64::from(f32::MAX)),
    ] {
        let spelling = trace.one("floats").args.spelling(key);
        assert_eq!(spelling.parse::<f64>().unwrap().to_bits(), number.to_bits(), "`{key}`: {spelling}");
    }
}

#[test]
fn a_float_that_is_not_finite_becomes_a_text() {
    let trace = trace_of("numbers");
    let spellings: Vec<&str> = trace.one("no numbers").args.0.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(spellings, ["\"NaN\"", "\"Infinity\"", "\"-Infinity\"", "\"NaN\"", "\"NaN\""]);
    assert_eq!(trace.one("span of extremes").args.text("c"), "NaN");
}

#[test]
fn booleans_chars_options_and_pointers_have_their_inner_value() {
    let trace = trace_of("numbers");
    let values = |name: &str| -> Vec<serde_json::Value> {
        let args = &trace.one(name).args;
        args.keys().iter().map(|key| args.value(key)).collect()
    };
    assert_eq!(values("others"), [json!(true), json!(false), json!("ß"), json!("␀"), json!("🦀")]);
    assert_eq!(
        values("options"),
        [json!(7), json!("none"), json!("none"), json!("a text that is long enough"), json!("none")]
    );
    assert_eq!(
        values("pointers"),
        [json!("boxed text"), json!("counted text"), json!("x"), json!(7), json!(5), json!(8.5)]
    );
}

#[test]
fn counters_keep_finite_numbers_and_other_values_become_an_instant() {
    let trace = trace_of("odd numbers in counters");
    let of = |name: &str, phase: Phase| -> Vec<String> {
        let events = trace.all(name);
        let event = events.iter().find(|event| event.phase == phase).unwrap_or_else(|| panic!("no {phase:?} `{name}`"));
        event.args.0.iter().map(|(key, value)| format!("{key}={value}")).collect()
    };
    assert_eq!(
        of("good", Phase::Counter),
        ["whole=3", "negative=-4", "float=0.25", "yes=1", "large=18446744073709551615", "small=-9223372036854775808"]
    );
    assert_eq!(trace.all("good").len(), 1);
    assert_eq!(of("partly", Phase::Counter), ["good=1", "fine=2.5"]);
    assert_eq!(of("partly", Phase::Instant('t')), ["good=1", "bad=\"NaN\"", "worse=\"Infinity\"", "fine=2.5"]);
    assert_eq!(of("bad at first", Phase::Counter), ["good=7"]);
    assert_eq!(of("not at all", Phase::Instant('t')), ["bad=\"NaN\""]);
    assert_eq!(trace.all("not at all").len(), 1);
    assert_eq!(of("text", Phase::Instant('t')), ["bad=\"7\"", "worse=\"a text that is long enough\""]);
    assert_eq!(of("option", Phase::Counter), ["some=1"]);
    assert_eq!(of("option", Phase::Instant('t')), ["some=1", "none=\"none\""]);
}

#[test]
fn keys_may_be_keywords_and_any_identifier() {
    let trace = trace_of("keys");
    let keys: Vec<Vec<&str>> = trace.all("keys").iter().map(|event| event.args.keys()).collect();
    assert_eq!(keys, [vec!["type", "größe"], vec!["fn", "match", "async", "__", "_x", "数"], vec!["in"]]);
}

#[test]
fn a_hundred_arguments_are_kept_in_order() {
    let trace = trace_of("hundred arguments");
    let keys: Vec<String> = (0..100).map(|n| format!("k{n}")).collect();
    let begin = trace.all("async")[0];
    for event in [trace.one("span"), trace.one("laps"), trace.one("instant"), trace.one("counter"), begin] {
        assert_eq!(event.args.keys(), keys, "`{}`", event.name);
        for n in 0..100 {
            assert_eq!(event.args.number(&format!("k{n}")), n * 1_000_000_007);
        }
    }
    for n in 0..100 {
        assert_eq!(trace.one("texts").args.text(&format!("k{n}")), format!("{n} ").repeat(200));
        let mixed = trace.one("mixed").args.value(&format!("k{n}"));
        assert_eq!(mixed, if n % 3 == 0 { json!(n as f64 / 4.0) } else { json!("none") });
    }
}

#[test]
fn one_call_site_in_a_generic_function_takes_values_of_many_types() {
    let trace = trace_of("generics");
    let expected = [
        json!(1),
        json!(-2),
        json!(0.5),
        json!("seven b"),
        json!("a text that is copied"),
        json!("a string that is copied"),
        json!(true),
        json!("none"),
    ];
    for name in ["generic", "generic instant"] {
        let values: Vec<serde_json::Value> = trace.all(name).iter().map(|event| event.args.value("value")).collect();
        assert_eq!(values, expected, "`{name}`");
    }
}

#[test]
fn empty_names_are_kept_and_a_missing_category_gets_one() {
    let trace = trace_of("empty names");
    let found: Vec<(char, &str)> =
        trace.all("").iter().map(|event| (letter(&event.phase), event.cat.as_str())).collect();
    let expected = [
        ('X', "empty"),
        ('X', "default"),
        ('X', "default"),
        ('i', "default"),
        ('C', "counter"),
        ('b', "default"),
        ('e', "default"),
        ('X', "default"),
        ('X', "default"),
    ];
    assert_eq!(found, expected);
    assert_eq!(trace.one("no category").cat, "default");
}

fn letter(phase: &Phase) -> char {
    match phase {
        Phase::Slice => 'X',
        Phase::Instant(_) => 'i',
        Phase::Counter => 'C',
        Phase::AsyncBegin(_) => 'b',
        Phase::AsyncEnd(_) => 'e',
        other => panic!("unexpected: {other:?}"),
    }
}

#[test]
fn ids_of_64_bits_are_exact() {
    let trace = trace_of("ids");
    let ids = ["0x0", "0x1", "0xffffffff", "0x20000000000000", "0x7fffffffffffffff", "0xffffffffffffffff"];
    let expected = ids.iter().flat_map(|id| {
        let id = id.to_string();
        [Phase::AsyncBegin(id.clone()), Phase::AsyncInstant(id.clone()), Phase::AsyncEnd(id)]
    });
    let found: Vec<Phase> = trace.recorded().map(|event| event.phase.clone()).collect();
    assert_eq!(found, expected.collect::<Vec<_>>());
    for begin in trace.recorded().filter(|event| event.args.has("value")) {
        let Phase::AsyncBegin(id) = &begin.phase else { panic!("{begin:?}") };
        assert_eq!(format!("{:#x}", begin.args.number("value")), *id);
    }
}

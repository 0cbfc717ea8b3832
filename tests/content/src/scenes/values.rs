//! Values of arguments: texts, numbers, and values that JSON cannot represent.

use content::texts::strange;
use ferrum_trace::{Span, Timestamp, Track, Value, counter, global_trace, instant, laps, span};
use std::borrow::Cow;
use std::sync::Arc;

/// Every strange text in every position.
pub(crate) fn texts() {
    let track = Track::new("texts");
    for (n, text) in strange().iter().enumerate() {
        let now = Timestamp::now();
        drop(span!("span", "text", n, text));
        drop(span!("span of many", "text", n, text, more = 1, and = 2, still = 3, again = text));
        drop(laps!("laps", "text", n, text));
        instant!("instant", "text", n, text);
        drop(ferrum_trace::async_span!("async", "text", n, text));
        ferrum_trace::complete_at!(track, now, now, "complete", "text", n, text);
        track.complete_at(text, "name on a track", now, now);
        drop(Span::dynamic(text, "dynamic name"));
        drop(Span::dynamic("dynamic category", text));
        global_trace().push(text, "pushed name", 0.0, 1);
        global_trace().push("pushed category", text.clone(), 0.0, 1);
        let args = serde_json::Map::from_iter([("n".into(), n.into()), ("text".into(), text.as_str().into())]);
        global_trace().push_with_args("pushed", "text", 0.0, 1, args);
    }
}

/// Every type of argument, with its extreme values.
pub(crate) fn numbers() {
    instant!(
        "signed",
        a = i8::MIN,
        b = i16::MIN,
        c = i32::MIN,
        d = i64::MIN,
        e = isize::MIN,
        f = i64::MAX,
        g = -1,
        h = 0
    );
    instant!("unsigned", a = u8::MAX, b = u16::MAX, c = u32::MAX, d = u64::MAX, e = usize::MAX, f = u64::MIN);
    instant!(
        "wide",
        a = i128::MIN,
        b = i128::MAX,
        c = u128::MAX,
        d = i128::from(i64::MIN),
        e = i128::from(i64::MAX),
        f = u128::from(u64::MAX),
        g = i128::from(i64::MAX) + 1
    );
    instant!(
        "floats",
        max = f64::MAX,
        min = f64::MIN,
        tiny = f64::from_bits(1),
        epsilon = f64::EPSILON,
        minus_zero = -0.0,
        tenth = 0.1,
        third = 1.0 / 3.0,
        whole = 1e15,
        large = 1e300,
        short = 0.1f32,
        short_max = f32::MAX
    );
    instant!("no numbers", a = f64::NAN, b = f64::INFINITY, c = f64::NEG_INFINITY, d = f32::NAN, e = -f64::NAN);
    instant!("others", yes = true, no = false, letter = 'ß', nul = '\0', crab = '🦀');
    let some: Option<u32> = Some(7);
    let nothing: Option<u32> = None;
    let nested: Option<Option<&str>> = Some(None);
    instant!("options", some, nothing, nested, text = Some("a text that is long enough"), long = None::<String>);
    let (boxed, counted, borrowed): (Box<str>, Arc<str>, Cow<'_, str>) =
        ("boxed text".into(), "counted text".into(), "x".into());
    let mut changing = 5u8;
    instant!("pointers", boxed, counted, borrowed, twice = &&7, changing = &mut changing, number = Box::new(8.5));
    // The same in a span, whose arguments are kept until it ends.
    drop(span!("span of extremes", a = u64::MAX, b = i64::MIN, c = f64::NAN, d = f64::MIN_POSITIVE));
}

/// Counters; viewers accept only finite numbers for them.
pub(crate) fn counters() {
    counter!("good", whole = 3, negative = -4, float = 0.25, yes = true, large = u64::MAX, small = i64::MIN);
    counter!("partly", good = 1, bad = f64::NAN, worse = f64::INFINITY, fine = 2.5);
    counter!("bad at first", bad = f64::NEG_INFINITY, good = 7);
    counter!("not at all", bad = f64::NAN);
    counter!("text", bad = "7", worse = "a text that is long enough");
    counter!("option", some = Some(1), none = None::<i32>);
}

/// Keys that are keywords or not ASCII.
pub(crate) fn keys() {
    let r#type = "f16";
    let größe = 3;
    drop(span!("keys", "keys", r#type, größe));
    instant!("keys", r#fn = 1, r#match = 2, r#async = 3, __ = 4, _x = 5, 数 = 6);
    counter!("keys", r#in = 1);
}

macro_rules! with_hundred {
    ($record:ident, $name:expr, $value:expr) => {
        ferrum_trace::$record!(
            $name,
            k0 = $value(0),
            k1 = $value(1),
            k2 = $value(2),
            k3 = $value(3),
            k4 = $value(4),
            k5 = $value(5),
            k6 = $value(6),
            k7 = $value(7),
            k8 = $value(8),
            k9 = $value(9),
            k10 = $value(10),
            k11 = $value(11),
            k12 = $value(12),
            k13 = $value(13),
            k14 = $value(14),
            k15 = $value(15),
            k16 = $value(16),
            k17 = $value(17),
            k18 = $value(18),
            k19 = $value(19),
            k20 = $value(20),
            k21 = $value(21),
            k22 = $value(22),
            k23 = $value(23),
            k24 = $value(24),
            k25 = $value(25),
            k26 = $value(26),
            k27 = $value(27),
            k28 = $value(28),
            k29 = $value(29),
            k30 = $value(30),
            k31 = $value(31),
            k32 = $value(32),
            k33 = $value(33),
            k34 = $value(34),
            k35 = $value(35),
            k36 = $value(36),
            k37 = $value(37),
            k38 = $value(38),
            k39 = $value(39),
            k40 = $value(40),
            k41 = $value(41),
            k42 = $value(42),
            k43 = $value(43),
            k44 = $value(44),
            k45 = $value(45),
            k46 = $value(46),
            k47 = $value(47),
            k48 = $value(48),
            k49 = $value(49),
            k50 = $value(50),
            k51 = $value(51),
            k52 = $value(52),
            k53 = $value(53),
            k54 = $value(54),
            k55 = $value(55),
            k56 = $value(56),
            k57 = $value(57),
            k58 = $value(58),
            k59 = $value(59),
            k60 = $value(60),
            k61 = $value(61),
            k62 = $value(62),
            k63 = $value(63),
            k64 = $value(64),
            k65 = $value(65),
            k66 = $value(66),
            k67 = $value(67),
            k68 = $value(68),
            k69 = $value(69),
            k70 = $value(70),
            k71 = $value(71),
            k72 = $value(72),
            k73 = $value(73),
            k74 = $value(74),
            k75 = $value(75),
            k76 = $value(76),
            k77 = $value(77),
            k78 = $value(78),
            k79 = $value(79),
            k80 = $value(80),
            k81 = $value(81),
            k82 = $value(82),
            k83 = $value(83),
            k84 = $value(84),
            k85 = $value(85),
            k86 = $value(86),
            k87 = $value(87),
            k88 = $value(88),
            k89 = $value(89),
            k90 = $value(90),
            k91 = $value(91),
            k92 = $value(92),
            k93 = $value(93),
            k94 = $value(94),
            k95 = $value(95),
            k96 = $value(96),
            k97 = $value(97),
            k98 = $value(98),
            k99 = $value(99),
        )
    };
}

/// A hundred arguments, as numbers and as texts that together do not fit into one chunk.
pub(crate) fn hundred_arguments() {
    let number = |n: u64| n * 1_000_000_007;
    drop(with_hundred!(span, "span", number));
    drop(with_hundred!(laps, "laps", number));
    drop(with_hundred!(async_span, "async", number));
    with_hundred!(instant, "instant", number);
    with_hundred!(counter, "counter", number);
    let text = |n: u64| format!("{n} ").repeat(200);
    drop(with_hundred!(span, "texts", text));
    let mixed = |n: u64| n.is_multiple_of(3).then_some(n as f64 / 4.0);
    with_hundred!(instant, "mixed", mixed);
}

/// One call site with many types.
pub(crate) fn generics() {
    fn work<T: Value>(value: T) {
        let _span = span!("generic", "values", value);
        instant!("generic instant", value = &value);
    }
    work(1u32);
    work(-2i64);
    work(0.5);
    work("seven b");
    work("a text that is copied");
    work(String::from("a string that is copied"));
    work(true);
    work(None::<u8>);
}

/// Empty names and categories.
pub(crate) fn empty_names() {
    drop(span!("", "empty"));
    drop(span!("no category", ""));
    drop(Span::dynamic("", ""));
    drop(laps!(""));
    instant!("");
    counter!("", value = 1);
    drop(ferrum_trace::async_span!("", ""));
    let now = Timestamp::now();
    Track::new("").complete_at("", "", now, now);
    global_trace().push("", "", 0.0, 1);
}

/// Ids of async events.
pub(crate) fn ids() {
    for id in [0, 1, u64::from(u32::MAX), 1 << 53, i64::MAX as u64, u64::MAX] {
        ferrum_trace::async_begin!("request", "llm", id, value = id);
        ferrum_trace::async_instant!("token", "llm", id);
        ferrum_trace::async_end!("request", "llm", id);
    }
}

use super::*;
use ferrum_trace_analyze::compare::{
    Attribution, Cause, Concern, FlameNode, MetricComparison, NameChanges, RatioInterval, Verdict,
};
use ferrum_trace_analyze::runs::metric::MetricUnit;
use ferrum_trace_analyze::runs::{Place, Unit};
use resvg::usvg::roxmltree::{Document, Node, ParsingOptions};

/// Texts that would break a page that does not escape them.
const EVIL: &str =
    "</text><script>alert(1)</script>\"'onload='x' ]]> <!-- \u{202e}\u{2066}\0\u{1b}[31m \u{ffff} &amp; {{";

fn metric(name: &str, ratio: f64, interval: Option<(f64, f64)>, verdict: Verdict) -> MetricComparison {
    MetricComparison {
        name: name.to_owned(),
        unit: MetricUnit::Nanoseconds,
        base: Some(1e6),
        new: Some(ratio * 1e6),
        n_runs: (5, 5),
        ratio: Some(ratio),
        interval: interval.map(|(low, high)| RatioInterval { low, high }),
        p_value: None,
        p_adjusted: None,
        instability: None,
        is_paired: false,
        verdict,
    }
}

fn cause(name: &str, calls_ns: i64, longer_ns: i64) -> Cause {
    Cause {
        place: Place::Host,
        category: "gemm".to_owned(),
        name: name.to_owned(),
        is_operation: false,
        layer: Some(3),
        time_ns: (1000, 1000 + calls_ns + longer_ns),
        calls: (2.0, 3.5),
        change_ns: calls_ns + longer_ns,
        calls_ns,
        longer_ns,
    }
}

fn comparison(names: &[&str]) -> Comparison {
    let mut causes: Vec<Cause> = (1..20).map(|n| cause(&format!("op{n}"), 0, 1000 - 10 * n)).collect();
    causes.extend(names.iter().map(|name| cause(name, 100, -300)));
    causes.sort_by_key(|cause| -cause.change_ns);
    let sum = causes.iter().map(|cause| cause.change_ns).sum::<i64>();
    let attribution = Attribution {
        unit: Unit::Step,
        n_steps: (10, 10),
        mean_ns: (50_000, 50_000 + sum + 50),
        common_mean_ns: (50_000, 50_000 + sum),
        change_ns: sum + 50,
        mix_ns: 50,
        outliers_ns: 0,
        n_outliers: (1, 0),
        causes,
        one_sided: Vec::new(),
    };
    Comparison {
        n_runs: (5, 5),
        is_interleaved: true,
        concerns: names
            .iter()
            .map(|name| Concern { code: "devices", is_refusal: false, text: (*name).to_owned() })
            .collect(),
        metrics: vec![
            metric("step", 1.05, Some((1.03, 1.07)), Verdict::Slower),
            metric("ttft", 0.99, Some((0.0, f64::INFINITY)), Verdict::CannotTell { runs_needed: Some(9) }),
            metric(names.first().unwrap_or(&"tpot"), 1.0, None, Verdict::OneRun),
        ],
        details: Vec::new(),
        warm_up_steps: (0, 0),
        modes: Vec::new(),
        attribution: Some(attribution),
        names: NameChanges::default(),
    }
}

/// Makes a flame graph whose root has these calls, with base and new times.
fn flame(calls: &[(&str, f64, f64)]) -> FlameDiff {
    let sum = |side: fn(&(&str, f64, f64)) -> f64| calls.iter().map(side).sum();
    let root = FlameNode {
        children: (1..=calls.len()).collect(),
        total_ns: (sum(|call| call.1), sum(|call| call.2)),
        ..FlameNode::default()
    };
    let node = |&(name, base, new): &(&str, f64, f64)| FlameNode {
        parent: Some(0),
        name: name.to_owned(),
        category: name.to_owned(),
        self_ns: (base, new),
        total_ns: (base, new),
        calls: (1.0, 2.0),
        ..FlameNode::default()
    };
    FlameDiff { unit: Unit::Step, nodes: std::iter::once(root).chain(calls.iter().map(node)).collect() }
}

fn evil_picture(kind: PictureKind) -> String {
    let flame = flame(&[(EVIL, 100.0, 300.0), ("b", 200.0, 100.0), ("gone\u{202e}<b>", 50.0, 0.0)]);
    picture(&comparison(&[EVIL, "plain"]), (EVIL, "new<>.json"), Some(&flame), kind)
}

/// Returns the picture in a page.
fn svg_in(page: &str) -> &str {
    &page[page.find("<svg").unwrap()..page.find("</svg>").unwrap() + "</svg>".len()]
}

fn number(node: Node, attribute: &str) -> f64 {
    node.attribute(attribute).unwrap().parse().unwrap()
}

fn has_class(node: &Node, class: &str) -> bool {
    node.attribute("class").is_some_and(|classes| classes.split(' ').any(|it| it == class))
}

#[test]
fn the_extension_selects_the_kind() {
    let of = |name: &str| PictureKind::of(Path::new(name));
    assert_eq!([of("a.svg"), of("a.HTML")], [PictureKind::Svg, PictureKind::Html].map(Some));
    assert_eq!([of("a.png"), of("svg")], [None, None]);
}

#[test]
fn pictures_are_well_formed_and_have_no_foreign_elements() {
    const ALLOWED: [&str; 8] = ["svg", "style", "g", "rect", "text", "title", "path", "circle"];
    for kind in [PictureKind::Svg, PictureKind::Html] {
        let text = evil_picture(kind);
        let document = Document::parse_with_options(svg_in(&text), ParsingOptions::default()).unwrap();
        for node in document.descendants().filter(Node::is_element) {
            assert!(ALLOWED.contains(&node.tag_name().name()), "{node:?}");
            for attribute in node.attributes() {
                assert!(!attribute.name().starts_with("on") && attribute.name() != "href", "{attribute:?}");
            }
        }
        assert!(!text.contains("NaN") && !text.contains("inf\""), "{text}");
    }
}

#[test]
fn names_of_the_trace_stay_text() {
    let text = evil_picture(PictureKind::Svg);
    let document = Document::parse(&text).unwrap();
    let titles: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
    assert!(titles.iter().any(|title| title.starts_with("</text><script>alert(1)</script>")), "{titles:?}");
}

#[test]
fn a_page_has_one_script_and_no_invisible_characters() {
    let page = evil_picture(PictureKind::Html);
    assert_eq!((page.matches("<script").count(), page.matches("</script").count()), (1, 1));
    assert!(
        page.contains(&format!("script-src 'sha256-{}'", script::SCRIPT_HASH)) && page.contains("default-src 'none'")
    );
    assert!(!page.contains("<b>") && !page.contains("<!--"), "{page}");
    let is_invisible = |char: char| (char.is_control() && char != '\n') || "\u{202e}\u{2066}\u{ffff}".contains(char);
    assert!(!page.contains(is_invisible));
    assert!(page.contains('\u{fffd}'));
    // The only address is the name of a namespace.
    assert_eq!(page.matches("http").count() - page.matches("http-equiv").count(), 1, "{page}");
}

#[test]
fn bars_are_proportional_to_the_change() {
    let mut comparison = comparison(&[]);
    let attribution = comparison.attribution.as_mut().unwrap();
    attribution.causes = vec![cause("a", 0, 3000), cause("b", 500, 1000), cause("c", 0, -1000)];
    let text = picture(&comparison, ("a", "b"), None, PictureKind::Svg);
    let document = Document::parse(&text).unwrap();
    let bars = |class: &str| -> Vec<(f64, f64)> {
        let is_bar = |node: &Node| node.has_tag_name(("http://www.w3.org/2000/svg", "rect")) && has_class(node, class);
        let with_tooltip = document.descendants().filter(is_bar).filter(|node| node.first_element_child().is_some());
        with_tooltip.map(|node| (number(node, "x"), number(node, "width"))).collect()
    };
    let [(zero, a), (_, b)] = bars("slow")[..] else { panic!("{:?}", bars("slow")) };
    let [(calls_start, calls)] = bars("slow-calls")[..] else { panic!("{:?}", bars("slow-calls")) };
    let [(left, c)] = bars("fast")[..] else { panic!("{:?}", bars("fast")) };
    assert!((a - 3.0 * b).abs() < 0.01 && (b - 2.0 * calls).abs() < 0.01 && (b - c).abs() < 0.01);
    assert!((left + c - zero).abs() < 0.01 && (calls_start - zero - b).abs() < 0.01);
    let [(_, mix)] = bars("neither")[..] else { panic!("{:?}", bars("neither")) };
    assert!((mix * 60.0 - a).abs() < 0.1, "{mix} {a}");
}

#[test]
fn causes_beyond_the_largest_are_summed() {
    let text = picture(&comparison(&[]), ("a", "b"), None, PictureKind::Svg);
    assert!(text.contains(">op15</text>") && !text.contains(">op16</text>"), "{text}");
    assert!(text.contains("… 4 more") && text.contains("(outlier steps)") && text.contains("(batch mix)"), "{text}");
}

#[test]
fn causes_without_a_change_have_no_bar() {
    let mut comparison = comparison(&[]);
    let attribution = comparison.attribution.as_mut().unwrap();
    attribution.causes = vec![cause("changed", 0, 5), cause("same", 0, 0)];
    let text = picture(&comparison, ("a", "b"), None, PictureKind::Svg);
    assert!(text.contains(">changed<") && !text.contains(">same<") && text.contains("… 1 more"), "{text}");
}

#[test]
fn long_titles_leave_both_sides_visible() {
    let long = "x".repeat(300);
    let text = picture(&comparison(&[]), (&long, &long), None, PictureKind::Svg);
    assert!(text.contains("x → x"), "{text}");
}

#[test]
fn frames_have_a_tooltip_and_gone_calls_are_listed() {
    let flame = flame(&[("matmul", 100.0, 300.0), ("norm", 200.0, 100.0), ("rope", 50.0, 0.0), ("new", 0.0, 40.0)]);
    let text = picture(&comparison(&[]), ("a", "b"), Some(&flame), PictureKind::Svg);
    let document = Document::parse(&text).unwrap();
    let frames: Vec<Node> = document.descendants().filter(|node| has_class(node, "n")).collect();
    assert_eq!(frames.len(), 4);
    let tooltip = frames[1].first_element_child().and_then(|title| title.text()).unwrap();
    assert_eq!(
        tooltip,
        "matmul\ncategory matmul\nbase 100 ns, new 300 ns (68.2 % of all)\nchange +200 ns (+200 %)\ncalls 1 to 2"
    );
    assert!(has_class(&frames[1], "s4") && has_class(&frames[2], "f4") && has_class(&frames[3], "new"));
    assert!(text.contains("Only in base") && text.contains("50 ns: rope"), "{text}");
}

#[test]
fn a_refused_comparison_has_a_picture() {
    let refused = Comparison {
        metrics: vec![MetricComparison {
            ratio: None,
            base: None,
            ..metric("step", 1.0, None, Verdict::NotComparable)
        }],
        attribution: None,
        ..comparison(&["different numbers of layers"])
    };
    let text = picture(&refused, ("a", "b"), None, PictureKind::Svg);
    assert!(Document::parse(&text).is_ok() && text.contains("not comparable") && text.contains("numbers of layers"));
}

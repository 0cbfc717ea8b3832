use crate::scene::{Run, Scene};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Characters that must not reach a terminal or a picture.
const HIDDEN: &str = "\0\u{7}\u{8}\t\r\u{7f}\u{85}\u{9b}\u{ad}\u{61c}\u{200b}\u{200c}\u{200d}\u{200e}\u{200f}\u{2028}\
                      \u{2029}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2060}\u{2066}\u{2067}\u{2068}\u{2069}\u{feff}\
                      \u{fff9}\u{e0041}";

/// Begins a line that a text of the trace must not begin.
const FORGED: &str = "FORGED";

/// Returns a text with every hidden character, a line break and a sequence that hides what follows it.
fn hostile(name: &str) -> String {
    format!("{name}{HIDDEN}\n{FORGED} {name}\u{1b}[8mz<script>alert(1)</script>")
}

/// Returns a slice.
fn slice(name: &str, cat: &str, (ts, dur): (u64, u64), args: Value) -> Value {
    json!({"ph": "X", "name": name, "cat": cat, "ts": ts, "dur": dur, "pid": 1, "tid": 1, "args": args})
}

/// Returns events with a hostile text in every field that may have one.
fn events(more: u64) -> Vec<Value> {
    let meta = |name: &str, tid: Value, key: &str, value: Value| json!({"ph": "M", "name": name, "pid": 1, "tid": tid, "args": {key: value}});
    let mut events = vec![
        meta("process_name", json!(1), "name", json!(hostile("process"))),
        meta("process_labels", json!(1), "labels", json!(hostile("label"))),
        meta("thread_name", json!(1), "name", json!(hostile("thread"))),
        meta("thread_name", json!(hostile("tid")), "name", json!("another")),
        meta("ferrum_trace", json!(1), "host", json!(hostile("host"))),
        json!({"ph": "i", "s": "t", "name": hostile("instant"), "cat": hostile("c"), "ts": 3, "pid": 1, "tid": 1}),
        json!({"ph": "C", "name": hostile("counter"), "ts": 4, "pid": 1, "tid": 1, "args": {hostile("series"): 5}}),
        json!({"ph": "X", "name": hostile("elsewhere"), "ts": 1, "dur": 2, "pid": hostile("pid"), "tid": hostile("tid")}),
        json!({"ph": "i", "s": "p", "name": "trigger", "cat": "trigger", "ts": 9, "pid": 1, "tid": 1,
               "args": {"reason": hostile("reason"), "what": hostile("what")}}),
    ];
    for step in 0..12 {
        let at = step * 10_000;
        let args = json!({"phase": "decode", "batch": 4, "decode_tokens": 4, hostile("key"): hostile("value")});
        events.push(slice("decode", "step", (at, 2_000 + more), args));
        let args = json!({"layer": step % 2, hostile("key"): hostile("value")});
        events.push(slice(&hostile("attention"), "attention", (at, 900 + more), args));
        events.push(slice(&hostile("other"), &hostile("category"), (at + 1_000 + more, 500), json!({"layer": 1})));
        let product = json!({"m": 8, "n": 8, "k": 8, "dtype": "fp32", hostile("key"): hostile("value")});
        events.push(slice(&hostile("matmul"), "gemm", (at + 1_590 + more, 60), product));
        events.push(slice("cudaLaunchKernel", "cuda_runtime", (at + 1_600 + more, 5), json!({"correlation": step})));
        let mut kernel = slice(&hostile("kernel"), "kernel", (at + 1_700 + more, 100), json!({"correlation": step}));
        (kernel["pid"], kernel["tid"]) = (json!(0), json!(7));
        events.push(kernel);
    }
    for (ph, name, ts) in [("b", "request", 0), ("b", "queued", 0), ("e", "queued", 10), ("e", "request", 90_000)] {
        let args = json!({"prompt_tokens": 9, "output_tokens": 2, "reason": hostile("stop"), hostile("key"): 1});
        let id = hostile("id");
        events.push(
            json!({"ph": ph, "cat": "request", "name": name, "id": id, "pid": 1, "tid": 1, "ts": ts, "args": args}),
        );
        let (cat, name) = (hostile("category"), hostile("async"));
        events.push(json!({"ph": ph, "cat": cat, "name": name, "id": hostile("id"), "pid": 1, "tid": 1, "ts": ts}));
    }
    events
}

/// Hostile traces, also with hostile names of files, and one that is damaged.
fn scene() -> Scene {
    let scene = Scene::new();
    for number in 0..4 {
        for (side, more) in [("base", 0), ("new", 300)] {
            scene.write(&format!("{side}/{number}.json"), json!(events(more + number)).to_string());
        }
    }
    let object = json!({"traceEvents": events(0), "deviceProperties": [{"id": 0, "name": hostile("device")}],
                        hostile("field"): hostile("value")});
    scene.write(&file_name("t"), object.to_string());
    let mut damaged = json!(events(0)).to_string();
    write!(damaged, ", {{\"ph\": \"X\", \"name\": {}, oops", json!(hostile("damaged"))).unwrap();
    scene.write(&file_name("damaged"), damaged);
    scene.write(&file_name("none"), "[]");
    scene.write("devices.txt", "[slow]\nmemory = 1000\nmatrix.fp32 = 0.1\n");
    scene.write("rules.txt", format!("{} = {}\n", hostile("class"), hostile("pattern")));
    scene
}

/// Returns a hostile name that a file may have.
fn file_name(name: &str) -> String {
    let allowed = |char: &char| !"\0/".contains(*char);
    format!("{}.json", hostile(name).chars().filter(allowed).collect::<String>())
}

/// Returns the lines of an output with a hidden character, and those that a text of the trace began or colored.
fn faults(what: &str, text: &str) -> Vec<String> {
    let is_hidden = |char: char| (char.is_control() && !"\n\u{1b}".contains(char)) || HIDDEN.contains(char);
    let is_fault = |line: &&str| line.contains(is_hidden) || line.contains("\u{1b}[8m") || line.starts_with(FORGED);
    text.split('\n').filter(is_fault).map(|line| format!("{what}: {line:?}")).collect()
}

/// Runs a command with colors, as on a terminal. `{t}` and others stand for files with hostile names.
fn run(scene: &Scene, line: &str) -> Run {
    let mut command = scene.command("");
    for word in line.split_whitespace() {
        match word.strip_prefix('{').and_then(|word| word.split_once('}')) {
            Some((name, extension)) => command.arg(file_name(name).replace(".json", extension_or_json(extension))),
            None => command.arg(word.replace("HOSTILE", &hostile("typed").replace('\0', ""))),
        };
    }
    Run::of(command.env("CLICOLOR_FORCE", "1").output().unwrap())
}

fn extension_or_json(extension: &str) -> &str {
    if extension.is_empty() { ".json" } else { extension }
}

/// Reports of every command.
const REPORTS: [&str; 59] = [
    "summary {t}",
    "summary --by name,cat {t}",
    "summary --by track {t}",
    "summary --by process {t}",
    "summary --by parent {t}",
    "summary --by arg:HOSTILE {t}",
    "summary --top 1 {t}",
    "summary --filter cat=HOSTILE {t}",
    "summary --filter arg:layer=HOSTILE {t}",
    "summary {damaged}",
    "summary -v {damaged}",
    "summary {none}",
    "summary {missing}",
    "{t}",
    "steps {t}",
    "steps --each {t}",
    "steps --slowest 3 {t}",
    "steps --by arg:HOSTILE {t}",
    "steps {none}",
    "requests {t}",
    "requests --each --explain slowest {t}",
    "requests --explain HOSTILE {t}",
    "layers {t}",
    "layers --by name {t}",
    "layers --by cat {t}",
    "layers --phase HOSTILE {t}",
    "layers --by arg:HOSTILE {t}",
    "path {t}",
    "path --whole {t}",
    "path --request HOSTILE {t}",
    "path --what-if HOSTILE=2 {t}",
    "roofline {t}",
    "roofline --inner {t}",
    "roofline --device HOSTILE {t}",
    "check {t}",
    "check -v {t}",
    "check -v {damaged}",
    "repair -v --force -o {repaired} {damaged}",
    "convert --force -o {converted}.pftrace {t}",
    "convert --force -o {converted}.svg {damaged}",
    "convert --force -o {converted}.folded {t}",
    "convert --force -o {converted}.unknown {t}",
    "convert --to folded -o - {t}",
    "convert -o {t} {t}",
    "merge --force -o {merged} {t} {damaged}",
    "merge -o {t} {t} base/0.json",
    "diff base --with new",
    "diff --markdown base --with new",
    "diff {t} --with {damaged}",
    "diff --force -o {diff}.svg base --with new",
    "diff --engines {t} --with new/1.json",
    "diff --engines --markdown {t} --with new/1.json",
    "diff --engines --rules rules.txt {t} --with new/1.json",
    "gate --base base --new new",
    "gate --markdown --base base --new new",
    "gate --base {t} --new {damaged}",
    "recover {t}",
    "--HOSTILE {t}",
    "summary --HOSTILE",
];

#[test]
fn no_report_has_hidden_characters_of_a_trace() {
    let scene = scene();
    let mut found = Vec::new();
    for line in REPORTS {
        let run = run(&scene, line);
        found.extend(faults(&format!("stdout of {line}"), &run.stdout));
        found.extend(faults(&format!("stderr of {line}"), &run.stderr));
        let is_usage = run.stderr.contains("unexpected argument");
        assert_eq!(is_usage, line.contains("--HOSTILE"), "{line}: {}", run.stderr);
    }
    assert_eq!(found, [""; 0]);
}

#[test]
fn no_json_report_has_hidden_characters_and_readers_get_them() {
    let scene = scene();
    let mut found = Vec::new();
    for line in REPORTS.into_iter().filter(|line| !line.contains("--markdown") && !line.contains("-o -")) {
        let run = run(&scene, &line.replacen(' ', " --json ", 1));
        found.extend(faults(&format!("stdout of {line}"), &run.stdout));
    }
    assert_eq!(found, [""; 0]);
    let run = run(&scene, "summary --json --by name {t}");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(report.to_string().contains(&json!(hostile("attention")).to_string()), "{report}");
}

#[test]
fn no_picture_has_hidden_characters_or_markup_of_a_trace() {
    let scene = scene();
    let lines = [
        ("layers --by name -o p.svg {t}", "p.svg"),
        ("layers --by name -o p.html {t}", "p.html"),
        ("roofline --devices devices.txt --device slow -o r.svg {t}", "r.svg"),
        ("roofline --devices devices.txt --device slow -o r.html {t}", "r.html"),
        ("diff base --with new -o d.svg", "d.svg"),
        ("diff base --with new -o d.html", "d.html"),
        ("convert {t} -o c.svg", "c.svg"),
        ("convert {t} -o c.folded", "c.folded"),
        ("gate --base base --new new --junit j.xml", "j.xml"),
    ];
    let mut found = Vec::new();
    for (line, file) in lines {
        let run = run(&scene, line);
        assert!(scene.names().contains(&file.to_owned()), "{line}: {run:#?}");
        let text = String::from_utf8(scene.read(file)).unwrap();
        found.extend(faults(line, &text));
        assert!(file == "c.folded" || !text.contains("<script>alert"), "{line}: markup of the trace");
    }
    assert_eq!(found, [""; 0]);
}

#[test]
fn a_table_for_spreadsheets_has_no_formulas_unless_it_is_raw() {
    let trace = r#"[
{"ph":"M","name":"process_name","pid":-5,"args":{"name":"+cmd|' /C calc'!A0"}},
{"ph":"X","name":"=HYPERLINK(\"http://example.org\")","cat":"@SUM(A1)","ts":-1,"dur":2,"pid":-5,"tid":"-7"},
{"ph":"X","name":"-foo","cat":"\t=1","ts":0,"dur":1,"pid":-5,"tid":"-7"}]"#;
    let scene = Scene::with("t.json", trace);
    let guarded = scene.run("convert --to csv -o - t.json").expect_code(0).stdout;
    let rows: Vec<&str> = guarded.lines().skip(1).collect();
    let expected = [
        "-1000,2000,\"'=HYPERLINK(\"\"http://example.org\"\")\",'@SUM(A1),'+cmd|' /C calc'!A0,-5,,-7,,,,,",
        "0,1000,'-foo,'\t=1,'+cmd|' /C calc'!A0,-5,,-7,,,,,\"'=HYPERLINK(\"\"http://example.org\"\")\"",
    ];
    assert_eq!(rows, expected);
    let raw = scene.run("convert --raw-text --to csv -o - t.json").expect_code(0).stdout;
    assert_eq!(
        raw,
        guarded.replace("'=", "=").replace("'@", "@").replace("'+", "+").replace("'-", "-").replace("'\t", "\t")
    );
    let run = scene.run("convert --raw-text --to folded -o - t.json").expect_code(2);
    assert_eq!(run.stderr, "error: --raw-text: is for `csv` only, not for `folded`\n");
}

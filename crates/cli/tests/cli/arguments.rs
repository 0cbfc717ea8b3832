//! `--filter arg:NAME=VALUE`.

use crate::scene::Scene;

/// Two steps of different batches, operations with an argument `m`, and a request.
const TRACE: &str = r#"[
{"ph":"X","name":"prefill","cat":"step","ts":0,"dur":100,"pid":1,"tid":1,"args":{"phase":"prefill","batch":1,"prefill_tokens":64}},
{"ph":"X","name":"layers.0.up","cat":"gemm","ts":0,"dur":60,"pid":1,"tid":1,"args":{"m":64,"kind":"big one"}},
{"ph":"X","name":"layers.1.up","cat":"gemm","ts":60,"dur":30,"pid":1,"tid":1,"args":{"m":64}},
{"ph":"X","name":"decode","cat":"step","ts":100,"dur":20,"pid":1,"tid":1,"args":{"phase":"decode","batch":8,"decode_tokens":8}},
{"ph":"X","name":"layers.0.up","cat":"gemm","ts":100,"dur":10,"pid":1,"tid":1,"args":{"m":8}},
{"ph":"X","name":"layers.1.up","cat":"gemm","ts":110,"dur":5,"pid":1,"tid":1,"args":{"m":16}},
{"ph":"b","name":"upload","cat":"io","id":1,"ts":0,"pid":1,"tid":1,"args":{"m":8}},
{"ph":"e","name":"upload","cat":"io","id":1,"ts":7,"pid":1,"tid":1},
{"ph":"i","name":"mark","ts":7,"pid":1,"tid":1,"args":{"m":1000}}
]"#;

#[test]
fn slices_and_async_operations_are_selected_by_an_argument() {
    let scene = Scene::with("t.json", TRACE);
    let selected = |flags: &str| {
        let object = scene.run(&format!("--json {flags} t.json")).expect_code(0).stdout;
        let object: serde_json::Value = serde_json::from_str(&object).unwrap();
        (object["selected"].as_u64().unwrap(), object["async_all"]["count"].as_u64().unwrap())
    };
    assert_eq!(selected("--filter arg:m=64"), (2, 0));
    assert_eq!(selected("--filter arg:m=8 --filter arg:m=1?"), (2, 1));
    assert_eq!(selected("--filter arg:m=* --filter name=layers.0*"), (2, 0));
    assert_eq!(selected("--filter arg:m=64 --filter arg:kind=big*"), (1, 0));
}

#[test]
fn existing_values_are_suggested_if_no_argument_matches() {
    let scene = Scene::with("t.json", TRACE);
    let message = |flags: &str| scene.run(&format!("{flags} t.json")).expect_code(1).stderr;
    assert_eq!(
        message("--filter arg:m=63"),
        "t.json: no slice or async operation matches `--filter 'arg:m=63'`\n\n\
         hint: did you mean `--filter 'arg:m=64'` or `--filter 'arg:m=8'` or `--filter 'arg:m=16'`?\n"
    );
    assert_eq!(
        message("--filter arg:k=8"),
        "t.json: no slice or async operation matches `--filter 'arg:k=8'`: none has an argument `k`\n"
    );
    assert_eq!(
        message("--filter name=decode --filter arg:m=8"),
        "t.json: of the 1 slices and async operations that match `--filter 'name=decode'`, none matches \
         `--filter 'arg:m=8'`\n"
    );
    assert_eq!(
        message("steps --filter arg:batch=2"),
        "t.json: no steps that --filter and --within leave: the file has 1 prefill step, 1 decode step; the values of \
         `batch` are `1`, `8`\n"
    );
    let run = scene.run("layers --filter arg:m=9 t.json").expect_code(1);
    assert!(run.stderr.ends_with(" leave 0; the values of `m` are `8`, `16`, `64`\n"), "{}", run.stderr);
    let run = scene.run("layers --filter arg:k=9 t.json").expect_code(1);
    assert!(run.stderr.ends_with("; no slice or async operation has an argument `k`\n"), "{}", run.stderr);
}

#[test]
fn steps_are_selected_by_an_argument_of_their_mark() {
    let scene = Scene::with("t.json", TRACE);
    let run = scene.run("steps --filter arg:batch=8 t.json").expect_code(0);
    assert!(run.stdout.starts_with("t.json: 1 step on 1 track in 20.00 µs"), "{}", run.stdout);
    assert!(run.stdout.contains("\ngemm      2            15.00 µs "), "{}", run.stdout);
}

#[test]
fn layers_are_restricted_to_slices_with_an_argument() {
    let scene = Scene::with("t.json", TRACE);
    let expected = "\
t.json: self time of 2 layers, from names

layer       all      gemm
    0  10.00 µs  10.00 µs
    1  5.000 µs  5.000 µs
  all  15.00 µs  15.00 µs
 none         -         -
";
    scene.run("layers --filter arg:m=8 --filter arg:m=16 t.json").expect(0, expected, "");
}

#[test]
fn a_filter_without_the_name_of_an_argument_is_refused() {
    let run = Scene::with("t.json", TRACE).run("--filter arg:=8 t.json").expect_code(2);
    assert!(run.stderr.contains("`time` and `arg:NAME` before the `=`, found `arg:`"), "{}", run.stderr);
}

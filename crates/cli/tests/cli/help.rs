use crate::maker::killed;
use crate::scene::Scene;

/// Lines and columns of a medium-sized terminal.
const SCREEN: (usize, usize) = (40, 100);

/// All commands.
const COMMANDS: &[&str] = &[
    "record",
    "summary",
    "layers",
    "steps",
    "requests",
    "path",
    "roofline",
    "diff",
    "gate",
    "baseline",
    "check",
    "repair",
    "convert",
    "merge",
    "recover",
    "completions",
    "man",
];

#[track_caller]
fn assert_fits_a_screen(text: &str) {
    assert!(text.lines().count() <= SCREEN.0, "{} lines:\n{text}", text.lines().count());
    for line in text.lines() {
        assert!(line.chars().count() <= SCREEN.1, "{} columns: {line}", line.chars().count());
    }
}

#[test]
fn the_short_help_fits_a_screen() {
    let scene = Scene::new();
    let of_commands = COMMANDS.iter().map(|command| format!("{command} -h"));
    for line in of_commands.chain(["-h".to_owned()]) {
        let output = scene.command(&line).env("COLUMNS", "100").output().unwrap();
        let run = crate::scene::Run::of(output).expect_code(0);
        assert_fits_a_screen(&run.stdout);
        let (_, examples) = run.stdout.split_once("\nExamples:\n").unwrap();
        for example in examples.lines().take_while(|line| !line.is_empty()) {
            assert!(example.contains("ferrum-trace "), "an example that is cut cannot be pasted: {example}");
        }
        assert_eq!(run.stderr, "");
    }
}

#[test]
fn the_long_help_lists_every_json_field_and_every_exit_code() {
    let scene = Scene::new();
    killed(&scene, "trace.json", 1);
    scene.write("whole.json", r#"[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1}]"#);
    let lines = [
        "recover --json trace.json",
        "record --json -- true",
        "summary --json whole.json",
        "layers --json --layer-from tid whole.json",
        "steps --json whole.json",
        "requests --json whole.json",
        "path --json whole.json",
        "roofline --json whole.json",
        "diff --json whole.json whole.json",
        "diff --json --engines whole.json whole.json",
        "gate --json --new whole.json --limit span<1s",
        "baseline save main --json --from whole.json",
        "check --json whole.json",
        "repair --json whole.json",
        "convert --json --to csv whole.json",
        "merge --json whole.json -o merged.json",
    ];
    for line in lines {
        let (command, _) = line.split_once(' ').unwrap();
        let help = scene.run(&format!("{command} --help")).expect_code(0).stdout;
        let json = scene.run(line).stdout;
        let json: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&json).unwrap();
        for field in json.keys() {
            assert!(document(command).contains(&format!("`{field}`")), "{command}: `{field}` is not in docs/json.md");
            assert!(help.contains(&format!("\n  {field} ")), "{command}: `{field}` is not in the help:\n{help}");
        }
        for code in [0, 2, 130] {
            assert!(help.contains(&format!("\n  {code} ")), "{command}: {code} is not in the help:\n{help}");
        }
    }
}

#[test]
fn help_texts_use_ordinary_words() {
    let scene = Scene::new();
    let odd = [
        "trouble",
        "told",
        "stumble",
        "make no sense",
        "put right",
        "passed over",
        "ask for",
        "half file",
        "a line and file",
    ];
    let of_commands = COMMANDS.iter().flat_map(|command| [format!("{command} -h"), format!("{command} --help")]);
    for line in of_commands.chain(["-h".to_owned(), "--help".to_owned()]) {
        let help = scene.run(&line).expect_code(0).stdout;
        for words in odd {
            assert!(!help.contains(words), "{line}: `{words}`:\n{help}");
        }
    }
}

/// Returns the parts of `docs/json.md` about all commands and about one.
fn document(command: &str) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (general, _) = text.split_once("\n## ").unwrap();
    let (_, rest) = text.split_once(&format!("\n## `{command}`\n")).unwrap();
    let own = rest.split("\n## ").next().unwrap();
    format!("{general}{own}")
}

#[test]
fn the_version_is_that_of_the_package() {
    let scene = Scene::new();
    let version = concat!("ferrum-trace ", env!("CARGO_PKG_VERSION"), "\n");
    scene.run("--version").expect(0, version, "");
    scene.run("-V").expect(0, version, "");
}

#[test]
fn without_arguments_the_help_is_printed_as_an_error() {
    let scene = Scene::new();
    let run = scene.run("").expect_code(2);
    assert_eq!(run.stdout, "");
    assert!(run.stderr.contains("Usage: ferrum-trace"), "{}", run.stderr);
}

#[test]
fn the_right_name_is_suggested_for_a_mistyped_command_or_flag() {
    let scene = Scene::new();
    let run = scene.run("recovr trace.json.spool").expect_code(2);
    assert!(run.stderr.contains("'recover'"), "{}", run.stderr);
    let run = scene.run("recover --kep trace.json.spool").expect_code(2);
    assert!(run.stderr.contains("'--keep'"), "{}", run.stderr);
}

#[test]
fn every_shell_gets_completions_with_the_commands_and_flags() {
    let scene = Scene::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = scene.run(&format!("completions {shell}")).expect_code(0).stdout;
        for word in ["ferrum-trace", "recover", "force", "keep", "completions", "summary", "within"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn the_manual_has_a_page_for_the_program_and_one_for_each_command() {
    let scene = Scene::new();
    let page = scene.run("man").expect_code(0).stdout;
    assert!(page.contains(".TH ferrum-trace 1"), "{page}");
    assert!(page.contains("recover"), "{page}");
    let page = scene.run("man recover").expect_code(0).stdout;
    assert!(page.contains(".TH ferrum-trace-recover 1"), "{page}");
    for flag in ["output", "force", "keep", "json", "verbose"] {
        assert!(page.contains(flag), "{flag}: {page}");
    }
    for command in COMMANDS {
        let page = scene.run(&format!("man {command}")).expect_code(0).stdout;
        assert!(page.contains(&format!(".TH ferrum-trace-{command} 1")), "{page}");
    }
    let names: Vec<String> = COMMANDS.iter().map(|command| format!("`{command}`")).collect();
    let words = format!("error: nothing: expected one of the commands {}, `help`\n", names.join(", "));
    scene.run("man nothing").expect(2, "", &words);
}

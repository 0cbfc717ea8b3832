use crate::maker::killed;
use crate::scene::Scene;

/// Lines and columns of the smallest terminal in use.
const SCREEN: (usize, usize) = (24, 80);

#[track_caller]
fn assert_fits_a_screen(text: &str) {
    // One line is left for the prompt.
    assert!(text.lines().count() < SCREEN.0, "{} lines:\n{text}", text.lines().count());
    for line in text.lines() {
        assert!(line.chars().count() <= SCREEN.1, "{} columns: {line}", line.chars().count());
    }
}

#[test]
fn the_short_help_fits_a_screen() {
    let scene = Scene::new();
    for line in ["-h", "recover -h", "completions -h", "man -h"] {
        let output = scene.command(line).env("COLUMNS", "80").output().unwrap();
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
fn the_long_help_tells_every_field_of_the_json_and_every_exit_code() {
    let scene = Scene::new();
    let help = scene.run("recover --help").expect_code(0).stdout;
    killed(&scene, "trace.json", 1);
    let json = scene.run("recover --json trace.json").expect_code(0).stdout;
    let json: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&json).unwrap();
    for field in json.keys() {
        assert!(help.contains(&format!("\n  {field} ")), "`{field}` is not in the help:\n{help}");
    }
    for code in [0, 1, 2, 130] {
        assert!(help.contains(&format!("\n  {code} ")), "{code} is not in the help:\n{help}");
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    let scene = Scene::new();
    let version = concat!("ferrum-trace ", env!("CARGO_PKG_VERSION"), "\n");
    scene.run("--version").expect(0, version, "");
    scene.run("-V").expect(0, version, "");
}

#[test]
fn no_arguments_give_the_help_and_trouble() {
    let scene = Scene::new();
    let run = scene.run("").expect_code(2);
    assert_eq!(run.stdout, "");
    assert!(run.stderr.contains("Usage: ferrum-trace"), "{}", run.stderr);
}

#[test]
fn a_file_without_a_command_is_told_what_there_is() {
    let scene = Scene::new();
    scene.write("trace.json", "[]");
    scene.run("trace.json").expect(
        2,
        "",
        "error: trace.json: expected a command, found a file; this version can `recover` a trace, and shows no summary \
         of one\n\n\
         hint: `ferrum-trace -h` lists the commands; ui.perfetto.dev shows traces\n",
    );
    killed(&scene, "killed.json", 1);
    for file in ["killed.json", "killed.json.spool"] {
        let run = scene.run(file).expect_code(2);
        assert!(run.stderr.ends_with(&format!("\n\nhint: ferrum-trace recover {file}\n")), "{}", run.stderr);
    }
    assert_eq!(scene.names(), ["killed.json.spool", "trace.json"], "nothing was done");
}

#[test]
fn a_mistyped_command_or_flag_is_told_the_right_one() {
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
        for word in ["ferrum-trace", "recover", "force", "keep", "completions"] {
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
    scene.run("man nothing").expect(
        2,
        "",
        "error: nothing: expected one of the commands `recover`, `completions`, `man`, `help`\n",
    );
}

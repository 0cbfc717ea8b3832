//! The path of the trace: paths of every kind, and the variables that set it.

use content::child;
use content::mount::Mount;
use ferrum_trace_testkit::strict_trace::Trace;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::{TempDir, tempdir};

/// The sorted names in a folder.
fn names_in(folder: &Path) -> Vec<OsString> {
    let mut names: Vec<OsString> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

fn folder_with(names: &[&str]) -> TempDir {
    let folder = tempdir().unwrap();
    for name in names {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    folder
}

/// Checks that a program that cannot record writes one line with the path, and continues.
#[track_caller]
fn cannot_record_to(path: impl Into<PathBuf>, why: &str) {
    let path = path.into();
    let outcome = child!("some spans").number(10).out(&path).run();
    let line = outcome.one_line();
    assert!(line.contains(path.to_str().unwrap()), "{line}");
    assert!(line.contains(why) && line.ends_with("; nothing is recorded"), "{line}");
    assert_eq!(outcome.reported("pushed"), 10);
}

#[test]
fn a_directory_gets_a_file_named_after_program_and_process() {
    let folder = tempdir().unwrap();
    child!("some spans").number(10).out(folder.path()).run().expect_quiet();
    let names = names_in(folder.path());
    let [name] = &names[..] else { panic!("{names:?}") };
    let pid = name.to_str().unwrap().strip_prefix("content-child-").and_then(|rest| rest.strip_suffix(".json"));
    let trace = Trace::read(folder.path().join(name));
    assert_eq!(trace.slices().count(), 10);
    assert!(trace.slices().all(|slice| Some(slice.pid.to_string().as_str()) == pid), "{names:?}");
}

#[test]
fn a_directory_may_be_written_with_a_slash_at_its_end() {
    let folder = folder_with(&["traces"]);
    child!("some spans").number(10).out("traces/").in_folder(folder.path()).run().expect_quiet();
    assert_eq!(names_in(&folder.path().join("traces")).len(), 1);
    assert_eq!(names_in(folder.path()), ["traces"]);
}

#[test]
fn a_missing_directory_is_reported_and_the_program_continues() {
    let folder = tempdir().unwrap();
    cannot_record_to(folder.path().join("missing/trace.json"), "No such file or directory");
    assert!(names_in(folder.path()).is_empty());
}

#[test]
fn a_read_only_directory_is_reported_and_the_program_continues() {
    let mount = Mount::read_only();
    cannot_record_to(mount.file("trace.json"), "Read-only file system");
}

#[test]
fn a_path_below_a_file_is_reported_and_the_program_continues() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("file"), "mine").unwrap();
    cannot_record_to(folder.path().join("file/trace.json"), "Not a directory");
    assert_eq!(fs::read_to_string(folder.path().join("file")).unwrap(), "mine");
    cannot_record_to("/proc/trace.json", "No such file or directory");
}

#[test]
fn a_name_that_is_too_long_is_reported_and_the_program_continues() {
    let folder = tempdir().unwrap();
    cannot_record_to(folder.path().join(format!("{}.json", "n".repeat(250))), "File name too long");
}

#[test]
fn an_existing_file_is_intact_until_the_new_one_is_complete() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    fs::write(&path, "what was here before").unwrap();
    let outcome = child!("look at the output").arg(&path).out(&path).run().expect_quiet();
    assert_eq!(outcome.reported("intact_while_recording"), 1);
    assert_eq!(outcome.reported("replaced_by_flush"), 1);
    assert_eq!(Trace::read(&path).slices().count(), 20);
    assert_eq!(names_in(folder.path()), ["trace.json"]);
}

#[test]
fn an_existing_file_is_replaced_by_a_program_that_never_flushes() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    for n in [30, 20] {
        child!("some spans").number(n).out(&path).run().expect_quiet();
        assert_eq!(Trace::read(&path).slices().count() as u64, n);
        assert_eq!(names_in(folder.path()), ["trace.json"]);
    }
}

#[test]
fn an_existing_file_stays_when_the_program_is_killed() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    fs::write(&path, "what was here before").unwrap();
    let outcome = child!("wait to be killed").number(100).out(&path).run_until_line_then_kill();
    assert!(!outcome.status.success());
    assert_eq!(fs::read_to_string(&path).unwrap(), "what was here before");
    assert_eq!(names_in(folder.path()), ["trace.json", "trace.json.spool"]);
}

#[test]
fn the_spool_of_a_killed_program_is_kept_by_the_next() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    child!("wait to be killed").number(100).out(&path).run_until_line_then_kill();
    let outcome = child!("some spans").number(10).out(&path).run();
    let line = outcome.one_line();
    assert!(line.contains("which was killed; kept as"), "{line}");
    assert_eq!(Trace::read(&path).slices().count(), 10);
    let names = names_in(folder.path());
    assert_eq!(names.len(), 2, "{names:?}");
    let kept = names.iter().find(|name| *name != "trace.json").unwrap();
    let kept = fs::read(folder.path().join(kept)).unwrap();
    let (json, summary) = ferrum_trace_format::spool::to_chrome_bytes(&kept).unwrap();
    assert_eq!((summary.events, Trace::parse(&json).unwrap().slices().count()), (100, 100));
}

#[test]
fn an_output_that_is_no_regular_file_is_not_replaced() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("pipe.json");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let outcome = child!("some spans").number(10).out(&path).run();
    assert!(outcome.status.success(), "{outcome:?}");
    let kind = fs::symlink_metadata(&path).unwrap().file_type();
    assert!(!kind.is_file(), "the pipe was replaced, as `/dev/null` would be for root");
}

#[test]
fn a_relative_path_is_not_moved_by_a_later_change_of_directory() {
    let folder = folder_with(&["start", "later"]);
    let (start, later) = (folder.path().join("start"), folder.path().join("later"));
    child!("change of directory").arg(&later).out("trace.json").in_folder(&start).run().expect_quiet();
    assert_eq!(Trace::read(start.join("trace.json")).slices().count(), 2);
    assert_eq!((names_in(&start), names_in(&later)), (vec!["trace.json".into()], vec![]));
}

#[test]
fn a_relative_path_may_begin_with_two_dots() {
    let folder = folder_with(&["start"]);
    let start = folder.path().join("start");
    child!("some spans").number(1).out("../trace.json").in_folder(&start).run().expect_quiet();
    assert_eq!(Trace::read(folder.path().join("trace.json")).slices().count(), 1);
}

#[test]
fn process_rank_and_host_are_filled_in() {
    let folder = tempdir().unwrap();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let out = folder.path().join("%h-%r-%p-100%%.json");
    child!("some spans").number(1).out(out).env("RANK", "3").env("SLURM_PROCID", "9").run().expect_quiet();
    let names = names_in(folder.path());
    let [name] = &names[..] else { panic!("{names:?}") };
    let trace = Trace::read(folder.path().join(name));
    let pid = trace.one("span").pid;
    assert_eq!(*name, *format!("{}-3-{pid}-100%.json", host.trim()));
    assert_eq!(trace.about().number("rank"), 3, "the trace has the rank of its name");
}

#[test]
fn the_rank_comes_from_any_launcher_and_is_0_without_one() {
    for (variable, value, name) in [
        ("RANK", "3", "r3.json"),
        ("OMPI_COMM_WORLD_RANK", "4", "r4.json"),
        ("SLURM_PROCID", "5", "r5.json"),
        ("RANK", "", "r0.json"),
        ("OTHER", "6", "r0.json"),
        ("RANK", "../7", "r.._7.json"),
    ] {
        let folder = tempdir().unwrap();
        child!("some spans").number(1).out(folder.path().join("r%r.json")).env(variable, value).run().expect_quiet();
        assert_eq!(names_in(folder.path()), [name], "{variable}={value}");
    }
}

#[test]
fn other_variables_need_not_be_utf8() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let odd = OsString::from_vec(vec![b'o', 0xff, 0xfe, b'd']);
    child!("some spans").number(10).out(&path).env(&odd, &odd).env("RANK", &odd).run().expect_quiet();
    assert_eq!(Trace::read(path).slices().count(), 10);
}

#[test]
fn the_path_need_not_be_utf8() {
    let folder = tempdir().unwrap();
    let name = OsString::from_vec(b"odd \xff name.json".to_vec());
    child!("some spans").number(10).out(folder.path().join(&name)).run().expect_quiet();
    assert_eq!(names_in(folder.path()), std::slice::from_ref(&name));
    assert_eq!(Trace::read(folder.path().join(name)).slices().count(), 10);
}

#[test]
fn placeholders_are_filled_in_if_the_path_is_not_utf8() {
    let folder = tempdir().unwrap();
    let name = OsString::from_vec(b"odd \xff %r.json".to_vec());
    child!("some spans").number(10).out(folder.path().join(&name)).run().expect_quiet();
    assert_eq!(names_in(folder.path()), [OsString::from_vec(b"odd \xff 0.json".to_vec())]);
}

#[test]
fn a_limit_that_is_not_utf8_is_reported_and_nothing_is_recorded() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let odd = OsString::from_vec(vec![0xff]);
    let outcome = child!("some spans").number(10).out(&path).env("FERRUM_TRACE_LIMIT", odd).run();
    assert!(outcome.one_line().starts_with("FERRUM_TRACE_LIMIT: "), "{outcome:?}");
    assert!(names_in(folder.path()).is_empty());
}

#[test]
fn unset_empty_and_off_values_record_nothing() {
    let folder = tempdir().unwrap();
    child!("some spans").number(10).in_folder(folder.path()).run().expect_quiet();
    for value in ["", "0", "off", "OFF", "Off", "false", "False", "no", "none"] {
        child!("some spans").number(10).out(value).in_folder(folder.path()).run().expect_quiet();
        assert!(names_in(folder.path()).is_empty(), "`{value}`: {:?}", names_in(folder.path()));
    }
}

#[test]
fn other_variables_have_no_effect_if_nothing_is_recorded() {
    let bad = child!("some spans").number(10).env("FERRUM_TRACE_LIMIT", "lots").env("FERRUM_TRACE_CLOCK", "sundial");
    bad.run().expect_quiet();
}

#[test]
fn an_invalid_limit_is_reported_in_one_line_and_nothing_is_recorded() {
    for limit in ["lots", "-1", "1e9", "4 parsecs", "99999999999999999999", "99999999999G", "MiB"] {
        let folder = tempdir().unwrap();
        let path = folder.path().join("trace.json");
        let outcome = child!("some spans").number(10).out(&path).env("FERRUM_TRACE_LIMIT", limit).run();
        let line = outcome.one_line();
        assert!(line.starts_with("FERRUM_TRACE_LIMIT: ") && line.contains(&format!("`{limit}`")), "{line}");
        assert!(line.ends_with("; nothing is recorded"), "{line}");
        assert!(names_in(folder.path()).is_empty(), "{limit}");
    }
}

#[test]
fn an_empty_limit_and_one_with_a_unit_are_accepted() {
    for limit in ["", "64MiB", "64 mb", "67108864", "1T"] {
        let folder = tempdir().unwrap();
        let path = folder.path().join("trace.json");
        child!("some spans").number(10).out(&path).env("FERRUM_TRACE_LIMIT", limit).run().expect_quiet();
        assert_eq!(Trace::read(path).slices().count(), 10);
    }
}

#[test]
fn an_invalid_clock_is_reported_in_one_line_and_the_best_is_used() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let outcome = child!("some spans").number(10).out(&path).env("FERRUM_TRACE_CLOCK", "sundial").run();
    let line = outcome.one_line();
    assert!(line.starts_with("FERRUM_TRACE_CLOCK: ") && line.contains("`sundial`"), "{line}");
    assert_eq!(Trace::read(path).slices().count(), 10);
}

#[test]
fn a_path_that_ends_in_spool_keeps_the_spool() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.spool");
    child!("some spans").number(10).out(&path).run().expect_quiet();
    assert_eq!(names_in(folder.path()), ["trace.spool"]);
    let spool = fs::read(path).unwrap();
    let (json, summary) = ferrum_trace_format::spool::to_chrome_bytes(&spool).unwrap();
    assert!(summary.finished);
    assert_eq!(Trace::parse(&json).unwrap().slices().count(), 10);
}

#[test]
fn a_message_is_one_line_whatever_the_path_contains() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("missing\nfolder/trace.json");
    let outcome = child!("some spans").number(10).out(&path).run();
    assert!(outcome.one_line().as_bytes().ends_with(b"nothing is recorded"), "{outcome:?}");
    let path = folder.path().join(OsString::from_vec(b"missing \xff/trace.json".to_vec()));
    assert!(path.as_os_str().as_bytes().contains(&0xff));
    let outcome = child!("some spans").number(10).out(&path).run();
    assert!(outcome.one_line().ends_with("nothing is recorded"), "{outcome:?}");
}

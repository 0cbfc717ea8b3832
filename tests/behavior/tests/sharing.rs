//! Other processes and users can open, create and link files where the recorder works. They can spoil a recording, but
//! neither the memory of the program nor files elsewhere.
//!
//! Some tests need a second user, which only root can become; without root, the hostile process is of the same user.

mod common;

use common::{Finished, Running, Stage, TraceFile, assert_counts_up, send};
use ferrum_trace_testkit::process::run;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The user that owns nothing.
const NOBODY: u32 = 65_534;

fn is_root() -> bool {
    // SAFETY: takes no arguments and always succeeds.
    unsafe { libc::geteuid() == 0 }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

/// A folder like `/tmp`, and a copy of the program that every user can run.
struct SharedStage {
    stage: Stage,
    programs: TempDir,
}

impl SharedStage {
    fn new() -> Self {
        let stage = Stage::new();
        fs::set_permissions(stage.path(""), Permissions::from_mode(0o1777)).unwrap();
        let programs = TempDir::with_prefix("ferrum-programs-").unwrap();
        fs::set_permissions(programs.path(), Permissions::from_mode(0o755)).unwrap();
        Self { stage, programs }
    }

    /// The program, copied to a folder that every user can read.
    fn program(&self) -> PathBuf {
        let copy = self.programs.path().join("behavior-child");
        if !copy.exists() {
            fs::copy(env!("CARGO_BIN_EXE_behavior-child"), &copy).unwrap();
            fs::set_permissions(&copy, Permissions::from_mode(0o755)).unwrap();
        }
        copy
    }

    /// A scene of another user, or of the same one without root. It does not record.
    fn of_other_user(&self, scene: &str) -> Command {
        let mut command = self.stage.scene_of(&self.program(), scene);
        command.env_remove("FERRUM_TRACE_OUT");
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        } else {
            eprintln!("not run as another user: this needs root");
        }
        command
    }
}

/// Ends a hostile process, which never ends by itself.
fn end(hostile: Running) {
    send("KILL", &hostile);
    hostile.finish().expect_signal(libc::SIGKILL);
}

#[track_caller]
fn assert_unharmed(victim: Finished) -> Finished {
    let victim = victim.expect_success();
    assert_eq!(victim.answer("intact"), "true", "{victim}");
    assert!(!victim.stderr.contains("panicked"), "{victim}");
    victim
}

#[test]
fn a_spool_that_another_user_has_created_is_not_used() {
    let shared = SharedStage::new();
    let stage = &shared.stage;
    let mut hostile = Running::start(&mut shared.of_other_user("create-a-spool-for-others"));
    hostile.wait_for_line("writing");
    let mut victim = stage.start("record-beside-others");
    victim.wait_for_line("ready");
    victim.tell("go");
    let victim = assert_unharmed(victim.finish());
    let trace = if is_root() {
        // Not even the owner of the folder and the file may be trusted.
        assert!(victim.stderr.contains("it belongs to another user (uid 65534)"), "{victim}");
        let spool = fs::read(stage.path("trace.json.spool")).unwrap();
        assert!(!spool.starts_with(b"FERRUMSP") && spool.len() == 1 << 20, "the victim has written to it");
        stage.path(&format!("trace.{}.json", victim.pid))
    } else {
        stage.trace()
    };
    end(hostile);
    let trace = TraceFile::read(&trace);
    assert_eq!(trace.named("with arguments").count(), 3 * 60_000);
}

/// Records with a setting while a process of the same user writes hostile values to the spool.
#[track_caller]
fn record_beside_hostile_process(variable: &str, value: &str) {
    let stage = Stage::new();
    let mut scene = stage.scene("record-beside-others");
    let mut victim = Running::start(scene.env(variable, value));
    victim.wait_for_line("ready");
    let mut hostile = Running::start(&mut stage.scene_without_env("write-to-its-spool"));
    hostile.wait_for_line("writing");
    victim.tell("go");
    assert_unharmed(victim.finish());
    end(hostile);
}

#[test]
fn a_process_that_writes_to_the_spool_harms_the_recording_only() {
    record_beside_hostile_process("FERRUM_TRACE_LIMIT", "24MiB");
}

#[test]
fn a_process_that_writes_to_the_spool_of_a_flight_recorder_harms_the_recording_only() {
    record_beside_hostile_process("FERRUM_TRACE_RING", "4MiB");
}

/// Places a link to a file that must not be written at a name that the recorder uses, and runs a scene.
#[track_caller]
fn run_beside_link(output: &str, link: &str, is_of_other_user: bool) -> Finished {
    let stage = Stage::new();
    fs::set_permissions(stage.path(""), Permissions::from_mode(0o1777)).unwrap();
    let precious = stage.path("precious");
    fs::write(&precious, "precious").unwrap();
    symlink(&precious, stage.path(link)).unwrap();
    if is_of_other_user {
        std::os::unix::fs::lchown(stage.path(link), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let mut command = stage.scene("flush-and-dump");
    command.env("FERRUM_TRACE_OUT", stage.path(output)).env("FERRUM_TRACE_DUMPS", "after=0s");
    if link.contains("copy") || link.contains("dump") {
        command.env("FERRUM_TRACE_RING", "1MiB");
    }
    let finished = run(&mut command).expect_success();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious", "{link}: {finished}");
    assert!(stage.path(link).is_symlink(), "{link}: {finished}");
    finished
}

#[test]
fn links_at_the_names_of_the_recorder_are_not_followed() {
    for is_of_other_user in [false, true] {
        if is_of_other_user && !is_root() {
            eprintln!("links of another user: not run, this needs root");
            continue;
        }
        let names = ["trace.json.spool", "trace.json.next", "trace.json.spool.copy", "trace.dump-001.json.next"];
        for link in names.into_iter().chain(["trace.dump-001.json.copy", "trace.spool"]) {
            let output = if link == "trace.spool" { "trace.spool" } else { "trace.json" };
            if link == output && !is_of_other_user {
                // A link of the same user at the output leads to the file to replace.
                continue;
            }
            let finished = run_beside_link(output, link, is_of_other_user);
            let is_refused = !link.ends_with(".copy");
            assert_eq!(finished.stderr.contains("link"), is_refused, "{link}: {finished}");
        }
    }
}

#[test]
fn a_link_beside_a_finished_spool_is_not_followed() {
    let stage = Stage::new();
    let out = stage.path("t.spool");
    let scene = || {
        let mut command = stage.scene("flush-and-dump");
        command.env("FERRUM_TRACE_OUT", &out);
        command
    };
    run(&mut scene()).expect_success();
    let finished_spool = fs::read(&out).unwrap();
    fs::write(stage.path("precious"), "precious").unwrap();
    symlink("precious", stage.path("t.spool.new")).unwrap();
    let finished = run(&mut scene()).expect_success();
    assert!(finished.stderr.contains("link"), "{finished}");
    assert_eq!(fs::read(stage.path("precious")).unwrap(), b"precious");
    assert!(fs::read(&out).unwrap() == finished_spool);
}

#[test]
fn files_are_private_until_they_have_the_name_of_the_output() {
    let stage = Stage::new();
    let mut scene = stage.start("flush-and-wait");
    scene.wait_for_line("ready");
    fs::write(stage.path("any new file"), "").unwrap();
    let of_new_file = mode(&stage.path("any new file"));
    assert_eq!(mode(&stage.path("trace.json.spool")), 0o600);
    assert_eq!(mode(&stage.path("trace.json.next")), 0o600);
    assert_eq!(mode(&stage.trace()), of_new_file);
    scene.finish().expect_success();
    stage.finished_trace();
    assert_eq!(mode(&stage.trace()), of_new_file);
}

#[test]
fn an_output_keeps_the_permissions_of_the_file_that_it_replaces() {
    for (name, kept) in [("trace.json", 0o600), ("trace.json", 0o640), ("trace.spool", 0o600), ("trace.spool", 0o644)] {
        let stage = Stage::new();
        let out = stage.path(name);
        fs::write(&out, "[]").unwrap();
        fs::set_permissions(&out, Permissions::from_mode(kept)).unwrap();
        let mut command = stage.scene("flush-and-wait");
        let mut scene = Running::start(command.env("FERRUM_TRACE_OUT", &out));
        scene.wait_for_line("ready");
        let live = if name.ends_with(".spool") { 0o600 } else { kept };
        assert_eq!(mode(&out), live, "{name} while it is recorded");
        scene.finish().expect_success();
        assert_eq!(mode(&out), kept, "{name}");
        assert!(fs::metadata(&out).unwrap().len() > 2);
    }
}

#[test]
fn leftovers_of_killed_processes_are_removed_by_the_next_one() {
    let stage = Stage::new();
    let mut killed = stage.start("flush-and-wait");
    killed.wait_for_line("ready");
    let pid = killed.pid();
    end(killed);
    assert!(stage.path("trace.json.next").exists());
    // Versions that gave copies a name, and dumps.
    for name in ["trace.json.spool.copy", "trace.dump-007.json.next", "trace.dump-007.json.copy"] {
        fs::write(stage.path(name), "[").unwrap();
    }
    fs::write(stage.path("notes.next"), "to do").unwrap();
    let mut command = stage.scene("flush-and-wait");
    let mut next = Running::start(command.env("FERRUM_TRACE_RING", "1MiB"));
    next.wait_for_line("ready");
    end(next);
    let files = stage.files();
    let kept_aside = format!("trace.{pid}.json.spool");
    let expected = ["notes.next", "trace.json", "trace.json.spool", &kept_aside];
    let found: Vec<&str> = files.iter().map(String::as_str).filter(|name| *name != "trace.json.next").collect();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(found, expected, "only the last one's own files, the kept spool and files of others");
}

#[test]
fn a_spool_that_the_recorder_cannot_read_completely_is_kept() {
    let stage = Stage::new();
    let mut scene = stage.start("record-and-wait");
    scene.wait_for_line("ready");
    let path = stage.path("trace.json.spool");
    let spool = fs::read(&path).unwrap();
    let chunk = spool.chunks(32 * 1024).position(|chunk| chunk.starts_with(b"FTEVENTS")).unwrap();
    let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(chunk as u64 * 32 * 1024 + 16 * 1024)).unwrap();
    file.write_all(&[0xff; 64]).unwrap();
    let finished = scene.finish().expect_success();
    let line = "trace.json: 1 damaged place skipped; the spool is kept: ferrum-trace recover ";
    assert!(finished.stderr.contains(line), "{finished}");
    assert_eq!(stage.files().len(), 2, "{:?}", stage.files());
    assert!(TraceFile::read(&stage.trace()).named("work").count() > 15_000);
}

#[test]
fn a_trace_whose_folder_is_gone_is_not_called_kept() {
    let stage = Stage::new();
    let folder = stage.path("gone");
    fs::create_dir(&folder).unwrap();
    let mut command = stage.scene("remove-its-folder");
    command.current_dir(&folder).env("FERRUM_TRACE_OUT", folder.join("trace.json"));
    let finished = run(&mut command).expect_success();
    assert!(!finished.stderr.contains("kept"), "{finished}");
    assert!(finished.stderr.contains("its spool has been removed too, and the trace is lost\n"), "{finished}");
}

/// A copy of the program that runs with the rights of its owner or its group, and the command of a caller who lacks
/// them. `None` if this user cannot make one: only root has another user, and not everyone has another group.
fn with_more_rights(program: &Path, stage: &Stage) -> Option<Command> {
    let mut command = stage.scene_of(program, "report-rights");
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
        fs::set_permissions(program, Permissions::from_mode(0o4755)).unwrap();
        return Some(command);
    }
    let own = fs::metadata(program).unwrap().gid();
    let other = other_groups().into_iter().find(|&group| group != own)?;
    std::os::unix::fs::chown(program, None, Some(other)).ok()?;
    fs::set_permissions(program, Permissions::from_mode(0o2755)).ok()?;
    Some(command)
}

fn other_groups() -> Vec<u32> {
    let mut groups = [0; 64];
    // SAFETY: the buffer has room for 64 groups.
    let n = unsafe { libc::getgroups(64, groups.as_mut_ptr()) };
    groups[..usize::try_from(n).unwrap_or(0)].to_vec()
}

#[test]
fn a_program_with_more_rights_than_its_caller_ignores_the_environment() {
    // Some file systems are mounted so that programs on them get no rights.
    let places = [std::env::temp_dir(), env!("CARGO_TARGET_TMPDIR").into(), "/var/tmp".into(), "/dev/shm".into()];
    for place in places {
        let Ok(folder) = TempDir::new_in(&place) else { continue };
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let shared = SharedStage::new();
        let program = folder.path().join("privileged");
        fs::copy(env!("CARGO_BIN_EXE_behavior-child"), &program).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        // The same program and caller, without more rights: the variable has an effect.
        let other = SharedStage::new();
        let mut plain = other.stage.scene_of(&program, "report-rights");
        if is_root() {
            plain.uid(NOBODY).gid(NOBODY);
        }
        let Ok(status) = plain.output() else { continue };
        let before = String::from_utf8(status.stdout).unwrap();
        if !before.contains("on true") {
            // Another user cannot reach this place.
            continue;
        }
        let Some(mut command) = with_more_rights(&program, &shared.stage) else {
            break;
        };
        let finished = run(command.env("FERRUM_TRACE_HTTP", "127.0.0.1:0")).expect_success();
        let has_more_rights =
            !before.contains(&format!("user {}\ngroup {}\n", finished.answer("user"), finished.answer("group")));
        if !has_more_rights {
            continue;
        }
        assert_eq!((finished.answer("on"), finished.answer("writer")), ("false", "false"), "{finished}");
        assert!(shared.stage.files().is_empty(), "{:?}", shared.stage.files());
        let line = "FERRUM_TRACE_OUT: ignored, because this program runs with more rights than its caller\n";
        assert!(finished.stderr.ends_with(line), "{finished}");
        return;
    }
    eprintln!("not run: no place where this user can give a program more rights");
}

/// Logs what a process does with the files of its recording, in order.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void note(const char *what, const char *path) {
    int log = open(getenv("SHIM_LOG"), O_WRONLY | O_APPEND | O_CREAT, 0600);
    const char *name = strrchr(path, '/');
    dprintf(log, "%s %s\n", what, name ? name + 1 : path);
    close(log);
}
static void note_fd(const char *what, int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n < 0 ? 0 : n] = 0;
    note(what, path);
}
#define REAL(name) ((int (*)())dlsym(RTLD_NEXT, #name))
int fsync(int fd) { note_fd("sync", fd); return REAL(fsync)(fd); }
int fdatasync(int fd) { note_fd("sync", fd); return REAL(fdatasync)(fd); }
int rename(const char *from, const char *to) { note("name", to); return REAL(rename)(from, to); }
int unlink(const char *path) { note("remove", path); return REAL(unlink)(path); }
"#;

#[test]
fn the_output_is_on_the_disk_before_the_spool_is_removed() {
    let stage = Stage::new();
    fs::write(stage.path("shim.c"), SHIM).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-w", "-o", "shim.so", "shim.c", "-ldl"]).current_dir(stage.path(""));
    run(&mut compiler).expect_success();
    let mut command = stage.scene("record-and-wait");
    command.env("LD_PRELOAD", stage.path("shim.so")).env("SHIM_LOG", stage.path("log"));
    let mut scene = Running::start(&mut command);
    scene.wait_for_line("ready");
    assert!(!fs::read_to_string(stage.path("log")).unwrap_or_default().contains("sync"), "while it records");
    scene.finish().expect_success();
    let log = fs::read_to_string(stage.path("log")).unwrap();
    let folder = stage.path("").file_name().unwrap().to_str().unwrap().to_owned();
    let steps = ["name trace.json", "sync trace.json", &format!("sync {folder}"), "remove trace.json.spool"];
    let places = steps.map(|step| log.lines().position(|line| line == step).unwrap_or_else(|| panic!("{step}: {log}")));
    assert!(places.is_sorted(), "{log}");
    assert_counts_up(&TraceFile::read(&stage.trace()).numbers("work", "n"));
}

use crate::maker::{Maker, killed, spool_of_killed_process};
use crate::scene::Scene;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

const RECOVERED: &str = "trace.json.spool: 2 events of 2 threads recovered to trace.json; none lost\n";

#[test]
fn output_names_the_trace() {
    let scene = spool_of_killed_process(1);
    scene.run("recover -o other.json trace.json.spool").expect(
        0,
        "",
        "trace.json.spool: 2 events of 2 threads recovered to other.json; none lost\n",
    );
    assert_eq!(scene.names(), ["other.json"]);
    assert_eq!(scene.n_events("other.json"), 2);
}

#[test]
fn output_is_for_one_file_only() {
    let scene = spool_of_killed_process(1);
    killed(&scene, "second.json", 1);
    let words = "error: -o: needs exactly one FILE, found 2\n\n\
                 hint: without `-o`, each trace is written next to its spool\n";
    scene.run("recover -o x.json trace.json.spool second.json.spool").expect(2, "", words);
    scene.run("recover -o x.json .").expect(2, "", words);
    assert_eq!(scene.names(), ["second.json.spool", "trace.json.spool"]);
}

#[test]
fn an_existing_trace_is_kept_without_force() {
    let scene = spool_of_killed_process(1);
    scene.write("trace.json", "mine");
    for line in ["recover trace.json.spool", "recover trace.json", "recover -o trace.json trace.json.spool"] {
        scene.run(line).expect(
            2,
            "",
            "error: trace.json: already exists\n\n\
             hint: use `--force` to overwrite it, or `-o PATH` to write elsewhere\n",
        );
        assert_eq!(scene.names(), ["trace.json", "trace.json.spool"]);
        assert_eq!(scene.read("trace.json"), b"mine");
    }
    scene.run("recover --force trace.json.spool").expect(0, "", RECOVERED);
    assert_eq!(scene.names(), ["trace.json"]);
    assert_eq!(scene.n_events("trace.json"), 2);
}

#[test]
fn keep_leaves_the_spool_unchanged() {
    let scene = spool_of_killed_process(1);
    let before = scene.read("trace.json.spool");
    scene.run("recover --keep trace.json.spool").expect(0, "", RECOVERED);
    assert_eq!(scene.names(), ["trace.json", "trace.json.spool"]);
    assert_eq!(scene.read("trace.json.spool"), before);
}

#[test]
fn a_spool_without_its_extension_needs_an_output_name() {
    let scene = spool_of_killed_process(1);
    std::fs::rename(scene.path("trace.json.spool"), scene.path("left")).unwrap();
    let words = "error: left: the spool's name does not end in `.spool`, so the trace needs another name\n\n\
                 hint: use `-o PATH` to name the trace\n";
    for line in ["recover left", "recover --force left", "recover --force -o ./left left"] {
        scene.run(line).expect(2, "", words);
    }
    scene.run("recover -o trace.json left").expect_code(0);
    assert_eq!(scene.names(), ["trace.json"]);
}

#[test]
fn the_output_cannot_be_a_folder_or_in_a_missing_folder() {
    let scene = spool_of_killed_process(1);
    scene.write("folder/file", "");
    scene.run("recover -o folder trace.json.spool").expect(
        2,
        "",
        "error: folder: expected a file to write, found a folder\n\n\
         hint: name a file: `-o folder/trace.json`\n",
    );
    scene.run("recover -o nowhere/trace.json trace.json.spool").expect(
        2,
        "",
        "error: nowhere/trace.json: cannot write: No such file or directory (os error 2)\n",
    );
    assert_eq!(scene.names(), ["folder", "trace.json.spool"]);
}

#[test]
fn devices_are_written_to_and_not_replaced() {
    let scene = spool_of_killed_process(1);
    scene.run("recover --keep -o /dev/null trace.json.spool").expect_code(0);
    let null = std::fs::metadata("/dev/null").unwrap();
    assert!(!null.is_file(), "it is the device still");
    let run = scene.run("recover --keep -o /dev/stdout trace.json.spool").expect_code(0);
    assert_eq!(run.stdout.matches("\"step\"").count(), 2);
}

#[test]
fn the_spool_is_kept_when_the_disk_is_full() {
    let scene = spool_of_killed_process(1);
    scene.run("recover -o /dev/full trace.json.spool").expect(
        2,
        "",
        "error: /dev/full: cannot write: No space left on device (os error 28)\n\n\
         hint: use `-o PATH` to write elsewhere; the input is unchanged\n",
    );
    assert_eq!(scene.names(), ["trace.json.spool"]);
}

#[test]
fn a_link_stays_a_link_and_its_file_is_replaced() {
    let scene = spool_of_killed_process(1);
    scene.write("real.json", "old");
    symlink("real.json", scene.path("link.json")).unwrap();
    scene.run("recover --force -o link.json trace.json.spool").expect_code(0);
    assert!(std::fs::symlink_metadata(scene.path("link.json")).unwrap().is_symlink());
    assert_eq!(scene.n_events("real.json"), 2);
}

#[test]
fn a_trace_has_the_permissions_of_the_umask() {
    let scene = spool_of_killed_process(1);
    scene.write("new", "");
    scene.run("recover trace.json.spool").expect_code(0);
    let mode = |name: &str| std::fs::metadata(scene.path(name)).unwrap().permissions().mode();
    assert_eq!(mode("trace.json"), mode("new"));
}

#[test]
fn a_trace_that_is_replaced_keeps_its_permissions() {
    for kept in [0o600, 0o640, 0o644] {
        let scene = spool_of_killed_process(1);
        scene.write("trace.json", "[]");
        std::fs::set_permissions(scene.path("trace.json"), std::fs::Permissions::from_mode(kept)).unwrap();
        scene.run("recover --force trace.json.spool").expect_code(0);
        assert_eq!(scene.n_events("trace.json"), 2);
        assert_eq!(std::fs::metadata(scene.path("trace.json")).unwrap().permissions().mode() & 0o7777, kept);
    }
}

#[test]
fn a_link_of_another_user_in_a_shared_folder_is_not_followed() {
    let scene = spool_of_killed_process(1);
    std::fs::set_permissions(scene.path(""), std::fs::Permissions::from_mode(0o1777)).unwrap();
    std::os::unix::fs::symlink("/dev/null", scene.path("trace.json")).unwrap();
    if std::os::unix::fs::lchown(scene.path("trace.json"), Some(65_534), Some(65_534)).is_err() {
        eprintln!("not run: only root can make a link of another user");
        return;
    }
    let words = "error: trace.json: it is a link of another user (uid 65534), which is not followed\n\n\
                 hint: use `-o PATH` to write elsewhere\n";
    scene.run("recover trace.json.spool").expect(2, "", words);
    scene.run("recover --force trace.json.spool").expect(2, "", words);
    assert_eq!(scene.names(), ["trace.json", "trace.json.spool"]);
}

#[test]
fn a_spool_that_cannot_be_removed_is_an_error() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path("locked")).unwrap();
    killed(&scene, "locked/trace.json", 1);
    let lock = |mode| {
        std::fs::set_permissions(scene.path("locked"), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    lock(0o555);
    let is_obeyed = std::fs::File::create(scene.path("locked/probe")).is_err();
    let run = scene.run("recover -o trace.json locked/trace.json.spool");
    lock(0o755);
    // The superuser may remove it anyway.
    if is_obeyed {
        run.expect(
            2,
            "",
            "locked/trace.json.spool: 2 events of 2 threads recovered to trace.json; none lost\n\
             error: locked/trace.json.spool: cannot remove: Permission denied (os error 13)\n",
        );
    } else {
        run.expect_code(0);
    }
    assert_eq!(scene.n_events("trace.json"), 2);
}

#[test]
fn the_trace_of_a_renamed_spool_is_written_next_to_it() {
    let scene = spool_of_killed_process(1);
    let first = scene.read("trace.json.spool");
    let pid = u64::from_le_bytes(first[72..80].try_into().unwrap());
    // A second recording to the same name finds the spool of the first.
    Maker::start(&scene, "trace.json").exit();
    let aside = format!("trace.{pid}.json.spool");
    assert!(scene.names().contains(&aside), "{:?}", scene.names());
    scene.run(&format!("recover {aside}")).expect_code(0);
    assert_eq!(scene.n_events(&format!("trace.{pid}.json")), 2);
}

#[test]
fn force_replaces_the_file_instead_of_overwriting_it() {
    let scene = spool_of_killed_process(1);
    scene.write("trace.json", "mine");
    std::fs::hard_link(scene.path("trace.json"), scene.path("held")).unwrap();
    let inode = || std::fs::metadata(scene.path("trace.json")).unwrap().ino();
    let before = inode();
    scene.run("recover --force trace.json").expect_code(0);
    assert_ne!(inode(), before);
    assert_eq!(scene.read("held"), b"mine", "who has the old file open sees it whole");
}

//! The program that the tests run: the first argument is the name of a scene, the others are the scene's. The
//! environment controls the recording, as in any program that links the recorder.

mod scenes {
    pub(crate) mod api;
    pub(crate) mod everything;
    pub(crate) mod full_disk;
    pub(crate) mod limits;
    pub(crate) mod llm;
    pub(crate) mod memory;
    pub(crate) mod names;
    pub(crate) mod paths;
    pub(crate) mod programs;
    pub(crate) mod report;
    pub(crate) mod values;
}

use scenes::{api, everything, full_disk, limits, llm, memory, names, paths, programs, values};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["texts"] => values::texts(),
        ["numbers"] => values::numbers(),
        ["odd numbers in counters"] => values::counters(),
        ["keys"] => values::keys(),
        ["hundred arguments"] => values::hundred_arguments(),
        ["generics"] => values::generics(),
        ["empty names"] => values::empty_names(),
        ["ids"] => values::ids(),

        ["distinct names", n] => names::distinct(number(n)),
        ["long names", n, letter] => names::long(number(n), letter),
        ["long constants"] => names::long_constants(),
        ["strange threads and tracks"] => names::strange_threads_and_tracks(),
        ["long names of processes and threads"] => names::long_processes_and_threads(),

        ["some spans", n] => paths::some_spans(number(n)),
        ["change of directory", to] => paths::change_of_directory(to),
        ["wait to be killed", n] => paths::wait_to_be_killed(number(n)),
        ["look at the output", output] => paths::look_at_the_output(output),
        ["fill the disk", filler] => paths::fill_the_disk(filler),
        ["a full disk that has room again", filler] => full_disk::until_there_is_room(filler),
        ["a full disk and other files", filler] => full_disk::rotate_until_there_is_room(filler),

        ["spans on threads", threads, n] => limits::spans_on_threads(number(threads), number(n)),
        ["spans under a builder's limit", path, bytes, n] => limits::builder(path, number(bytes), number(n)),
        ["texts beyond the limit", n] => limits::texts(number(n)),
        ["dynamic names beyond the limit", n] => limits::dynamic_names(number(n)),
        ["all kinds beyond the limit", n] => limits::all_kinds(number(n)),
        ["definitions beyond the limit"] => limits::definitions(),
        ["pushes beyond the limit", n] => limits::pushes(number(n)),

        ["memory", threads, n] => memory::spans(number(threads), number(n)),
        ["memory of texts", n] => memory::texts(number(n)),
        ["memory of overlaps", n] => memory::overlaps(number(n)),

        ["program", own_path] => programs::play(own_path),
        ["tight nesting", n] => programs::tight_nesting(number(n)),

        ["macro forms"] => api::macro_forms(),
        ["side effects"] => api::side_effects(),
        ["processes and threads"] => api::processes_and_threads(),
        ["late names"] => api::late_names(),
        ["tracks"] => api::tracks(),
        ["explicit times"] => api::explicit_times(),
        ["times before the trace"] => api::times_before_the_trace(),
        ["long explicit times"] => api::long_explicit_times(),
        ["instants of the standard library"] => api::standard_instants(),
        ["flows"] => api::flows(),
        ["async"] => api::asynchronous(),
        ["row titles"] => api::row_titles(),
        ["builder", path] => api::builder(path),
        ["two recordings", one, other] => api::two_recordings(one, other),
        ["builder mistakes", path] => api::builder_mistakes(path),
        ["stats while running"] => api::stats_while_running(),
        ["first spans at once", n] => api::first_spans_at_once(number(n)),
        ["finish by name"] => api::finish_by_name(),

        ["steps"] => llm::steps(),
        ["a request over threads"] => llm::request_over_threads(),
        ["requests out of order"] => llm::requests_out_of_order(),
        ["a request between recordings", one, other] => llm::request_between_recordings(one, other),
        ["counters of an engine"] => llm::counters(),

        ["everything"] => everything::everything(),
        ["original interface"] => everything::original_interface(),

        _ => panic!("unknown scene: {words:?}"),
    }
}

fn number(word: &str) -> u64 {
    word.parse().unwrap_or_else(|_| panic!("expected a number, found `{word}`"))
}

//! Starts recordings: the one that the environment requests, those of the program, and private ones of writers.

use crate::error::Error;
use crate::flight::recording::Recording;
use crate::lifecycle::environment::{CATEGORIES, OUT, options_from_vars};
use crate::lifecycle::{end, fork_and_exit, rotate};
use crate::os::clock::ClockKind;
use crate::os::environment;
use crate::os::stderr::say;
use crate::process::current::{Registry, with_registry, with_registry_to_start};
use crate::process::options::Options;
use crate::process::switch::{self, MONOTONIC, TICKS, UNDECIDED};
use crate::process::{attach, categories};
use crate::thread::buffer;
use crate::watch::{panic_hook, steps, window};
use std::sync::Arc;

/// Starts the recording that the environment requests, if any, at the first call. Other threads wait until that is
/// decided, so that none of their events is lost. Returns false, without a decision, if the caller is inside the
/// recorder, such as an allocator that records.
pub(crate) fn decide() -> bool {
    if buffer::current().is_held() {
        return false;
    }
    with_registry(|registry| {
        if switch::mode() != UNDECIDED {
            return;
        }
        if environment::is_ignored(OUT) {
            say(&format!("{OUT}: ignored, because this program runs with more rights than its caller"));
        }
        if let Some(options) = options_from_vars(environment::variables(), |complaint| say(&complaint))
            && options.window.has_rank(options.session.rank)
        {
            use_categories_of_environment(&options);
            if let Err(error) = start_locked(registry, options) {
                say(&format!("{error}; nothing is recorded"));
            }
        }
        switch::decide_off();
    });
    panic_hook::install_if_needed();
    true
}

/// Sets the categories of the process, which are used for later recordings too.
fn use_categories_of_environment(options: &Options) {
    if let Some(categories) = &options.categories {
        categories::set_for_process(categories.clone());
        if let Some(words) = categories::misspelled(categories) {
            say(&format!("{CATEGORIES}: {words}"));
        }
    }
}

/// A recording, and true if the environment requested it.
pub(crate) type Started = (Arc<Recording>, bool);

/// Starts the recording of the process. If the environment has requested one, returns that one, since the person who
/// runs the program decides, and prints one line about it on standard error.
pub(crate) fn start(options: Options) -> Result<Started, Error> {
    let own_path = options.session.out.clone();
    let started = with_registry_to_start(|registry| match recording_of_environment(registry)? {
        Some(recording) => Ok((recording, true)),
        None => start_locked(registry, options).map(|recording| (recording, false)),
    });
    panic_hook::install_if_needed();
    let (recording, is_from_environment) = started?;
    if is_from_environment {
        let path = recording.output_path().display();
        let instead =
            if own_path.as_os_str().is_empty() { String::new() } else { format!(" (to {})", own_path.display()) };
        say(&format!("{path}: recorded because of {OUT}; the program's own recording{instead} is not begun"));
    }
    Ok((recording, is_from_environment))
}

/// Returns the recording that the environment requested, if it is active. In a forked child that has not recorded yet,
/// it starts here.
fn recording_of_environment(registry: &mut Registry) -> Result<Option<Arc<Recording>>, Error> {
    if registry.active.is_none()
        && let Some(options) = registry.restart.take_if(|options| options.is_of_environment)
    {
        return start_locked(registry, options).map(Some);
    }
    let is_of_environment = registry.options.as_ref().is_some_and(|options| options.is_of_environment);
    Ok(registry.active.clone().filter(|_| is_of_environment))
}

fn start_locked(registry: &mut Registry, mut options: Options) -> Result<Arc<Recording>, Error> {
    if registry.active.is_some() {
        return Err(Error::already_recording());
    }
    fork_and_exit::install();
    attach::prepare();
    registry.start = Some(start_locked);
    // A forked child takes the path from here, and may be in another directory by then.
    if let Ok(absolute) = std::path::absolute(&options.session.out) {
        options.session.out = absolute;
    }
    if let Some(pattern) = &mut options.session.pattern {
        pattern.make_absolute();
    }
    options.session.on_parts_due = Some(rotate::tend_parts);
    options.session.on_keeping = Some(attach::drop_retired);
    let recording = Recording::start(&options.session, &options.flight)?;
    for site in registry.sites.iter() {
        recording.define_site(site, site.known_id());
    }
    categories::begin(options.categories.clone());
    let window = options.window.clone();
    let reasons = window::prepare(&window, options.session.rank, end::finish_in_background);
    registry.activate(&recording, options);
    let clock = match recording.clock() {
        ClockKind::Ticks => TICKS,
        ClockKind::Monotonic => MONOTONIC,
    };
    steps::begin(recording.triggers());
    switch::begin(clock, &reasons);
    window::watch_time(recording.recording(), &window);
    Ok(recording)
}

/// Starts a recording that is not the process's own.
pub(crate) fn start_private(options: &Options) -> Result<Arc<Recording>, Error> {
    with_registry(|_| fork_and_exit::install());
    let recording = Recording::start(&options.session, &options.flight)?;
    with_registry(|registry| registry.remember(&recording));
    Ok(recording)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::current;
    use std::time::Duration;

    #[test]
    fn no_recording_starts_while_chunks_of_the_previous_one_are_open() {
        let path = std::env::temp_dir().join(format!("ferrum-closing-{}.json", std::process::id()));
        let options = Options::new(path.clone());
        with_registry(|registry| registry.n_closing += 1);
        let starting = std::thread::spawn(|| start(options));
        std::thread::sleep(Duration::from_millis(50));
        assert!(!starting.is_finished() && current::active_id() == 0);
        with_registry(|registry| registry.n_closing -= 1);
        let (recording, _) = starting.join().unwrap().unwrap();
        assert!(current::is_active(recording.id()));
        end::finish(recording.recording()).unwrap();
        std::fs::remove_file(path).unwrap();
    }
}

//! The program that the tests run: its argument is the name of a scene.
//!
//! A scene records to the path in `FERRUM_TRACE_OUT`, unless it starts a recording itself, and reports to the test on
//! standard output. Its other files go to the working directory.

mod allocating;
mod busy;
mod ending;
mod flushing;
mod forking;
mod interrupting;
mod killing;
mod limited;
mod moving;
mod process_trees;
mod recording_nothing;
mod restarting;
mod rotating;
mod sharing;
mod starting;
mod sys;
mod triggering;
mod unfinished;
mod work;

type Scene = (&'static str, fn());

fn main() {
    let all = [
        allocating::SCENES,
        busy::SCENES,
        ending::SCENES,
        flushing::SCENES,
        forking::SCENES,
        process_trees::SCENES,
        interrupting::SCENES,
        killing::SCENES,
        limited::SCENES,
        moving::SCENES,
        recording_nothing::SCENES,
        restarting::SCENES,
        triggering::SCENES,
        rotating::SCENES,
        sharing::SCENES,
        unfinished::SCENES,
        starting::SCENES,
    ];
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let scene = all.into_iter().flatten().find(|(name, _)| *name == wanted);
    let (_, run) = scene.unwrap_or_else(|| panic!("unknown scene `{wanted}`"));
    run();
}

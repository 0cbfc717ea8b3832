//! A program for the tests of this crate to run: its argument names a scene.
//!
//! A scene records to where `FERRUM_TRACE_OUT` says, unless it says otherwise itself, and tells on standard output what
//! the test must know. Files of its own go to the working directory.

mod ending;
mod flushing;
mod forking;
mod gathering;
mod interrupting;
mod killing;
mod moving;
mod recording_nothing;
mod restarting;
mod rotating;
mod starting;
mod sys;
mod triggering;
mod unfinished;
mod work;

type Scene = (&'static str, fn());

fn main() {
    let all = [
        ending::SCENES,
        flushing::SCENES,
        forking::SCENES,
        gathering::SCENES,
        interrupting::SCENES,
        killing::SCENES,
        moving::SCENES,
        recording_nothing::SCENES,
        restarting::SCENES,
        triggering::SCENES,
        rotating::SCENES,
        unfinished::SCENES,
        starting::SCENES,
    ];
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let scene = all.into_iter().flatten().find(|(name, _)| *name == wanted);
    let (_, play) = scene.unwrap_or_else(|| panic!("there is no scene `{wanted}`"));
    play();
}

//! Values that may move to another thread.

use crate::Scene;
use ferrum_trace::async_span;
use std::thread::Builder;

pub(crate) const SCENES: &[Scene] = &[("move", move_to_another_thread)];

fn move_to_another_thread() {
    let task = async_span!("task", "async", n = 1);
    let end = move || {
        task.instant("half");
        drop(task);
    };
    Builder::new().name("other".into()).spawn(end).unwrap().join().unwrap();
}

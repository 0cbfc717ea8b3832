//! A program that is run to be recorded: its processes, the signals for them, and the files that they leave.

mod end;
mod folder;
mod gathered;
mod notices;
mod recorded;
mod remaining;
mod tree;

pub use end::End;
pub use folder::Folder;
pub use gathered::Gathered;
pub use notices::{Notice, Notices};
pub use recorded::{Fate, Recorded, RecordedFile};
pub use remaining::linger;
pub use tree::Tree;

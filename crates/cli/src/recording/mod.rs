//! A program that is run to be recorded: its processes, the signals for them, and the files that they leave.

mod end;
mod folder;
mod gathered;
mod lingering;
mod notices;
mod recorded;
mod tree;

pub use end::End;
pub use folder::Folder;
pub use gathered::Gathered;
pub use lingering::linger;
pub use notices::{Notice, Notices};
pub use recorded::{Fate, Recorded, RecordedFile};
pub use tree::Tree;

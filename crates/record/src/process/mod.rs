//! The recording of this process, and the attachment of threads to it.

pub(crate) mod attach;
pub(crate) mod categories;
pub(crate) mod current;
pub(crate) mod event;
pub(crate) mod options;
pub(crate) mod pushed;
pub(crate) mod switch;
pub(crate) mod value;

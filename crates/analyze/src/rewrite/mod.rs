//! Parts that every writer of a trace needs: copies and edits of events, the output document, fields around the events,
//! numbers for processes and threads, ranks.

pub(crate) mod copy;
pub(crate) mod document;
pub(crate) mod edit;
pub(crate) mod fields;
pub(crate) mod json;
pub(crate) mod numbering;
pub(crate) mod rank;
pub(crate) mod stoppable;

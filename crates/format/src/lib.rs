//! How a trace is spelled: the spool that the recorder fills, and Chrome trace JSON.

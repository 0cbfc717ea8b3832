//! Small tools without knowledge of traces.

pub(crate) mod compiled_out;
pub(crate) mod derived;
pub(crate) mod lock;
pub(crate) mod running_p99;
pub(crate) mod turn;

//! Options of the process's recording.

use crate::flight::options::FlightOptions;
use crate::recording::options::SessionOptions;
use ferrum_trace_model::settings::{Categories, Window};
use std::path::PathBuf;

/// Options of a recording.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub session: SessionOptions,
    pub flight: FlightOptions,
    pub window: Window,
    /// `None` for the categories of the process.
    pub categories: Option<Categories>,
    /// True if the environment requests the recording.
    pub is_of_environment: bool,
}

impl Options {
    /// Default options, with the rank that the environment states.
    pub(crate) fn new(out: PathBuf) -> Self {
        Self {
            session: SessionOptions::new(out),
            flight: FlightOptions::default(),
            window: Window::default(),
            categories: None,
            is_of_environment: false,
        }
    }
}

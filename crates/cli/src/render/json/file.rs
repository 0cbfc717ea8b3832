//! Fields about the file that an object describes.

use super::VERSION;
use ferrum_trace_format::open::{Container, TraceFormat};
use serde::Serialize;

/// The first fields of an object about a file.
#[derive(Serialize)]
pub(crate) struct FileObject<'a> {
    version: u32,
    file: &'a str,
}

impl<'a> FileObject<'a> {
    pub(crate) fn new(file: &'a str) -> Self {
        Self { version: VERSION, file }
    }
}

/// The format and the compression of a file.
#[derive(Serialize)]
pub(crate) struct FormatObject {
    kind: &'static str,
    containers: Vec<&'static str>,
}

impl FormatObject {
    pub(crate) fn new(kind: TraceFormat, containers: &[Container]) -> Self {
        Self { kind: kind.name(), containers: containers.iter().map(|container| container.name()).collect() }
    }
}

//! Access to a file that is read more than once.

use ferrum_trace_format::Error;
use std::io::Read;

/// Opens a file again for each pass over it.
pub type Opener<'a> = &'a dyn Fn() -> Result<Box<dyn Read + Send>, Error>;

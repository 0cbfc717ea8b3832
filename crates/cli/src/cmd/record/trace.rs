//! The trace of all processes that `record` has run.

use crate::args::{Format, OutputArgs};
use crate::cmd::convert;
use crate::cmd::making::Making;
use crate::input::Input;
use crate::out::target::Target;
use crate::out::words::Words;
use crate::recording::{Folder, Gathered, Recorded};
use crate::source::{Passes, Source};
use crate::trouble::Trouble;
use std::io;
use std::path::{Path, PathBuf};

/// Writes the trace. Gives a file that can be summed up: the trace itself, if its form can be read.
pub fn write(
    gathered: &Gathered,
    format: Format,
    output: &Path,
    folder: &Folder,
    words: &Words,
) -> Result<PathBuf, Trouble> {
    let is_readable = matches!(format, Format::Chrome | Format::Perfetto | Format::Torch) && !is_device(output);
    let whole = match &gathered.recorded[..] {
        [one] => one.file.clone(),
        _ => return Err(Trouble::new("record", "merging is not there yet")),
    };
    let source = Source::of(Input::Other(whole.clone()), Passes::Several, words)?;
    write_one(&source, format, output)?;
    Ok(if is_readable { output.to_owned() } else { whole })
}

/// Writes one trace in the form that is asked for. As JSON, it is what the process itself would have written.
fn write_one(source: &Source, format: Format, output: &Path) -> Result<(), Trouble> {
    let target = Target::File(output.to_owned());
    let making = Making::new(&Vec::new(), &OutputArgs { output: Some(output.to_owned()), force: true }, false)?;
    let made = making.make(source, &target, |out| match format {
        Format::Chrome => {
            let mut trace = source.open().map_err(|error| error.to_string())?;
            io::copy(&mut trace, out).map(|_| ()).map_err(|cause| cause.to_string())
        }
        _ => convert::write_plainly(source, format, out).map(|_| ()),
    })?;
    made.ok_or_else(|| Trouble::at(output, "cannot write: nobody reads it"))
}

/// A pipe or the like, which cannot be read again.
fn is_device(output: &Path) -> bool {
    output.metadata().is_ok_and(|about| !about.is_file())
}

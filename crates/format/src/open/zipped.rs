//! Reads the files of a zip, one after another.

use super::{Opened, Opening, TraceFormat, channel};
use crate::Error;
use crate::chrome::read::DOCUMENT_SEPARATOR;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use zip::ZipArchive;

/// Opens all files of a zip as one trace with a document for each file.
pub(crate) fn open(opening: Opening, file: File) -> Result<Opened, Error> {
    let mut archive = ZipArchive::new(file).map_err(broken)?;
    let members: Vec<usize> = (0..archive.len()).filter(|&n| is_trace_file(&mut archive, n)).collect();
    if members.is_empty() {
        return Err(Error::malformed(
            0,
            "a zip that contains a trace",
            format!("a zip with {} entries and no file", archive.len()),
        ));
    }
    let notes = opening.notes.clone();
    if members.len() > 1 {
        notes.add(format!("{} files of the zip are read as one trace", members.len()));
    }
    let stream = channel::spawn(move |output| {
        for member in members {
            copy_member(&mut archive, member, output)?;
        }
        Ok(())
    })?;
    Ok(opening.opened(Box::new(stream), TraceFormat::Json))
}

/// Returns true for files other than folders and macOS metadata.
fn is_trace_file(archive: &mut ZipArchive<File>, member: usize) -> bool {
    archive.by_index_raw(member).is_ok_and(|file| {
        let is_of_macos = file.name().is_ok_and(|name| name.starts_with("__MACOSX/"));
        file.is_file() && !is_of_macos
    })
}

fn copy_member(archive: &mut ZipArchive<File>, member: usize, output: &mut impl Write) -> Result<(), Error> {
    let failed = |cause: io::Error| Error::io("cannot decompress the zip", cause);
    output.write_all(&[DOCUMENT_SEPARATOR]).map_err(failed)?;
    let mut unpacked = tempfile::tempfile().map_err(super::cannot_copy)?;
    let packed = archive.by_index(member).map_err(broken)?;
    let n_packed = packed.compressed_size();
    // The stated size may be wrong, so the actual output is limited.
    let n_max = super::bounded::unpacked_max(n_packed);
    let n_bytes = io::copy(&mut packed.take(n_max + 1), &mut unpacked).map_err(failed)?;
    if n_bytes > n_max {
        let what = format!("{n_packed} bytes of zip that decompress to more than {n_max} bytes");
        return Err(Error::malformed(0, "a trace", what));
    }
    unpacked.rewind().map_err(super::cannot_copy)?;
    let mut inner = super::open_file(unpacked)?;
    io::copy(&mut inner, output).map_err(failed)?;
    Ok(())
}

fn broken(cause: zip::result::ZipError) -> Error {
    Error::io("cannot decompress the zip", io::Error::other(cause))
}

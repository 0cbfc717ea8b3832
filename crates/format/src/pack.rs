//! Compression in units, so that several threads can compress parts of one file.
//!
//! Each unit is compressed independently and ends at a byte boundary, so units can be produced in any order and then
//! concatenated. With gzip, all units form one member, since browsers and some viewers read only the first: each unit
//! is deflated up to a flush, and the checksums of the units are combined. With zstd, each unit is a frame.

use crate::Error;
#[cfg(feature = "zstd")]
use std::io;

/// The gzip header: a member without name and time.
#[cfg(feature = "gzip")]
const GZIP_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
/// The compression level of gzip. On an engine's trace, level 1 compresses 530 MB/s to a tenth, level 2 290 MB/s to a
/// thirteenth, level 6 80 MB/s to an eighteenth. zstd is the choice for smaller files.
#[cfg(feature = "gzip")]
const GZIP_LEVEL: u32 = 1;
/// The compression level of zstd. On the same trace, level 1 compresses 530 MB/s to a twentieth; level 3 is slower and
/// not smaller.
#[cfg(feature = "zstd")]
const ZSTD_LEVEL: i32 = 1;

/// The compression of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Packing {
    /// No compression.
    #[default]
    Plain,
    /// gzip, one member.
    #[cfg(feature = "gzip")]
    Gzip,
    /// zstd, many frames.
    #[cfg(feature = "zstd")]
    Zstd,
}

impl Packing {
    /// Returns the first bytes of the file.
    pub(crate) fn head(self) -> &'static [u8] {
        match self {
            Self::Plain => &[],
            #[cfg(feature = "gzip")]
            Self::Gzip => &GZIP_HEAD,
            #[cfg(feature = "zstd")]
            Self::Zstd => &[],
        }
    }
}

/// The checksum and size of uncompressed data, which end a gzip file.
#[derive(Debug, Default)]
pub(crate) struct Checksum {
    #[cfg(feature = "gzip")]
    crc: flate2::Crc,
}

impl Checksum {
    /// Appends the checksum of the data that follows.
    pub(crate) fn combine(&mut self, next: &Self) {
        #[cfg(feature = "gzip")]
        self.crc.combine(&next.crc);
        let _ = next;
    }
}

/// Compresses one unit after another; each worker has its own.
pub(crate) enum Packer {
    Plain,
    #[cfg(feature = "gzip")]
    Gzip(Box<flate2::Compress>),
    #[cfg(feature = "zstd")]
    Zstd(Box<zstd::bulk::Compressor<'static>>),
}

impl Packer {
    pub(crate) fn new(packing: Packing) -> Result<Self, Error> {
        Ok(match packing {
            Packing::Plain => Self::Plain,
            #[cfg(feature = "gzip")]
            Packing::Gzip => Self::Gzip(Box::new(flate2::Compress::new(flate2::Compression::new(GZIP_LEVEL), false))),
            #[cfg(feature = "zstd")]
            Packing::Zstd => Self::Zstd(Box::new(zstd::bulk::Compressor::new(ZSTD_LEVEL).map_err(cannot_pack)?)),
        })
    }

    /// Compresses a unit and appends it to `out`.
    pub(crate) fn pack(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<Checksum, Error> {
        match self {
            Self::Plain => out.extend_from_slice(plain),
            #[cfg(feature = "gzip")]
            Self::Gzip(deflate) => return gzip::pack(deflate, plain, out, flate2::FlushCompress::Sync),
            #[cfg(feature = "zstd")]
            Self::Zstd(compressor) => {
                let start = out.len();
                out.resize(start + zstd::zstd_safe::compress_bound(plain.len()), 0);
                let n_bytes = compressor.compress_to_buffer(plain, &mut out[start..]).map_err(cannot_pack)?;
                out.truncate(start + n_bytes);
            }
        }
        Ok(Checksum::default())
    }

    /// Compresses the last unit of a file and appends the end of the file. `before` is the checksum of everything
    /// before the unit.
    pub(crate) fn finish(&mut self, before: &Checksum, plain: &[u8]) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        match self {
            #[cfg(feature = "gzip")]
            Self::Gzip(deflate) => {
                let last = gzip::pack(deflate, plain, &mut out, flate2::FlushCompress::Finish)?;
                let mut all = Checksum::default();
                all.combine(before);
                all.combine(&last);
                out.extend_from_slice(&all.crc.sum().to_le_bytes());
                out.extend_from_slice(&all.crc.amount().to_le_bytes());
            }
            _ => {
                let _ = before;
                self.pack(plain, &mut out)?;
            }
        }
        Ok(out)
    }
}

#[cfg(feature = "zstd")]
fn cannot_pack(cause: io::Error) -> Error {
    Error::io("cannot compress", cause)
}

#[cfg(feature = "gzip")]
mod gzip {
    use super::Checksum;
    use crate::Error;
    use flate2::{Compress, FlushCompress};

    /// Minimum number of bytes to reserve when the buffer is full.
    const ROOM_BYTES: usize = 4096;
    /// Traces usually shrink to a tenth or less; otherwise the buffer grows on the way.
    const USUAL_RATIO: usize = 8;

    pub(crate) fn pack(
        deflate: &mut Compress,
        plain: &[u8],
        out: &mut Vec<u8>,
        flush: FlushCompress,
    ) -> Result<Checksum, Error> {
        let mut sum = Checksum::default();
        sum.crc.update(plain);
        deflate.reset();
        out.reserve(plain.len() / USUAL_RATIO + ROOM_BYTES);
        loop {
            let n_done = usize::try_from(deflate.total_in()).unwrap_or(usize::MAX);
            let rest = plain.get(n_done..).unwrap_or_default();
            deflate.compress_vec(rest, out, flush).map_err(|cause| Error::io("cannot compress", cause.into()))?;
            // Unused capacity means that all output, including the flush, has been written.
            if out.len() < out.capacity() {
                return Ok(sum);
            }
            out.reserve(ROOM_BYTES.max(rest.len() / USUAL_RATIO));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    #[cfg(any(feature = "gzip", feature = "zstd"))]
    use std::io::Read;

    fn packings() -> Vec<Packing> {
        vec![
            Packing::Plain,
            #[cfg(feature = "gzip")]
            Packing::Gzip,
            #[cfg(feature = "zstd")]
            Packing::Zstd,
        ]
    }

    fn packed(packing: Packing, units: &[Vec<u8>], tail: &[u8]) -> Vec<u8> {
        let mut out = packing.head().to_vec();
        let mut all = Checksum::default();
        for unit in units {
            // A new packer for each unit, as with several workers.
            all.combine(&Packer::new(packing).unwrap().pack(unit, &mut out).unwrap());
        }
        out.extend(Packer::new(packing).unwrap().finish(&all, tail).unwrap());
        out
    }

    /// Decompresses like a reader that, with gzip, stops after the first member.
    fn unpacked(packing: Packing, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        match packing {
            Packing::Plain => out.extend_from_slice(bytes),
            #[cfg(feature = "gzip")]
            Packing::Gzip => {
                let mut rest = bytes;
                flate2::bufread::GzDecoder::new(&mut rest).read_to_end(&mut out).unwrap();
                assert!(rest.is_empty(), "there is more than one member");
            }
            #[cfg(feature = "zstd")]
            Packing::Zstd => _ = zstd::Decoder::new(bytes).unwrap().read_to_end(&mut out).unwrap(),
        }
        out
    }

    #[test]
    fn incompressible_units_get_the_room_they_need() {
        let mut number = 1_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (number >> 56) as u8
        })
        .take(300_000)
        .collect();
        for packing in packings() {
            assert!(
                unpacked(packing, &packed(packing, std::slice::from_ref(&noise), b"end"))
                    == [&noise[..], b"end"].concat()
            );
        }
    }

    proptest! {
        #[test]
        fn data_compressed_in_units_is_decompressed_as_a_whole(
            units in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..2000), 0..6),
            tail in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            let mut plain = units.concat();
            plain.extend_from_slice(&tail);
            for packing in packings() {
                prop_assert_eq!(&unpacked(packing, &packed(packing, &units, &tail)), &plain);
            }
        }
    }
}

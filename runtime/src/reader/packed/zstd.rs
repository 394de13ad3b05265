//! zstd: a sequence of frames, with checksums verified.
//!
//! The feature `libzstd` chooses the C library, which takes a third of the time. The decoder in Rust returns the same bytes
//! for sound files. Of damaged blocks, it returns what it decoded before it noticed; the library returns none of a
//! compressed block, and all that there is of an uncompressed one.

#[cfg(any(test, not(feature = "libzstd")))]
mod in_rust;
#[cfg(feature = "libzstd")]
mod libzstd;

use super::bytes::{PackedBytes, cut, damaged};
#[cfg(not(feature = "libzstd"))]
pub(super) use in_rust::Zstd;
#[cfg(feature = "libzstd")]
pub(super) use libzstd::Zstd;
use std::io::{self, Read};

/// Largest accepted window in bytes, the default limit of zstd's own command.
const MAX_WINDOW: u64 = 128 << 20;

/// Reads over the bytes of a skippable frame, after its length.
fn skip(input: &mut PackedBytes, length: u32) -> io::Result<()> {
    let n = io::copy(&mut input.0.by_ref().take(length.into()), &mut io::sink())?;
    if n < length.into() {
        return Err(cut(input.offset(), format_args!("a skippable frame of {length} bytes")));
    }
    Ok(())
}

fn no_frame(start: u64) -> io::Error {
    damaged(start, "expected a zstd frame or the end of the file")
}

fn cut_header(offset: u64, start: u64) -> io::Error {
    cut(offset, format_args!("a zstd frame header at {start:#x}"))
}

fn window_too_large(start: u64, window: u64) -> io::Error {
    let found = format_args!(
        "found a window of {window} bytes, expected at most {MAX_WINDOW}; unpack the file first with `zstd -d --long=31`"
    );
    damaged(start, found)
}

fn needs_dictionary(start: u64, dictionary: u32) -> io::Error {
    damaged(start, format_args!("found a frame that needs dictionary {dictionary}; unpack the file first"))
}

fn cut_block(offset: u64, start: u64) -> io::Error {
    cut(offset, format_args!("more of the zstd block at {start:#x}"))
}

fn damaged_block(start: u64) -> io::Error {
    damaged(start, "the zstd block is not valid")
}

fn wrong_checksum(offset: u64, expected: u32) -> io::Error {
    damaged(offset, format_args!("the unpacked bytes do not have the expected checksum {expected:08x}"))
}

#[cfg(all(test, feature = "libzstd"))]
mod tests {
    use super::super::bytes::{Meter, Packed};
    use super::*;
    use std::io::Cursor;
    use std::sync::Arc;
    use zstd_safe::{CCtx, CParameter};

    fn packed_bytes(bytes: &[u8]) -> PackedBytes {
        let inner = Box::new(Cursor::new(bytes.to_vec()));
        PackedBytes::new(Packed { inner, meter: Arc::new(Meter::default()) })
    }

    /// Bytes that a decoder returns through a buffer of the given length, and its error.
    fn unpacked(mut read: impl FnMut(&mut [u8]) -> io::Result<usize>, n: usize) -> (Vec<u8>, Option<String>) {
        let (mut bytes, mut buffer) = (Vec::new(), vec![0; n]);
        loop {
            match read(&mut buffer) {
                Ok(0) => return (bytes, None),
                Ok(n) => bytes.extend(&buffer[..n]),
                Err(error) => return (bytes, Some(error.to_string())),
            }
        }
    }

    fn by_both(bytes: &[u8], n: usize) -> [(Vec<u8>, Option<String>); 2] {
        let mut library = libzstd::Zstd::new(packed_bytes(bytes));
        let mut in_rust = in_rust::Zstd::new(packed_bytes(bytes));
        [unpacked(|out| library.read(out), n), unpacked(|out| in_rust.read(out), n)]
    }

    /// A frame with a checksum.
    fn frame(plain: &[u8], has_size: bool) -> Vec<u8> {
        let mut encoder = CCtx::create();
        encoder.set_parameter(CParameter::ChecksumFlag(true)).unwrap();
        encoder.set_parameter(CParameter::ContentSizeFlag(has_size)).unwrap();
        let mut bytes = Vec::with_capacity(zstd_safe::compress_bound(plain.len()));
        encoder.compress2(&mut bytes, plain).unwrap();
        bytes
    }

    /// Bytes that compress to blocks of all kinds.
    fn plain(n: usize) -> Vec<u8> {
        let mut state = 1_u32;
        (0..n)
            .map(|at| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                match at >> 17 & 3 {
                    0 => b"event "[at % 6] + (state >> 31) as u8,
                    1 => 7,
                    _ => (state >> 24) as u8,
                }
            })
            .collect()
    }

    #[test]
    fn whole_files_unpack_through_buffers_of_any_length() {
        for (plain_len, n) in [(0, 9), (1, 1), (300, 7), (70_000, 4096), (700_000, 1 << 20), (700_000, 65_521)] {
            let plain = plain(plain_len);
            let skippable = [0x53, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 1, 2];
            let bytes = [&frame(&plain, true)[..], &skippable, &frame(&plain, false)].concat();
            for (unpacked, error) in by_both(&bytes, n) {
                assert_eq!(error, None);
                assert!(unpacked == [&plain[..], &plain].concat(), "{plain_len} bytes through {n}");
            }
        }
    }

    #[test]
    fn all_bytes_of_an_uncompressed_block_that_is_cut_are_returned() {
        let mut bytes = vec![0x28, 0xB5, 0x2F, 0xFD, 0, 0x58];
        bytes.extend((100_u32 << 3).to_le_bytes()[..3].iter().chain(b"fourteen bytes"));
        for n in [1, 5, 4096] {
            let [(unpacked, error), _] = by_both(&bytes, n);
            assert_eq!(unpacked, b"fourteen bytes");
            assert!(error.unwrap().ends_with("expected more of the zstd block at 0x6"));
        }
    }

    #[test]
    fn files_that_are_cut_short_give_the_same_bytes_and_messages() {
        let frames = [frame(&plain(400), true), frame(&plain(131_072 + 400), false)].concat();
        let frames = &frames[..];
        for n in 0..frames.len() {
            let [library, in_rust] = by_both(&frames[..n], 4096);
            assert!(library == in_rust, "{n} bytes: {:?}, {:?}", library.1, in_rust.1);
        }
    }

    #[test]
    fn the_library_finds_all_damage_that_the_decoder_in_rust_finds() {
        let frames = [frame(&plain(400), true), frame(&plain(131_072 + 400), false)].concat();
        for at in (0..300).chain(frames.len() - 300..frames.len()) {
            for bit in 0..8 {
                let mut bytes = frames.clone();
                bytes[at] ^= 1 << bit;
                let [(_, library), (_, in_rust)] = by_both(&bytes, 4096);
                assert!(library.is_some() || in_rust.is_none(), "byte {at}, bit {bit}: {in_rust:?}");
            }
        }
    }
}

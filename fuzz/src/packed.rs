//! Compressed input.

use std::io::{Cursor, Read};
use tfbc::Compression;
use tfbc::testing::input::Unpacker;
use tfbc::testing::unix_compress;

/// Maximum number of unpacked bytes to examine.
const MOST: usize = 4 << 20;

/// Unpacks data by its magic number. Output and end notice must not depend on read sizes, and `.Z` data must survive a
/// round trip.
pub fn packed(data: &[u8]) {
    match Compression::of(data) {
        Some(compression) => {
            let large = unpack(compression, data, &[64 << 10]);
            let small = unpack(compression, data, &[1, 977, 13, 4096, 70_000]);
            assert_eq!(large, small, "reads of any size give the same");
        }
        None => {
            let width = 9 + u32::from(data.first().copied().unwrap_or(7) % 8);
            let packed = unix_compress::compress_to(data, width);
            assert_eq!(unpack(Compression::Compress, &packed, &[4096]), (data.to_vec(), None), "{width} bits");
        }
    }
}

/// First unpacked bytes, and the reason for an early end.
fn unpack(compression: Compression, packed: &[u8], sizes: &[usize]) -> (Vec<u8>, Option<String>) {
    let n_packed = packed.len() as u64;
    let mut unpacker = Unpacker::new(compression, Cursor::new(packed.to_vec()), Some(n_packed));
    let (mut bytes, mut piece) = (Vec::new(), vec![0; 70_000]);
    for size in sizes.iter().cycle() {
        let most = (*size).min(MOST - bytes.len());
        let n = unpacker.read(&mut piece[..most]).expect("bytes in memory can be read");
        assert!(n <= most, "no more than asked for");
        assert!(unpacker.packed_offset() <= n_packed, "no more is read than there is");
        bytes.extend_from_slice(&piece[..n]);
        if n == 0 {
            break;
        }
    }
    // A fault after the examined bytes may or may not be noticed.
    let fault = unpacker.fault().filter(|_| bytes.len() < MOST).map(str::to_owned);
    (bytes, fault)
}

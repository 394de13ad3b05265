//! A blob is refused if its header or section table is wrong, with the position of the error.

use tfbc_vm::{BlobBuilder, BlobError, Instr, Op, Program};

/// Length of header and section table.
const HEAD: usize = 32 + 9 * 16;

/// Opens a blob after overwriting some bytes, with a correct checksum.
fn open_with_bytes(at: usize, bytes: &[u8]) -> Option<BlobError> {
    let mut blob = super::blob(&[Instr::new(Op::End)]);
    blob[at..at + bytes.len()].copy_from_slice(bytes);
    tfbc_vm::write_checksum(&mut blob);
    Program::open(&blob).err()
}

#[test]
fn an_empty_blob_is_a_header_and_opens() {
    let blob = BlobBuilder::new().finish();
    assert_eq!(blob.len(), HEAD);
    assert!(Program::open(&blob).is_ok());
}

#[test]
fn what_is_shorter_than_a_header_is_cut() {
    let blob = BlobBuilder::new().finish();
    for found in [8, 32, 57, HEAD - 1] {
        let expected = BlobError::Length { expected: HEAD as u64, found: found as u64 };
        assert_eq!(Program::open(&blob[..found]).err(), Some(expected));
    }
    assert_eq!(Program::open(&blob[..7]).err(), Some(BlobError::Label));
}

#[test]
fn each_field_of_the_header_counts() {
    let len = super::blob(&[Instr::new(Op::End)]).len() as u64;
    assert_eq!(open_with_bytes(0, b"\x88"), Some(BlobError::Label));
    assert_eq!(open_with_bytes(8, &[3, 0]), Some(BlobError::Version { found: 3 }));
    assert_eq!(open_with_bytes(8, &[4, 1]), Some(BlobError::Version { found: 0x104 }));
    assert_eq!(open_with_bytes(10, &[0x12, 0x34]), Some(BlobError::ByteOrder));
    assert_eq!(open_with_bytes(12, &[8]), Some(BlobError::Section { kind: 0, offset: 12 }));
    assert_eq!(
        open_with_bytes(16, &(len + 1).to_le_bytes()),
        Some(BlobError::Length { expected: len + 1, found: len })
    );
    let long = len | 1 << 32;
    assert_eq!(open_with_bytes(16, &long.to_le_bytes()), Some(BlobError::Length { expected: long, found: len }));
}

#[test]
fn sections_are_in_order_and_do_not_overlap() {
    let blob = super::blob(&[Instr::new(Op::End)]);
    let field = |section: u32, field: usize| 32 + (section as usize - 1) * 16 + field * 4;
    let number = |at: usize| u32::from_le_bytes(*blob[at..].first_chunk().unwrap());
    for kind in 1..=9 {
        let refused = Some(BlobError::Section { kind, offset: field(kind, 0) as u32 });
        let (start, len) = (number(field(kind, 1)), number(field(kind, 2)));
        assert_eq!(open_with_bytes(field(kind, 0), &(kind % 9 + 1).to_le_bytes()), refused, "another kind");
        assert_eq!(open_with_bytes(field(kind, 1), &(start - 8).to_le_bytes()), refused, "it begins in the one before");
        assert_eq!(
            open_with_bytes(field(kind, 1), &(start + 4).to_le_bytes()),
            refused,
            "it does not begin on a multiple of 8"
        );
        assert_eq!(open_with_bytes(field(kind, 2), &u32::MAX.to_le_bytes()), refused, "it ends after the file");
        if ![6, 7, 9].contains(&kind) && len > 0 {
            assert_eq!(open_with_bytes(field(kind, 2), &(len - 1).to_le_bytes()), refused, "it ends within a row");
        }
    }
}

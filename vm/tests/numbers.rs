//! Numbers print like `std::fmt`: all 16-bit values, edge cases of the others, and a spread of them.

use tfbc_vm::num;

/// Output written at an offset into a buffer that is not empty.
fn text(put: impl FnOnce(&mut [u8], usize) -> usize) -> String {
    let mut buf = [b'#'; 128];
    let end = put(&mut buf, 3);
    assert_eq!(&buf[..3], b"###");
    String::from_utf8(buf[3..end].to_vec()).unwrap()
}

/// Powers of two and ten with their neighbours, their negatives, and numbers of every length.
fn numbers() -> impl Iterator<Item = u64> {
    let powers = (0..64).map(|k| 1u64 << k).chain((0..20).map(|k| 10u64.pow(k)));
    let near = powers.flat_map(|n| [n - 1, n, n + 1]).flat_map(|n| [n, n.wrapping_neg(), !n]);
    let spread = (0..100_000u64).map(|k| k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (k % 64));
    near.chain(spread).chain([u64::MAX, i64::MAX as u64, i64::MIN as u64])
}

fn all() -> impl Iterator<Item = u64> {
    (0..=u64::from(u16::MAX)).chain(numbers())
}

#[test]
fn decimals() {
    for n in all() {
        assert_eq!(text(|buf, at| num::dec(buf, at, n)), format!("{n}"));
        assert_eq!(text(|buf, at| num::int(buf, at, n)), format!("{}", n as i64));
    }
}

#[test]
fn decimals_with_leading_zeros() {
    for n in all() {
        assert_eq!(text(|buf, at| num::dec_padded::<3>(buf, at, n % 1000)), format!("{:03}", n % 1000));
        let short = n % 1_000_000_000;
        assert_eq!(text(|buf, at| num::dec_padded::<9>(buf, at, short)), format!("{short:09}"));
        assert_eq!(text(|buf, at| num::dec_padded::<20>(buf, at, n)), format!("{n:020}"));
    }
}

#[test]
fn decimals_of_every_length_in_a_row() {
    // Every number overwrites the previous one in the buffer.
    let mut buf = [0; 4096];
    let numbers: Vec<u64> = (0..20).map(|k| 10u64.pow(k)).chain((0..20).rev().map(|k| 10u64.pow(k) - 1)).collect();
    let end = numbers.iter().fold(0, |at, &n| num::dec(&mut buf, at, n));
    let plain: String = numbers.iter().map(|n| n.to_string()).collect();
    assert_eq!(String::from_utf8_lossy(&buf[..end]), plain);
}

#[test]
fn hex_of_every_width() {
    for n in all() {
        for digits in 1..=16 {
            let low = n & (u64::MAX >> (64 - 4 * digits));
            assert_eq!(text(|buf, at| num::hex(buf, at, n, digits)), format!("{low:0digits$X}"));
            assert_eq!(text(|buf, at| num::hex_low(buf, at, n, digits)), format!("{low:0digits$x}"));
        }
    }
    for n in numbers() {
        for digits in 17..=32 {
            assert_eq!(text(|buf, at| num::hex(buf, at, n, digits)), format!("{n:0digits$X}"));
        }
    }
}

#[test]
fn hex_as_short_as_it_goes() {
    for n in all() {
        assert_eq!(text(|buf, at| num::hex_min(buf, at, n)), format!("{n:x}"));
        let digits = 4.max((64 - n.leading_zeros() as usize).div_ceil(4).next_power_of_two());
        assert_eq!(text(|buf, at| num::hex_fit(buf, at, n)), format!("{n:0digits$X}"));
    }
}

#[test]
fn octal_and_binary() {
    for n in all() {
        assert_eq!(text(|buf, at| num::oct(buf, at, n)), format!("{n:o}"));
        for count in [1, 2, 7, 8, 9, 16, 31, 32, 33, 63, 64] {
            let low = n & (u64::MAX >> (64 - count));
            assert_eq!(text(|buf, at| num::bin(buf, at, n, count)), format!("{low:0count$b}"));
        }
    }
}

#[test]
fn a_buffer_that_is_too_short_loses_the_text() {
    for len in 0..40 {
        for n in [0, 7, 1000, 123_456_789, u64::MAX] {
            let mut buf = vec![b'#'; len];
            num::dec(&mut buf, 3, n);
            num::int(&mut buf, 3, n);
            num::dec_padded::<20>(&mut buf, 3, n);
            num::hex(&mut buf, 3, n, 16);
            num::hex_low(&mut buf, 3, n, 32);
            num::hex_min(&mut buf, 3, n);
            num::hex_fit(&mut buf, 3, n);
            num::oct(&mut buf, 3, n);
            num::bin(&mut buf, 3, n, 64);
            assert!(buf.iter().take(3).all(|byte| *byte == b'#'));
        }
    }
}

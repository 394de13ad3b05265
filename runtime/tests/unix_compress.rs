//! The `.Z` codec compared with the installed tools for it.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use tfbc::testing::unix_compress::{Reader, compress};

/// Pseudo-random bytes with `n_values` different values.
fn noise(len: usize, n_values: u64, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % n_values) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

/// Inputs that end in every possible way and use every code width. The last ones need CLEAR codes.
fn samples() -> Vec<Vec<u8>> {
    let mut samples: Vec<_> = (0..20).chain([300, 511, 512, 513, 4096]).map(|len| noise(len, 256, 1)).collect();
    samples.extend((700..800).step_by(7).map(|len| noise(len, 256, 2)));
    samples.extend([2, 7, 256].map(|n_values| noise(200_000, n_values, 3)));
    samples.push([noise(500_000, 5, 4), noise(300_000, 256, 5), vec![b'-'; 1_000_000], noise(300_000, 40, 6)].concat());
    samples
}

/// Output of a tool for some input; `None` if it is not installed or fails.
fn run(tool: &str, args: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let mut command = Command::new(tool);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    output.status.success().then_some(output.stdout)
}

#[test]
fn the_systems_tools_unpack_our_files() {
    for (tool, args) in [("gzip", "-dc"), ("uncompress.real", "-c"), ("compress", "-dc")] {
        if Command::new(tool).arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
            continue;
        }
        for sample in samples() {
            let unpacked = run(tool, &[args], &compress(&sample));
            assert!(unpacked.is_some_and(|unpacked| unpacked == sample), "{tool}, {} bytes", sample.len());
        }
    }
}

#[test]
fn what_the_systems_tool_packs_is_unpacked() {
    // Common tools cannot read their own output with codes of 9 bits.
    for width in 10..=16 {
        for sample in samples() {
            // Exit status 2 means that the output is not smaller than the input; it is complete anyway.
            let Some(packed) = run("sh", &["-c", &format!("compress -f -b {width} -c || [ $? = 2 ]")], &sample) else {
                return;
            };
            let mut unpacked = Vec::new();
            Reader::new(&packed[..]).read_to_end(&mut unpacked).unwrap();
            assert!(unpacked == sample, "{width} bits, {} bytes", sample.len());
        }
    }
}

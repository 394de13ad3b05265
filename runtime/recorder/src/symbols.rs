//! Functions of a traced program and their addresses (`trace -n`).

use object::read::{ReadCache, ReadRef};
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use std::fs::{self, File};

/// Maximum number of functions of one program in a log.
const MAX_SYMBOLS: usize = 1 << 14;

/// Addresses and names of the functions of a process's program, in the order of its symbol table. Empty if the process
/// has ended, or if its program has no symbols.
pub(crate) fn of_process(pid: u32) -> Vec<(u64, Vec<u8>)> {
    let exe = format!("/proc/{pid}/exe");
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let start = fs::read_link(&exe).ok().and_then(|path| start_of(&maps, path.to_str()?));
    match (start, File::open(&exe)) {
        (Some(start), Ok(file)) => of_program(&ReadCache::new(file), start),
        _ => Vec::new(),
    }
}

/// Address at which the start of a file is mapped. A line has the form `start-end rights offset device inode path`.
fn start_of(maps: &str, path: &str) -> Option<u64> {
    maps.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (range, offset) = (words.next()?, words.nth(1)?);
        let is_start = offset.bytes().all(|digit| digit == b'0') && line.ends_with(path);
        u64::from_str_radix(range.split('-').next()?, 16).ok().filter(|_| is_start)
    })
}

fn of_program<'d>(data: impl ReadRef<'d>, start: u64) -> Vec<(u64, Vec<u8>)> {
    let Ok(program) = object::File::parse(data) else { return Vec::new() };
    // Position-independent programs begin at 0.
    let lowest = program.segments().map(|segment| segment.address()).min().unwrap_or(0);
    let moved = start.wrapping_sub(lowest & !0xFFF);
    let function = |symbol: object::Symbol<'d, '_, _>| {
        let is_function = symbol.kind() == SymbolKind::Text && symbol.is_definition() && symbol.address() != 0;
        let name = symbol.name_bytes().ok().filter(|name| is_function && !name.is_empty())?;
        Some((symbol.address().wrapping_add(moved), name.to_vec()))
    };
    program.symbols().filter_map(function).take(MAX_SYMBOLS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whose_name_is_looked_for() {}

    #[test]
    fn functions_are_expanded_at_their_calls() {
        let here = whose_name_is_looked_for as fn() as usize as u64;
        let symbols = of_process(std::process::id());
        let name = |name: &[u8]| String::from_utf8_lossy(name).contains("whose_name_is_looked_for");
        assert!(symbols.iter().any(|(address, found)| *address == here && name(found)), "{} symbols", symbols.len());
        assert!(of_process(u32::MAX).is_empty());
    }

    #[test]
    fn a_program_begins_where_its_first_byte_is_mapped() {
        let maps = "55d0000-55d1000 r--p 00000000 08:01 7  /bin/other\n7f00aa000-7f00bb000 r-xp 00001000 08:01 9 /bin/a b\n\
                    7f00a9000-7f00aa000 r--p 00000000 08:01 9 /bin/a b\n";
        assert_eq!(start_of(maps, "/bin/a b"), Some(0x7_F00A_9000));
        assert_eq!(start_of(maps, "/bin/none"), None);
        assert_eq!(start_of("x\n- - -\n", "x"), None);
    }
}

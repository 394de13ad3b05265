//! Prints the system page for `-v`.

use crate::reader::kev::{PageSection, Syspage};

/// Bytes of a processor's entry.
const CPU_BYTES: usize = 32;
/// Bit of a typed string's type that does not change its name.
const TYPE_FLAG: u32 = 0x100;
/// Limit on the width of two typed strings in one line.
const MAX_COLUMNS: usize = 75;

/// Appends the system page. Entries that point outside of it are left out.
pub(super) fn write(page: &Syspage, out: &mut Vec<u8>) {
    let writer = PageWriter { page, out };
    if page.is_versioned() { writer.versioned() } else { writer.unversioned() }
}

struct PageWriter<'p> {
    page: &'p Syspage,
    out: &'p mut Vec<u8>,
}

/// A text and a number if the page has it.
fn named(name: &str, value: Option<impl ToString>) -> Option<String> {
    value.map(|value| format!("{name}{}", value.to_string()))
}

impl PageWriter<'_> {
    fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Appends a line with the parts that exist, each after a blank.
    fn line(&mut self, parts: &[Option<String>]) {
        if parts.iter().all(Option::is_none) {
            return;
        }
        for part in parts.iter().flatten() {
            self.push(" ");
            self.push(part);
        }
        self.push("\n");
    }

    fn sizes(&self) -> [Option<String>; 2] {
        [named("size=", self.page.size()), named("total_size=", self.page.total_size())]
    }

    /// Offset and size of a part, by the offset of its entry.
    fn entry(&self, at: usize) -> Option<(usize, usize)> {
        Some((self.page.u16(at)?.into(), self.page.u16(at + 2)?.into()))
    }

    fn shown_entry(&self, name: &str, at: usize) -> Option<String> {
        self.entry(at).map(|(start, size)| format!("{name}:off/size={start},{size}"))
    }

    /// Offset of a part, if it exists and ends inside of the page.
    fn part(&self, section: PageSection) -> Option<usize> {
        let (start, size) = self.entry(section as usize).filter(|entry| *entry != (0, 0))?;
        (start + size <= self.page.total_size()?.into()).then_some(start)
    }

    fn versioned(mut self) {
        let [size, total] = self.sizes();
        self.line(&[size, total, self.shown_entry("system_private", 8)]);
        self.line(&[self.shown_entry("hwinfo", 16), self.shown_entry("qtime", 20), self.shown_entry("callout", 24)]);
        self.line(&[self.shown_entry("typed_strings", 28), self.shown_entry("strings", 32)]);
        self.processors();
    }

    fn unversioned(mut self) {
        let [size, total] = self.sizes();
        let entry = |name: &str, section: PageSection| self.shown_entry(name, section as usize);
        let lines = [
            [size, total, entry("system_private", PageSection::SystemPrivate)],
            [
                entry("asinfo", PageSection::Asinfo),
                entry("meminfo", PageSection::Meminfo),
                entry("hwinfo", PageSection::Hwinfo),
            ],
            [
                entry("cpuinfo", PageSection::Cpuinfo),
                entry("cacheattr", PageSection::Cacheattr),
                entry("qtime", PageSection::Qtime),
            ],
            [
                entry("callout", PageSection::Callout),
                entry("callin", PageSection::Callin),
                entry("intrinfo", PageSection::Intrinfo),
            ],
            [entry("typed_strings", PageSection::TypedStrings), entry("strings", PageSection::Strings), None],
        ];
        lines.iter().for_each(|line| self.line(line));
        self.processors();
        self.cpus();
        self.qtime();
        self.typed_strings();
    }

    fn processors(&mut self) {
        let family = |machine| match machine {
            0 => String::from("X86"),
            1 => String::from("PPC"),
            2 => String::from("MIPS"),
            3 => String::from("unknown(3)"),
            4 => String::from("ARM"),
            5 => String::from("SH"),
            other => format!("Unknown({other})"),
        };
        self.line(&[named("processor=", self.page.machine().map(family)), named("num_cpus=", self.page.n_cpus())]);
    }

    fn cpus(&mut self) {
        let Some(start) = self.part(PageSection::Cpuinfo) else { return };
        // Without strings, processors have no names.
        let strings = match self.entry(PageSection::Strings as usize) {
            Some((0, 0)) => None,
            _ => match self.part(PageSection::Strings) {
                Some(strings) => Some(strings),
                None => return,
            },
        };
        let n_cpus = self.page.n_cpus().unwrap_or_default();
        for number in 0..usize::from(n_cpus) {
            let at = start + number * CPU_BYTES;
            let (page, signed) = (self.page, |word: u32| word as i32);
            let Some(cpu) = page.u32(at).map(signed) else { return };
            self.push(&format!("  cpu {} cpu={cpu}", number + 1));
            if let Some(name) = page.u16(at + 28) {
                self.push(" name=");
                let name = strings.map(|strings| page.c_string(strings + usize::from(name)));
                self.out.extend_from_slice(name.unwrap_or_default());
            }
            self.push(&named(" speed=", page.u32(at + 4).map(signed)).unwrap_or_default());
            self.push("\n");
            if let Some(flags) = page.u32(at + 8) {
                self.flags(flags);
            }
        }
    }

    /// Appends the line of a processor's flags.
    fn flags(&mut self, flags: u32) {
        const X86: &[&str] =
            &["CPUID", "RDTSC", "INVLPG", "WP", "BSWAP", "MMX", "CMOV", "PSE", "PGE", "MTRR", "SEP", "SIMD", "FXSR"];
        const PPC: &[&str] = &["EAR", "HW_HT", "HW_POW", "FPREGS", "SW_HT", "ALTIVEC"];
        // The format `%#08x` of C.
        self.push(&if flags == 0 { String::from("  flags=00000000") } else { format!("  flags={flags:#08x}") });
        let own = match self.page.machine() {
            Some(0) => X86,
            Some(1) => PPC,
            _ => &[],
        };
        let names = [(31, "FPU"), (30, "MMU")].into_iter().chain((0..).zip(own.iter().copied()));
        for (_, name) in names.filter(|(bit, _)| flags >> bit & 1 != 0) {
            self.push(" ");
            self.push(name);
        }
        self.push("\n");
    }

    fn qtime(&mut self) {
        let Some(at) = self.part(PageSection::Qtime) else { return };
        let page = self.page;
        let signed = |at| page.u32(at).map(|word| word as i32);
        self.line(&[
            named("cyc/sec=", page.u64(at)),
            named("tod_adj=", page.u64(at + 8)),
            named("nsec=", page.u64(at + 16)),
            named(" inc=", page.u32(at + 24)),
        ]);
        self.line(&[
            named("boot=", page.u32(at + 28)),
            named("epoch=", page.u32(at + 56)),
            named("intr=", signed(at + 52)),
        ]);
        self.line(&[
            named("rate=", page.u32(at + 40)),
            named("scale=", signed(at + 44)),
            named("load=", page.u32(at + 48)),
        ]);
    }

    fn typed_strings(&mut self) {
        let Some(mut at) = self.part(PageSection::TypedStrings) else { return };
        let mut last = None;
        while let Some(kind) = self.page.u32(at).filter(|kind| *kind != 0) {
            let text = self.page.c_string(at + 4);
            let name = string_name(kind & !TYPE_FLAG);
            let columns = name.len() + text.len() + 4;
            if last.is_some_and(|last| last + columns > MAX_COLUMNS) {
                self.push("\n");
            }
            self.push(&format!("   {name}=\""));
            self.out.extend_from_slice(text);
            self.push("\"");
            last = Some(columns);
            at += 4 + (text.len() + 1).next_multiple_of(4);
        }
        if last.is_some() {
            self.push("\n");
        }
    }
}

/// Name of a typed string.
fn string_name(kind: u32) -> String {
    let name = match kind {
        2 => "HOSTNAME",
        3 => "RELEASE",
        4 => "VERSION",
        5 => "MACHINE",
        6 => "ARCHITECTURE",
        7 => "HW_SERIAL",
        8 => "HW_PROVIDER",
        9 => "SRPC_DOMAIN",
        11 => "SYSNAME",
        200 => "LIBPATH",
        201 => "DOMAIN",
        202 => "RESOLVE",
        203 => "TIMEZONE",
        _ => return format!("type({kind})"),
    };
    name.into()
}

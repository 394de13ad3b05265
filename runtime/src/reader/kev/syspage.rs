//! System page: the kernel's description of the machine.

/// Bit of [`Qtime::flags`]: the clock is the same on all CPUs.
pub const QTIME_ONE_CLOCK: u32 = 8;

/// Bit of [`Syspage::machine`] of a versioned page, which QNX 8.0 writes.
const VERSIONED: u16 = 0x1000;
/// Major version of versioned pages that is known.
const KNOWN_MAJOR: u16 = 2;
const HEAD_BYTES: usize = 64;
/// Size of a versioned page's head: processor-specific entries, then the arrays.
const VERSIONED_HEAD_BYTES: usize = 40;
const CPU_BYTES: usize = 32;

/// System page of a log, in the layout of its target.
///
/// Fields outside of the page are `None`, because a cut or forged page is no reason to refuse the events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Syspage {
    bytes: Vec<u8>,
    big_endian: bool,
}

/// Part of the system page. The value is the offset of its entry in the page's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the system page")]
pub enum PageSection {
    SystemPrivate = 8,
    Asinfo = 12,
    Meminfo = 16,
    Hwinfo = 20,
    Cpuinfo = 24,
    Cacheattr = 28,
    Qtime = 32,
    Callout = 36,
    Callin = 40,
    TypedStrings = 44,
    Strings = 48,
    Intrinfo = 52,
    Smp = 56,
    Pminfo = 60,
}

/// Processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageCpu<'s> {
    /// The processor's type word.
    pub kind: u32,
    /// Speed in MHz.
    pub speed_mhz: u32,
    /// Flags of the processor.
    pub flags: u32,
    /// Its name, without the NUL.
    pub name: &'s [u8],
}

/// Clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Qtime {
    /// Cycles of `ClockCycles()` per second.
    pub cycles_per_sec: u64,
    /// Seconds since 1970 at the boot.
    pub boot_time: u32,
    /// Flags: 1 timer on CPU 0, 2 check stable, 4 tickless, 8 one clock for all CPUs.
    pub flags: u32,
}

impl PageSection {
    /// Entry of the array of processors in a versioned page: offset, size, size of an element.
    const CPUINFO_ENTRY: usize = 206;

    /// Offset of the part's entry in a versioned page.
    const fn versioned_entry(self) -> Option<usize> {
        Some(match self {
            PageSection::SystemPrivate => 8,
            PageSection::Hwinfo => 16,
            PageSection::Qtime => 20,
            PageSection::Callout => 24,
            PageSection::TypedStrings => 28,
            PageSection::Strings => 32,
            PageSection::Smp => 36,
            PageSection::Asinfo => 200,
            PageSection::Cpuinfo => Self::CPUINFO_ENTRY,
            PageSection::Cacheattr => 212,
            PageSection::Intrinfo => 218,
            PageSection::Meminfo | PageSection::Callin | PageSection::Pminfo => return None,
        })
    }
}

impl Syspage {
    /// System page in the given byte order.
    pub fn new(bytes: Vec<u8>, big_endian: bool) -> Self {
        Self { bytes, big_endian }
    }

    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Size of the fixed part in bytes.
    pub fn size(&self) -> Option<u16> {
        self.u16(0)
    }

    /// Size of the page in bytes.
    pub fn total_size(&self) -> Option<u16> {
        self.u16(2)
    }

    /// The processor family: 0 X86, 1 PPC, 2 MIPS, 4 ARM, 5 SH; 256 more for 64 bits, 4096 more for a versioned page.
    pub fn machine(&self) -> Option<u16> {
        self.u16(4)
    }

    /// Number of processors.
    pub fn n_cpus(&self) -> Option<u16> {
        self.u16(6)
    }

    /// True for a versioned page of QNX 8.0.
    pub fn is_versioned(&self) -> bool {
        self.machine().is_some_and(|machine| machine & VERSIONED != 0)
    }

    /// Major and minor version of a versioned page whose layout is not known.
    pub(super) fn unknown_version(&self) -> Option<(u16, u16)> {
        let version = (self.u16(12).unwrap_or_default(), self.u16(14).unwrap_or_default());
        (self.is_versioned() && version.0 != KNOWN_MAJOR).then_some(version)
    }

    /// Bytes of a part, if the page has its entry and the part is inside the page.
    pub fn section(&self, section: PageSection) -> Option<&[u8]> {
        let (entry, head) = match self.is_versioned() {
            false => (section as usize, HEAD_BYTES),
            true if self.unknown_version().is_some() => return None,
            true => (section.versioned_entry()?, VERSIONED_HEAD_BYTES),
        };
        let (start, size) = (usize::from(self.u16(entry)?), usize::from(self.u16(entry + 2)?));
        if start < head {
            return None;
        }
        self.bytes.get(start..start + size)
    }

    /// Properties of the clock.
    pub fn qtime(&self) -> Option<Qtime> {
        let qtime = self.section(PageSection::Qtime)?;
        let (boot_time, flags) = if self.is_versioned() { (20, 48) } else { (28, 60) };
        Some(Qtime {
            cycles_per_sec: self.u64_of(qtime, 0)?,
            boot_time: self.u32_of(qtime, boot_time)?,
            flags: self.u32_of(qtime, flags)?,
        })
    }

    /// Processors whose entries are inside the page.
    pub fn cpus(&self) -> impl Iterator<Item = PageCpu<'_>> {
        let entries = self.section(PageSection::Cpuinfo).unwrap_or_default();
        let versioned_size =
            || self.u16(PageSection::CPUINFO_ENTRY + 4).map(usize::from).filter(|size| *size >= CPU_BYTES);
        let size = if self.is_versioned() { versioned_size().unwrap_or(CPU_BYTES) } else { CPU_BYTES };
        entries.chunks_exact(size).take(usize::from(self.n_cpus().unwrap_or(0))).filter_map(|entry| {
            Some(PageCpu {
                kind: self.u32_of(entry, 0)?,
                speed_mhz: self.u32_of(entry, 4)?,
                flags: self.u32_of(entry, 8)?,
                name: self.string(u16::from_ne_bytes(self.ordered(entry, 28)?)),
            })
        })
    }

    /// True if the sizes at the page's start make sense in this byte order.
    pub(super) fn is_plausible(&self) -> bool {
        self.own_len().is_some()
    }

    /// Size of the page according to its first fields; `None` if they make no sense.
    pub(super) fn own_len(&self) -> Option<usize> {
        let (size, total) = (self.size()?, self.total_size()?);
        (0 < size && size <= total).then_some(total.into()).filter(|total| *total <= self.bytes.len())
    }

    fn string(&self, at: u16) -> &[u8] {
        let strings = self.section(PageSection::Strings).unwrap_or_default();
        let rest = strings.get(usize::from(at)..).unwrap_or_default();
        rest.split(|&byte| byte == 0).next().unwrap_or_default()
    }

    /// Half word at an offset.
    pub(crate) fn u16(&self, at: usize) -> Option<u16> {
        Some(u16::from_ne_bytes(self.ordered(&self.bytes, at)?))
    }

    /// Bytes from an offset to the next NUL or the end of the page.
    pub(crate) fn c_string(&self, at: usize) -> &[u8] {
        let rest = self.bytes.get(at..).unwrap_or_default();
        rest.split(|&byte| byte == 0).next().unwrap_or_default()
    }

    /// A word of the page.
    pub(crate) fn u32(&self, at: usize) -> Option<u32> {
        self.u32_of(&self.bytes, at)
    }

    /// A double word of the page.
    pub(crate) fn u64(&self, at: usize) -> Option<u64> {
        self.u64_of(&self.bytes, at)
    }

    fn u32_of(&self, section: &[u8], at: usize) -> Option<u32> {
        Some(u32::from_ne_bytes(self.ordered(section, at)?))
    }

    fn u64_of(&self, section: &[u8], at: usize) -> Option<u64> {
        Some(u64::from_ne_bytes(self.ordered(section, at)?))
    }

    /// `N` bytes in the host's order.
    fn ordered<const N: usize>(&self, bytes: &[u8], at: usize) -> Option<[u8; N]> {
        let mut found: [u8; N] = bytes.get(at..)?.first_chunk().copied()?;
        if self.big_endian != cfg!(target_endian = "big") {
            found.reverse();
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of 144 bytes with two processors and their names.
    fn page(big: bool) -> Vec<u8> {
        let mut page = vec![0; 144];
        let half = |n: u16| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let word = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let head = [(0, 64), (2, 144), (4, 0x104), (6, 2), (24, 64), (26, 64), (48, 128), (50, 16)];
        for (at, n) in head.into_iter().chain([(92, 0), (124, 6)]) {
            page[at..at + 2].copy_from_slice(&half(n));
        }
        for (at, n) in [(64, 7), (68, 1000), (72, 5), (96, 8), (100, 2000), (104, 6)] {
            page[at..at + 4].copy_from_slice(&word(n));
        }
        page[128..].copy_from_slice(b"first\0second\0\0\0\0");
        page
    }

    /// The page with one half word replaced.
    fn with(mut page: Vec<u8>, at: usize, n: u16) -> Syspage {
        page[at..at + 2].copy_from_slice(&n.to_le_bytes());
        Syspage::new(page, false)
    }

    #[test]
    fn processors_are_listed_with_their_names() {
        for big in [false, true] {
            let page = Syspage::new(page(big), big);
            assert_eq!((page.size(), page.total_size(), page.n_cpus()), (Some(64), Some(144), Some(2)));
            assert_eq!(page.machine(), Some(0x104));
            let cpu = |kind, speed_mhz, flags, name| PageCpu { kind, speed_mhz, flags, name };
            let expected = [cpu(7, 1000, 5, &b"first"[..]), cpu(8, 2000, 6, b"second")];
            assert_eq!(page.cpus().collect::<Vec<_>>(), expected);
        }
        assert_eq!(with(page(false), 6, 1).cpus().count(), 1);
        assert_eq!(with(page(false), 26, 63).cpus().count(), 1);
    }

    #[test]
    fn sections_are_after_the_head_inside_the_page() {
        let names = |page: Syspage| page.section(PageSection::Strings).map(<[u8]>::len);
        assert_eq!(names(Syspage::new(page(false), false)), Some(16));
        assert_eq!(names(with(page(false), 48, 64)), Some(16));
        assert_eq!(names(with(page(false), 48, 63)), None);
        assert_eq!(names(with(page(false), 48, 129)), None);
        // A versioned page of an unknown version.
        assert_eq!(names(with(page(false), 4, 0x1104)), None);
    }

    #[test]
    fn page_sizes_match_each_other_and_the_image() {
        let is_plausible = |size, total| with(with(page(false), 0, size).bytes().to_vec(), 2, total).is_plausible();
        assert!(is_plausible(64, 144) && is_plausible(64, 64) && is_plausible(1, 143));
        assert!(!is_plausible(0, 144) && !is_plausible(65, 64) && !is_plausible(64, 145));
        assert!(!Syspage::new(vec![1, 0, 1], false).is_plausible());
    }
}

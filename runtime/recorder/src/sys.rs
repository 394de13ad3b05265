//! Safe wrappers for the recorder's system calls.
//!
//! None of them allocates, so that hooks in signal handlers can call them.

#![expect(unsafe_code, reason = "the C library's functions are foreign ones")]

use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Error number of the last failed call.
pub fn errno() -> i32 {
    // SAFETY: the C library returns a valid pointer to the thread's own `errno`.
    unsafe { *libc::__errno_location() }
}

/// Sets the thread's `errno`.
pub fn set_errno(value: i32) {
    // SAFETY: the C library returns a valid pointer to the thread's own `errno`.
    unsafe { *libc::__errno_location() = value }
}

/// Process id.
pub fn pid() -> u32 {
    std::process::id()
}

/// Process id of the parent.
pub fn parent() -> u32 {
    std::os::unix::process::parent_id()
}

/// Id of the calling thread.
pub fn tid() -> u32 {
    // SAFETY: takes no arguments and cannot fail.
    unsafe { libc::gettid() as u32 }
}

/// Effective user id.
pub fn user() -> u32 {
    // SAFETY: takes no arguments and cannot fail.
    unsafe { libc::geteuid() }
}

/// CPU of the calling thread.
pub fn cpu() -> u16 {
    // SAFETY: takes no arguments; returns -1 if the kernel does not know.
    unsafe { libc::sched_getcpu() }.max(0) as u16
}

/// Blocks signals for the calling thread until dropped. Signals that arrive meanwhile are delivered then.
pub struct BlockedSignals(libc::sigset_t);

impl BlockedSignals {
    pub fn new() -> Self {
        // SAFETY: an all-zero set is valid, and both sets are valid for writes.
        unsafe {
            let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before);
            Self(before)
        }
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        // SAFETY: the set was returned by the call that blocked the signals.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

/// Reads a clock of the C library, in nanoseconds.
fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// `CLOCK_MONOTONIC` in nanoseconds.
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// True if a thread of a process exists. A process that may not be signalled counts as existing.
pub fn is_alive(pid: u32, tid: u32) -> bool {
    // SAFETY: signal 0 is not sent; the call only checks the target.
    let answer = unsafe { libc::syscall(libc::SYS_tgkill, pid as i32, tid as i32, 0) };
    answer == 0 || errno() != libc::ESRCH
}

/// Sends a signal to a process.
pub fn signal(pid: u32, signal: libc::c_int) -> std::io::Result<()> {
    // SAFETY: takes only numbers.
    let sent = unsafe { libc::kill(pid as libc::pid_t, signal) };
    if sent == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Maps a file of at least `len` bytes for reading and writing, shared with all other mappings of it.
pub fn map_shared(file: BorrowedFd<'_>, len: usize) -> Option<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address chosen by the kernel touches no existing memory.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if base == libc::MAP_FAILED { None } else { NonNull::new(base.cast()) }
}

/// Maps a file over existing memory.
///
/// # Safety
/// `at` is page-aligned and starts `len` bytes, a multiple of the page size, that contain only atomics, for which any
/// value is valid.
pub unsafe fn map_over(at: *mut u8, file: BorrowedFd<'_>, len: usize) -> bool {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_FIXED;
    // SAFETY: as the caller guarantees, the memory may change to any bytes.
    let base = unsafe { libc::mmap(at.cast(), len, protection, flags, file.as_raw_fd(), 0) };
    base != libc::MAP_FAILED
}

/// Kind of preparation for [`make_ready`].
#[derive(Clone, Copy)]
pub enum Ready {
    /// The memory exists and is mapped into this process.
    Mapped = 22,
    /// The memory is allocated and cleared.
    Made = 23,
}

/// Prefaults part of a mapping, so that writes cause no page faults. Does nothing if the kernel does not support it.
pub fn make_ready(at: *mut u8, len: usize, how: Ready) {
    // SAFETY: MADV_POPULATE_READ and MADV_POPULATE_WRITE change no bytes, and fail for unmapped addresses.
    unsafe { libc::madvise(at.cast(), len, how as libc::c_int) };
}

/// Ends a mapping.
///
/// # Safety
/// The mapping came from [`map_shared`] with this length, and nothing refers to it any more.
pub unsafe fn unmap(base: NonNull<u8>, len: usize) {
    // SAFETY: the caller guarantees that this is the whole mapping, and no longer used.
    unsafe { libc::munmap(base.as_ptr().cast(), len) };
}

/// Allocates all memory of a file, so that no later access fails for lack of it.
pub fn reserve(file: BorrowedFd<'_>, len: usize) -> std::io::Result<()> {
    // SAFETY: takes only numbers.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, len as libc::off_t) } {
        0 => Ok(()),
        error => Err(std::io::Error::from_raw_os_error(error)),
    }
}

/// Open file that is closed on drop; opened without allocation.
pub struct Opened(libc::c_int);

impl Opened {
    /// Opens an existing regular file that belongs to the user, for reading and writing.
    pub fn own(path: &CStr) -> Option<(Self, u64)> {
        let flags = libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        // SAFETY: `path` ends with a NUL.
        let fd = unsafe { libc::open(path.as_ptr(), flags) };
        if fd < 0 {
            return None;
        }
        let opened = Opened(fd);
        // SAFETY: an all-zero `stat` is valid.
        let mut about: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: `about` is valid for writes, and `fd` is open.
        if unsafe { libc::fstat(fd, &raw mut about) } != 0 {
            return None;
        }
        let is_own = about.st_uid == user() && about.st_mode & libc::S_IFMT == libc::S_IFREG;
        is_own.then_some((opened, about.st_size as u64))
    }

    /// The file descriptor.
    pub fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: it is open as long as `self` lives.
        unsafe { BorrowedFd::borrow_raw(self.0) }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: the descriptor belongs to this value.
        unsafe { libc::close(self.0) };
    }
}

/// Sleeps until another thread or process calls [`wake`], or for at most `at_most`. Returns at once if `word` differs
/// from `seen`.
pub fn wait(word: &AtomicU32, seen: u32, at_most: Duration) {
    let timeout = libc::timespec { tv_sec: at_most.as_secs() as i64, tv_nsec: i64::from(at_most.subsec_nanos()) };
    // SAFETY: `word` is a valid aligned word and `timeout` is valid for reads; the kernel keeps neither.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, &raw const timeout) };
}

/// Wakes all threads that wait for a word.
pub fn wake(word: &AtomicU32) {
    // SAFETY: `word` is a valid aligned word.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// Reads the target of a link into `path`, and returns its length.
pub fn read_link(link: &CStr, path: &mut [u8]) -> usize {
    // SAFETY: `link` ends with a NUL, and `path` is valid for writes of its length.
    let n = unsafe { libc::readlink(link.as_ptr(), path.as_mut_ptr().cast(), path.len()) };
    usize::try_from(n).unwrap_or(0)
}

/// Registers a function that runs in the child after every `fork`.
pub fn at_fork_in_child(child: extern "C" fn()) {
    // SAFETY: `child` is valid for the whole run of the program.
    unsafe { libc::pthread_atfork(None, None, Some(child)) };
}

/// Result of [`fork`] in each of the two processes.
pub enum ForkSide {
    /// The calling process, with the child's id.
    Parent(u32),
    /// The child.
    Child,
}

/// Creates a child process, which has only the calling thread.
pub fn fork() -> std::io::Result<ForkSide> {
    // SAFETY: the C library's fork keeps its own state, including the allocator, usable in the child.
    match unsafe { libc::fork() } {
        0 => Ok(ForkSide::Child),
        pid if pid > 0 => Ok(ForkSide::Parent(pid as u32)),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Waits for a child to end.
pub fn reap_child(pid: u32) {
    let mut status = 0;
    // SAFETY: `status` is valid for writes.
    while unsafe { libc::waitpid(pid as i32, &raw mut status, 0) } < 0 && errno() == libc::EINTR {}
}

/// Ends the process at once, without running exit handlers.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: does not return.
    unsafe { libc::_exit(status) }
}

/// Detaches the process: no terminal, no signals except those that end it, and no open files except `kept` (renumbered;
/// the new descriptor is returned) and standard output if `keeps_output`.
pub fn stand_alone(kept: BorrowedFd<'_>, keeps_output: bool) -> std::os::fd::OwnedFd {
    use std::os::fd::{FromRawFd, OwnedFd};
    // SAFETY: these calls take numbers, or strings that end with a NUL. The closed descriptors belong to a program that
    // this process no longer runs.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"trace".as_ptr());
        for signal in [libc::SIGHUP, libc::SIGPIPE, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGCHLD] {
            libc::signal(signal, libc::SIG_IGN);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        let kept = libc::fcntl(kept.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3);
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for fd in [0, 1, 2] {
            if null >= 0 && (fd != 1 || !keeps_output) {
                libc::dup2(null, fd);
            }
        }
        libc::dup2(kept, 3);
        libc::fcntl(3, libc::F_SETFD, libc::FD_CLOEXEC);
        libc::syscall(libc::SYS_close_range, 4, u32::MAX, 0);
        OwnedFd::from_raw_fd(3)
    }
}

static ENDING: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

extern "C" fn end(_: libc::c_int) {
    ENDING.store(true, std::sync::atomic::Ordering::Release);
}

/// Makes the signals that ask a process to end set a flag instead.
pub fn note_ending_signals() {
    ENDING.store(false, std::sync::atomic::Ordering::Release);
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler only stores to an atomic. Without SA_RESTART, blocking calls return when the signal
        // arrives.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = end as extern "C" fn(libc::c_int) as usize;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// True if a signal has asked the process to end since [`note_ending_signals`].
pub fn is_ending() -> bool {
    ENDING.load(std::sync::atomic::Ordering::Acquire)
}

//! The system calls of a recorder, as safe functions.
//!
//! None of them allocates, so that all may be called from a hook in a signal handler.

#![expect(unsafe_code, reason = "the C library's functions are foreign ones")]

use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// The number of the error that the last failed call left.
pub fn errno() -> i32 {
    // SAFETY: the C library hands out a valid pointer to the thread's own `errno`.
    unsafe { *libc::__errno_location() }
}

/// Sets the thread's `errno`.
pub fn set_errno(value: i32) {
    // SAFETY: as in `errno`.
    unsafe { *libc::__errno_location() = value }
}

/// The process id.
pub fn pid() -> u32 {
    std::process::id()
}

/// The parent's process id.
pub fn parent() -> u32 {
    std::os::unix::process::parent_id()
}

/// The thread id of the calling thread.
pub fn tid() -> u32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::gettid() as u32 }
}

/// The user whose rights the process has.
pub fn user() -> u32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// The CPU on which the caller runs.
pub fn cpu() -> u16 {
    // SAFETY: takes nothing; -1 where the kernel does not tell.
    unsafe { libc::sched_getcpu() }.max(0) as u16
}

/// Keeps signal handlers off the calling thread until it is dropped. Signals that come meanwhile are handled then.
pub struct BlockedSignals(libc::sigset_t);

impl BlockedSignals {
    pub fn new() -> Self {
        // SAFETY: all bytes 0 are a valid set, and both sets are valid for writing.
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
        // SAFETY: the set is the one that held before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

/// Nanoseconds of a clock of the C library.
fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// `CLOCK_MONOTONIC` in nanoseconds.
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// Whether a thread of a process is there; a process that may not be asked counts as there.
pub fn is_alive(pid: u32, tid: u32) -> bool {
    // SAFETY: signal 0 is not sent, it only asks.
    let answer = unsafe { libc::syscall(libc::SYS_tgkill, pid as i32, tid as i32, 0) };
    answer == 0 || errno() != libc::ESRCH
}

/// Sends a signal to a process.
pub fn signal(pid: u32, signal: libc::c_int) -> std::io::Result<()> {
    // SAFETY: takes numbers alone.
    let sent = unsafe { libc::kill(pid as libc::pid_t, signal) };
    if sent == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Maps a whole file of at least `len` bytes for reading and writing, shared with all that map it.
pub fn map_shared(file: BorrowedFd<'_>, len: usize) -> Option<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at a place of the kernel's choice touches no memory of ours.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if base == libc::MAP_FAILED { None } else { NonNull::new(base.cast()) }
}

/// Maps a file over memory that is there.
///
/// # Safety
/// `at` is the start of `len` bytes, a multiple of the page size at a page's start, that nothing but atomics lives in, for
/// which any value is a valid one.
pub unsafe fn map_over(at: *mut u8, file: BorrowedFd<'_>, len: usize) -> bool {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_FIXED;
    // SAFETY: by the caller's promise the memory may change to any other bytes.
    let base = unsafe { libc::mmap(at.cast(), len, protection, flags, file.as_raw_fd(), 0) };
    base != libc::MAP_FAILED
}

/// How memory is made ready.
#[derive(Clone, Copy)]
pub enum Ready {
    /// It is there already, and takes its place in this process.
    Mapped = 22,
    /// It is made and cleared.
    Made = 23,
}

/// Makes a part of a mapping ready, so that writing to it is not held up page by page. Where the kernel cannot do that,
/// nothing happens.
pub fn make_ready(at: *mut u8, len: usize, how: Ready) {
    // SAFETY: the call (MADV_POPULATE_READ or MADV_POPULATE_WRITE) changes no bytes, and fails for an address that is not
    // mapped.
    unsafe { libc::madvise(at.cast(), len, how as libc::c_int) };
}

/// Ends a mapping.
///
/// # Safety
/// The mapping is one of [`map_shared`] with that length, and nothing refers to it any more.
pub unsafe fn unmap(base: NonNull<u8>, len: usize) {
    // SAFETY: by the caller's promise.
    unsafe { libc::munmap(base.as_ptr().cast(), len) };
}

/// Gives a file its length with all its memory, so that no later access fails for want of it.
pub fn reserve(file: BorrowedFd<'_>, len: usize) -> std::io::Result<()> {
    // SAFETY: takes numbers alone.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, len as libc::off_t) } {
        0 => Ok(()),
        error => Err(std::io::Error::from_raw_os_error(error)),
    }
}

/// An open file that is closed at the end; opened without allocation.
pub struct Opened(libc::c_int);

impl Opened {
    /// Opens an existing regular file of the user's own for reading and writing.
    pub fn own(path: &CStr) -> Option<(Self, u64)> {
        let flags = libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        // SAFETY: `path` ends with a NUL.
        let fd = unsafe { libc::open(path.as_ptr(), flags) };
        if fd < 0 {
            return None;
        }
        let opened = Opened(fd);
        // SAFETY: all bytes 0 are a valid `stat`.
        let mut about: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: `about` is valid for writing, and `fd` is open.
        if unsafe { libc::fstat(fd, &raw mut about) } != 0 {
            return None;
        }
        let is_own = about.st_uid == user() && about.st_mode & libc::S_IFMT == libc::S_IFREG;
        is_own.then_some((opened, about.st_size as u64))
    }

    /// The file.
    pub fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: it is open as long as `self` lives.
        unsafe { BorrowedFd::borrow_raw(self.0) }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this value's own.
        unsafe { libc::close(self.0) };
    }
}

/// Sleeps until another thread or process calls [`wake`], at once where `word` is not `seen`, at most as long as told.
pub fn wait(word: &AtomicU32, seen: u32, at_most: Duration) {
    let timeout = libc::timespec { tv_sec: at_most.as_secs() as i64, tv_nsec: i64::from(at_most.subsec_nanos()) };
    // SAFETY: `word` is a valid aligned word, `timeout` is valid for reading; the kernel keeps neither.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, &raw const timeout) };
}

/// Wakes all that wait for a word.
pub fn wake(word: &AtomicU32) {
    // SAFETY: `word` is a valid aligned word.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// Reads where a link leads into `path`, and gives the number of bytes.
pub fn read_link(link: &CStr, path: &mut [u8]) -> usize {
    // SAFETY: `link` ends with a NUL, and `path` is valid for writing its length.
    let n = unsafe { libc::readlink(link.as_ptr(), path.as_mut_ptr().cast(), path.len()) };
    usize::try_from(n).unwrap_or(0)
}

/// Has `child` called in the child of each `fork`.
pub fn at_fork_in_child(child: extern "C" fn()) {
    // SAFETY: `child` is a function for the whole run of the program.
    unsafe { libc::pthread_atfork(None, None, Some(child)) };
}

/// What [`fork`] is in the two processes that come out of it.
pub enum Side {
    /// The one that called, with the other's id.
    Parent(u32),
    /// The new one.
    Child,
}

/// Makes a second process. The new one has one thread, the caller's.
pub fn fork() -> std::io::Result<Side> {
    // SAFETY: the C library's fork keeps its own state, memory allocation included, fit for the child.
    match unsafe { libc::fork() } {
        0 => Ok(Side::Child),
        pid if pid > 0 => Ok(Side::Parent(pid as u32)),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Waits for a child's end.
pub fn reap_child(pid: u32) {
    let mut status = 0;
    // SAFETY: `status` is valid for writing.
    while unsafe { libc::waitpid(pid as i32, &raw mut status, 0) } < 0 && errno() == libc::EINTR {}
}

/// Ends the process at once: what its program wanted to be done at its end is not.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: does not return.
    unsafe { libc::_exit(status) }
}

/// Makes the process one of its own: no terminal, no signals but those that end it, no open files but standard output,
/// where it is to be kept, and `kept`, which is given its new number.
pub fn stand_alone(kept: BorrowedFd<'_>, keeps_output: bool) -> std::os::fd::OwnedFd {
    use std::os::fd::{FromRawFd, OwnedFd};
    // SAFETY: all of these take numbers, or strings that end with a NUL; the descriptors that are closed belong to a
    // program that this process does not run any more.
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

/// Has the signals that ask a process to end noted instead.
pub fn note_ending_signals() {
    ENDING.store(false, std::sync::atomic::Ordering::Release);
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler stores to an atomic and does nothing else. Without SA_RESTART, waits end when it came.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = end as extern "C" fn(libc::c_int) as usize;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// Whether a signal asked the process to end since [`note_ending_signals`].
pub fn is_ending() -> bool {
    ENDING.load(std::sync::atomic::Ordering::Acquire)
}

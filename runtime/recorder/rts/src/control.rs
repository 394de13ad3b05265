//! Control of sessions from a program (`sys/trcctl.h`).
#![expect(unsafe_code, reason = "C functions take addresses")]

use crate::{c_result, fails};
use std::ffi::{CStr, c_char, c_int};
use std::io::Write;
use tfbc_recorder::hooks::CHANNELS;
use tfbc_recorder::options::TraceOptions;
use tfbc_recorder::session::{self, Error, Task};

/// Bits that may be added to the channel of `trcstop`.
const WAIT: c_int = 0x4000_0000;
const DISCARD: c_int = 0x2000_0000;

/// Starts a session; see `sys/trcctl.h`. Errors in the options are printed on standard error, as by the command
/// `trace`.
///
/// # Safety
/// `args` is null, or a text that ends with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trcstart(args: *const c_char) -> c_int {
    // SAFETY: not null, and the caller guarantees the NUL at its end.
    let args = if args.is_null() { c"" } else { unsafe { CStr::from_ptr(args) } };
    c_result(|| start(args))
}

fn start(args: &CStr) -> Result<c_int, c_int> {
    let args = args.to_str().map_err(|_| libc::EINVAL)?;
    let options = TraceOptions::parse_with(args, |warning| print_line(&warning.to_string())).map_err(|error| {
        print_line(&error.to_string());
        libc::EINVAL
    })?;
    let channel = session::start(&Task::Aix(options)).map_err(|error| error.errno())?;
    Ok(channel as c_int)
}

/// Prints a line. A closed standard error is ignored.
fn print_line(line: &str) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Turns collection on; see `sys/trcctl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn trcon(ch: c_int) -> c_int {
    control(ch, session::on)
}

/// Turns collection off; see `sys/trcctl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn trcoff(ch: c_int) -> c_int {
    control(ch, session::off)
}

/// Stops a session; see `sys/trcctl.h`. It always waits until the log is complete.
#[unsafe(no_mangle)]
pub extern "C" fn trcstop(ch: c_int) -> c_int {
    if ch < 0 {
        return fails(libc::EINVAL);
    }
    control(ch & !(WAIT | DISCARD), |channel| session::stop(channel, ch & DISCARD != 0))
}

fn control(channel: c_int, tell: impl FnOnce(usize) -> Result<(), Error>) -> c_int {
    c_result(|| match usize::try_from(channel) {
        Ok(channel @ 0..CHANNELS) => tell(channel).map(|()| 0).map_err(|error| error.errno()),
        _ => Err(libc::EINVAL),
    })
}

//! The functions that `tfbc.h` declares.
//!
//! No panic leaves a function. C guarantees the pointers that it passes: a trace comes from [`tfbc_open`] and is not
//! closed yet, texts end with a NUL, and memory for results is writable.
#![expect(unsafe_code, reason = "C passes pointers")]

use super::{EINVAL, EIO, Failure, OpenedTrace};
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::ptr;

/// Version of the library.
static VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

/// Opens a trace; null on failure.
///
/// # Safety
/// `path` is a text of C, `options` one or null, and `error` can be written or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfbc_open(
    path: *const c_char,
    options: *const c_char,
    error: *mut *mut c_char,
) -> *mut OpenedTrace {
    let opened = caught(|| {
        // SAFETY: the caller passes texts of C.
        let (path, options) = unsafe { (text(path), text(options)) };
        let path =
            path?.ok_or_else(|| Failure { errno: EINVAL, message: "path: expected a text, found NULL".into() })?;
        OpenedTrace::open(PathBuf::from(path), options?)
    });
    match opened {
        Ok(trace) => Box::into_raw(Box::new(trace)),
        Err(failure) => {
            // SAFETY: the caller passes a place for the message, or null.
            unsafe { store(error, failure) };
            ptr::null_mut()
        }
    }
}

/// Starts a pass over a table. Returns 0, or a number of `errno`.
///
/// # Safety
/// `trace` comes from [`tfbc_open`], `table` is a text of C, `out` can be written, and `error` can be written or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfbc_stream(
    trace: *mut OpenedTrace,
    table: *const c_char,
    out: *mut FFI_ArrowArrayStream,
    error: *mut *mut c_char,
) -> c_int {
    let stream = caught(|| {
        // SAFETY: the caller passes an open trace and a text of C.
        let (trace, table) = unsafe { named(trace, table) }?;
        Ok(FFI_ArrowArrayStream::new(Box::new(trace.table(table)?)))
    });
    // SAFETY: the caller passes places for the stream and the message.
    unsafe { give(stream, out, error) }
}

/// Stores the schema of the table of an event. Returns 0, or a number of `errno`.
///
/// # Safety
/// `trace` comes from [`tfbc_open`], `id` is a text of C, `out` can be written, and `error` can be written or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfbc_fields(
    trace: *mut OpenedTrace,
    id: *const c_char,
    out: *mut FFI_ArrowSchema,
    error: *mut *mut c_char,
) -> c_int {
    let schema = caught(|| {
        // SAFETY: the caller passes an open trace and a text of C.
        let (trace, id) = unsafe { named(trace, id) }?;
        let schema = trace.fields(id)?;
        FFI_ArrowSchema::try_from(&*schema).map_err(|error| Failure { errno: EIO, message: error.to_string() })
    });
    // SAFETY: the caller passes places for the schema and the message.
    unsafe { give(schema, out, error) }
}

/// Closes a trace; null is allowed.
///
/// # Safety
/// `trace` comes from [`tfbc_open`] and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfbc_close(trace: *mut OpenedTrace) {
    if !trace.is_null() {
        // SAFETY: the trace comes from `Box::into_raw`, and the caller gives it back.
        let trace = unsafe { Box::from_raw(trace) };
        // A panic of a destructor must not reach C.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(trace)));
    }
}

/// Frees a message; null is allowed.
///
/// # Safety
/// `message` comes from a function of this library and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfbc_free(message: *mut c_char) {
    if !message.is_null() {
        // SAFETY: the message comes from `CString::into_raw`, and the caller gives it back.
        drop(unsafe { CString::from_raw(message) });
    }
}

/// Version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn tfbc_version() -> *const c_char {
    VERSION.as_ptr().cast()
}

/// Runs a function, and turns its panic into a failure.
fn caught<T>(run: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let failed = || Failure { errno: EIO, message: String::from("the library has panicked: this is a bug in tfbc") };
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err(failed()))
}

/// Text that C passes; `None` for null.
///
/// # Safety
/// `text` is null or ends with a NUL, and stays as it is for `'t`.
unsafe fn text<'t>(text: *const c_char) -> Result<Option<&'t str>, Failure> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: guaranteed by the caller.
    let text = unsafe { CStr::from_ptr(text) }.to_str();
    text.map(Some).map_err(|_| Failure { errno: EINVAL, message: String::from("a text is not UTF-8") })
}

/// Trace and name that C passes.
///
/// # Safety
/// `trace` is null or an open trace, `name` null or a text of C, and both stay as they are for `'t`.
unsafe fn named<'t>(trace: *mut OpenedTrace, name: *const c_char) -> Result<(&'t OpenedTrace, &'t str), Failure> {
    // SAFETY: guaranteed by the caller.
    let (trace, name) = unsafe { (trace.as_ref(), text(name)) };
    let missing = || Failure { errno: EINVAL, message: String::from("expected a trace and a name, found NULL") };
    trace.zip(name?).ok_or_else(missing)
}

/// Stores a result, or the message of a failure. Returns the number of `errno`.
///
/// # Safety
/// `out` and `error` can be written or are null.
unsafe fn give<T>(result: Result<T, Failure>, out: *mut T, error: *mut *mut c_char) -> c_int {
    let failure = match result {
        Ok(_) if out.is_null() => Failure { errno: EINVAL, message: String::from("expected a result, found NULL") },
        Ok(value) => {
            // SAFETY: `out` can be written. Its old contents are not dropped: C does not initialize it.
            unsafe { ptr::write(out, value) };
            return 0;
        }
        Err(failure) => failure,
    };
    let errno = failure.errno;
    // SAFETY: guaranteed by the caller.
    unsafe { store(error, failure) };
    errno
}

/// Stores the message of a failure, if C has a place for it.
///
/// # Safety
/// `error` can be written or is null.
unsafe fn store(error: *mut *mut c_char, failure: Failure) {
    if !error.is_null() {
        let message = CString::new(failure.message.replace('\0', " ")).unwrap_or_default();
        // SAFETY: guaranteed by the caller.
        unsafe { ptr::write(error, message.into_raw()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::RecordBatchReader;
    use arrow_array::ffi_stream::RecordBatchStreamReader;
    use arrow_schema::Schema;
    use std::path::Path;

    fn sample(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples").join(name)
    }

    fn c_text(text: &str) -> CString {
        CString::new(text).unwrap()
    }

    /// Takes the message of a failure.
    fn message(error: *mut c_char) -> String {
        // SAFETY: the message comes from the library, and is freed once.
        unsafe {
            let text = CStr::from_ptr(error).to_str().unwrap().to_owned();
            tfbc_free(error);
            text
        }
    }

    fn open(path: &Path, options: &str) -> Result<*mut OpenedTrace, String> {
        let (path, options, mut error) = (c_text(path.to_str().unwrap()), c_text(options), ptr::null_mut());
        // SAFETY: the texts end with a NUL, and the place for the message can be written.
        let trace = unsafe { tfbc_open(path.as_ptr(), options.as_ptr(), &raw mut error) };
        if trace.is_null() { Err(message(error)) } else { Ok(trace) }
    }

    fn stream(trace: *mut OpenedTrace, table: &str) -> Result<RecordBatchStreamReader, String> {
        let (table, mut error, mut stream) = (c_text(table), ptr::null_mut(), FFI_ArrowArrayStream::empty());
        // SAFETY: the trace is open, the text ends with a NUL, and both places can be written.
        match unsafe { tfbc_stream(trace, table.as_ptr(), &raw mut stream, &raw mut error) } {
            0 => Ok(RecordBatchStreamReader::try_new(stream).unwrap()),
            _ => Err(message(error)),
        }
    }

    fn close(trace: *mut OpenedTrace) {
        // SAFETY: each test closes its trace once.
        unsafe { tfbc_close(trace) }
    }

    fn n_rows(reader: RecordBatchStreamReader) -> usize {
        reader.map(|batch| batch.unwrap().num_rows()).sum()
    }

    #[test]
    fn streams_outlive_their_trace_and_move_to_other_threads() {
        let trace = open(&sample("shell.trc"), r#"{"batch_rows":50}"#).unwrap();
        let (first, second, early) = (stream(trace, "events"), stream(trace, "106"), stream(trace, "events"));
        let notices = stream(trace, "notices").unwrap();
        close(trace);
        // A stream may be released before its end.
        let mut early = early.unwrap();
        assert_eq!(early.next().unwrap().unwrap().num_rows(), 50);
        drop(early);
        let other = std::thread::spawn(move || n_rows(first.unwrap()));
        let second = second.unwrap();
        assert_eq!(second.schema().metadata()["tfbc:event"], "106");
        assert_eq!((n_rows(second), other.join().unwrap(), n_rows(notices)), (20, 288, 1));
    }

    #[test]
    fn schemas_come_from_the_format_files() {
        let trace = open(&sample("user.kev"), "{}").unwrap();
        let (id, mut error, mut schema) = (c_text("USER:65"), ptr::null_mut(), FFI_ArrowSchema::empty());
        // SAFETY: the trace is open, the text ends with a NUL, and both places can be written.
        let errno = unsafe { tfbc_fields(trace, id.as_ptr(), &raw mut schema, &raw mut error) };
        assert_eq!(errno, 0);
        let schema = Schema::try_from(&schema).unwrap();
        let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names[names.len() - 4..], ["str", "d0", "d1", "words"]);
        close(trace);
    }

    #[test]
    fn failures_have_messages() {
        assert!(open(Path::new("no such file"), "{}").unwrap_err().starts_with("no such file: "));
        assert_eq!(open(&sample("shell.trc"), r#"{"oly":1}"#).unwrap_err(), "unknown option `oly`");
        assert!(open(&sample("shell.trc"), r#"{"only":"xyz"}"#).unwrap_err().contains("is not a hook id"));
        let trace = open(&sample("shell.trc"), "{}").unwrap();
        assert!(stream(trace, "100,101").err().unwrap().contains("is not the id of one event"));
        close(trace);
        // SAFETY: null is allowed everywhere.
        unsafe {
            assert!(tfbc_open(ptr::null(), ptr::null(), ptr::null_mut()).is_null());
            assert_eq!(tfbc_stream(ptr::null_mut(), ptr::null(), ptr::null_mut(), ptr::null_mut()), 22);
            tfbc_close(ptr::null_mut());
            tfbc_free(ptr::null_mut());
            assert_eq!(CStr::from_ptr(tfbc_version()).to_str().unwrap(), env!("CARGO_PKG_VERSION"));
        }
    }
}

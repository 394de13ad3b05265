//! A trace of any kind, told apart by its first bytes.

use super::Input;
use super::aix::{Logs, OpenError, ReadOptions, Trace, is_trace, may_be_stream32};
use super::kev::{KevLog, KevOptions, KevRefusal, MAX_MARKER_OFFSET, is_kev};
use std::fmt;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;

/// An opened trace.
pub enum AnyTrace {
    /// A trace of AIX.
    Aix(Box<Logs>),
    /// A log of QNX.
    Kev(Box<KevLog>),
}

/// Why a trace cannot be read at all.
#[derive(Debug)]
pub enum AnyRefusal {
    /// It was taken for a trace of AIX.
    Aix(OpenError),
    /// It was taken for a log of QNX.
    Kev(KevRefusal),
}

impl fmt::Display for AnyRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnyRefusal::Aix(error) => error.fmt(f),
            AnyRefusal::Kev(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AnyRefusal {}

impl From<io::Error> for AnyRefusal {
    fn from(error: io::Error) -> Self {
        AnyRefusal::Aix(error.into())
    }
}

impl AnyTrace {
    /// Opens a trace, `-` being standard input. What begins like no log of QNX is taken for a trace of AIX, of which
    /// `options` may say the kind.
    ///
    /// # Errors
    /// The input cannot be read, or is no trace.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self, AnyRefusal> {
        let name = path.to_string_lossy();
        if options.format.is_some() {
            return Logs::open(path, options).map(Self::aix).map_err(AnyRefusal::Aix);
        }
        let mut input: Box<dyn Read + Send> = if path == Path::new("-") {
            Box::new(io::stdin())
        } else {
            let mut file = File::open(path)?;
            if file.metadata()?.is_file() {
                let head = read_head(&mut file)?;
                return if is_kev(&head) {
                    Self::kev(KevLog::open(path, &KevOptions::default()))
                } else {
                    Logs::open(path, options).map(Self::aix).map_err(AnyRefusal::Aix)
                };
            }
            Box::new(file)
        };
        let head = read_head(&mut input)?;
        let kev = is_kev(&head);
        let whole = Cursor::new(head).chain(input);
        if kev {
            return Self::kev(KevLog::from_read(whole, &name, None, &KevOptions::default()));
        }
        let input = Input::Stream(Box::new(whole));
        Trace::from_input(name, input, options).map(|trace| Self::aix(trace.into())).map_err(AnyRefusal::Aix)
    }

    /// Opens a log of QNX, whatever its first bytes are.
    ///
    /// # Errors
    /// The input cannot be read, or is no log.
    pub fn open_kev(path: &Path) -> Result<Self, AnyRefusal> {
        Self::kev(KevLog::open(path, &KevOptions::default()))
    }

    fn aix(logs: Logs) -> Self {
        AnyTrace::Aix(Box::new(logs))
    }

    fn kev(log: Result<KevLog, KevRefusal>) -> Result<Self, AnyRefusal> {
        log.map(|log| AnyTrace::Kev(Box::new(log))).map_err(AnyRefusal::Kev)
    }
}

/// As many first bytes as tell a log of QNX from a trace of AIX: of a pipe no more than that, since its next ones may
/// be long in coming.
fn read_head(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut chunk = vec![0; 4096];
    while head.len() < MAX_MARKER_OFFSET {
        let n = match input.read(&mut chunk) {
            Ok(0) => break,
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        // The marker may stand across two chunks.
        let fresh = head.len().saturating_sub(32);
        head.extend_from_slice(&chunk[..n]);
        if head.len() >= 4 && (is_trace(&head) || may_be_stream32(&head) || is_kev(&head[fresh..])) {
            break;
        }
    }
    Ok(head)
}

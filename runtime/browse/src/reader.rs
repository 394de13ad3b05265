//! Reading of the trace in a thread of its own.

use super::row::Row;
use super::store::{Facts, Reading, Store, Writer};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use tfbc::{Formats, Item, ReportOptions, Trace};

/// Opened trace, with the filter of its events.
pub struct Opened {
    /// Trace.
    pub trace: Trace,
    /// Filter and limits.
    pub options: ReportOptions,
}

/// Thread that reads a trace. It stops when this is dropped.
pub struct Reader {
    store: Arc<Store>,
    is_unwanted: Arc<AtomicBool>,
}

impl Reader {
    /// Starts to read a trace.
    ///
    /// # Errors
    /// The temporary file or the thread cannot be created.
    pub fn start(opened: Opened, formats: Arc<Formats>, max_bytes: u64) -> io::Result<Self> {
        let (store, is_unwanted) = (Arc::new(Store::new(max_bytes)?), Arc::new(AtomicBool::new(false)));
        let reader = Self { store: store.clone(), is_unwanted: is_unwanted.clone() };
        thread::Builder::new()
            .name(String::from("reader"))
            .spawn(move || read(opened, &formats, store, &is_unwanted))?;
        Ok(reader)
    }

    /// Rows that were read so far.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Facts about what was read so far.
    pub fn facts(&self) -> Facts {
        self.store.facts()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.is_unwanted.store(true, Ordering::Relaxed);
    }
}

fn read(opened: Opened, formats: &Formats, store: Arc<Store>, is_unwanted: &AtomicBool) {
    let Opened { mut trace, options } = opened;
    let mut events = trace.events(formats).with_options(options).with_context();
    let mut writer = Writer::new(store);
    let reading = loop {
        let row = match events.next() {
            Ok(Some(Item::Event(event))) => Row::of_event(&event),
            Ok(Some(Item::Notice(notice))) => Row::of_notice(&notice),
            Ok(None) => break Reading::Complete,
            Err(error) => break Reading::Failed(error.to_string()),
        };
        match writer.push(&row) {
            _ if is_unwanted.load(Ordering::Relaxed) => return,
            Ok(true) => {}
            Ok(false) => break Reading::Full,
            Err(error) => break Reading::Failed(format!("cannot write the temporary file: {error}")),
        }
    };
    writer.finish(reading);
}

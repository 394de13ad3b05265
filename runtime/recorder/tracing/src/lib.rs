//! Records the spans and events of [`tracing`](https://docs.rs/tracing) as hooks of AIX's trace facility.
//!
//! ```no_run
//! use tracing_subscriber::prelude::*;
//!
//! let recorder = tfbc_tracing::Recorder::default();
//! let formats = recorder.formats();
//! tracing_subscriber::registry().with(recorder.layer()).init();
//!
//! let request = tracing::info_span!("request", peer = "10.0.0.7").entered();
//! tracing::info!(bytes = 512, "answered");
//! drop(request);
//!
//! formats.write("app.trcfmt")?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! While a trace of the channel is on (`trace -a`), every span and event is recorded as one generic hook. After
//! `trcstop`, `tfbc report -t app.trcfmt LOG` prints
//!
//! ```text
//! INFO  app: request#1 begins peer=10.0.0.7 (src/main.rs:7)
//! INFO  app: answered bytes=512 in request#1 (src/main.rs:8)
//! INFO  app: request#1 ends [21 usec]
//! ```
//!
//! The trace contains numbers and values; the texts of the callsites are in the format file. A callsite's number
//! depends only on the source, so the format file of one run also formats traces of other runs and processes of the
//! program.
//!
//! # The events
//!
//! All events use one hook. The subhook says what happened, and the data word is the callsite's number. The payload is
//!
//! ```text
//! u64 span        of an event 0; of spans the number that the report shows, below the process' id
//! u64 outer       number of the callsite of the span around it, or 0
//! u32 outer_span  the number that the report shows of that span
//! u8  n           how many fields follow
//!     u8 field    its index among the callsite's
//!     u8 kind     1 i64, 2 u64, 3 f64, 4 false, 5 true, 6 text, 7 u128 or i128, 8 bytes
//!     …           the value; a text and bytes begin with their length, a u16
//! ```
//!
//! An event has at most 4096 bytes; a text that does not fit is cut, and further fields are dropped.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod callsites;
mod formats;
mod layer;
mod payload;

pub use formats::{AtEnd, CallsiteFormats};
pub use layer::{IsOn, RecorderLayer};

use callsites::Callsites;
use std::sync::Arc;
use tracing_core::Subscriber;
use tracing_subscriber::filter::Filtered;
use tracing_subscriber::layer::Layer as _;
use tracing_subscriber::registry::LookupSpan;

/// Settings of the recording: hook id, channel and events.
#[derive(Debug, Clone)]
pub struct Recorder {
    id: u16,
    channel: usize,
    has_enters: bool,
    callsites: Arc<Callsites>,
}

impl Default for Recorder {
    /// Hook 0F0 on channel 0; spans are recorded when created and closed.
    fn default() -> Self {
        Self { id: 0x0F00, channel: 0, has_enters: false, callsites: Arc::default() }
    }
}

impl Recorder {
    /// Uses another hook id: `0x010` to `0xFFF`, or four digits. Lower ones are reserved and become `0x0F0`.
    pub fn with_id(self, id: u16) -> Self {
        let id = match id {
            0..0x010 => 0x0F00,
            0x010..0x1000 => id << 4,
            _ => id,
        };
        Self { id, ..self }
    }

    /// Uses another channel, 0 to 7. Nothing is recorded on a channel that does not exist.
    pub fn with_channel(self, channel: usize) -> Self {
        Self { channel, ..self }
    }

    /// Also records when a span is entered and left. Futures enter their spans on every poll.
    pub fn with_enters(self, has_enters: bool) -> Self {
        Self { has_enters, ..self }
    }

    /// Format file of the recorded events.
    pub fn formats(&self) -> CallsiteFormats {
        CallsiteFormats::new(self.id, self.callsites.clone())
    }

    /// Layer for a subscriber with other layers. While the channel is off, only this layer is disabled.
    pub fn layer<S: Subscriber + for<'a> LookupSpan<'a>>(&self) -> Filtered<RecorderLayer, IsOn, S> {
        self.alone().with_filter(IsOn::new(self.channel))
    }

    /// Layer for a subscriber without other layers. Disabled events cost less, because they are off for the whole
    /// subscriber.
    pub fn alone(&self) -> RecorderLayer {
        RecorderLayer::new(self.id, self.channel, self.has_enters, self.callsites.clone())
    }
}

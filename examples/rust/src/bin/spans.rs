//! Program that uses `tracing` and knows nothing about hooks.
//!
//! ```text
//! spans && trcrpt -d 0f0 -t spans.trcfmt spans.trc
//! ```
#![forbid(unsafe_code)]

use std::error::Error;
use tfbc_recorder::options::{Output, TraceOptions};
use tfbc_recorder::session::{self, Task};
use tfbc_tracing::Recorder;
use tracing::{info, info_span, warn};
use tracing_subscriber::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    let (log, formats) = tfbc_examples::names("spans");
    let recorder = Recorder::default();
    tracing_subscriber::registry().with(recorder.layer()).init();
    // Starts its own trace; `trace -a` and `trcstop` in a shell do this for any program.
    let options = TraceOptions { output: Output::File(log), ..TraceOptions::parse("-a")? };
    let channel = session::start(&Task::Aix(options))?;
    for peer in ["10.0.0.7", "10.0.0.8"] {
        serve(peer);
    }
    session::stop(channel, false)?;
    recorder.formats().write(formats)?;
    Ok(())
}

fn serve(peer: &str) {
    let _request = info_span!("request", peer).entered();
    for block in 0..2u32 {
        let _read = info_span!("read", block).entered();
        if block == 1 {
            warn!(millis = 12.5, "slow disk");
        }
    }
    info!(bytes = 1024, "answered");
}

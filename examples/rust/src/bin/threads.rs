//! Threads that take work from a queue; the report shows the time per item.
//!
//! ```text
//! threads && trcrpt -d 020,021 -t threads.trcfmt -O tid=on threads.trc
//! ```
#![forbid(unsafe_code)]

use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering};
use tfbc_recorder::hook::{Hook, format_file};
use tfbc_recorder::options::{Output, TraceOptions};
use tfbc_recorder::session::{self, Task};

tfbc_recorder::hook! {
    /// A thread starts an item.
    fn begin(piece: u32) = 0x020 "BEGIN" { r#""piece " $D1%U4 starttimer(0x020,$D1)"# };
    /// A thread has finished an item.
    fn end(piece: u32, sum: u64) = 0x021 "END" { r#""piece " $D1%U4 "sum " $D2%U8 endtimer(0x020,$D1)"# };
}

const N_THREADS: u32 = 4;
const N_PIECES: u32 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let (log, formats) = tfbc_examples::names("threads");
    std::fs::write(formats, format_file([begin::STANZA, end::STANZA]))?;
    let options = TraceOptions { output: Output::File(log), ..TraceOptions::parse("-a")? };
    let channel = session::start(&Task::Aix(options))?;
    let next = AtomicU32::new(0);
    std::thread::scope(|threads| {
        for _ in 0..N_THREADS {
            threads.spawn(|| work(&next));
        }
    });
    session::stop(channel, false)?;
    Ok(())
}

fn work(next: &AtomicU32) {
    loop {
        let piece = next.fetch_add(1, Ordering::Relaxed);
        if piece >= N_PIECES {
            return;
        }
        begin(piece);
        let sum = (0..u64::from(piece)).sum();
        end(piece, sum);
    }
}

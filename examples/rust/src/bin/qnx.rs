//! User events as QNX programs write them.
//!
//! ```text
//! qnx && traceprinter -f qnx.kev
//! ```
#![forbid(unsafe_code)]

use std::error::Error;
use tfbc_recorder::logger::Logger;
use tfbc_recorder::options::Output;
use tfbc_recorder::qnx;
use tfbc_recorder::session::{self, Task};

/// Event number of this program.
const TEMPERATURE: u32 = 1;
const READINGS: u32 = 2;
const NOTE: u32 = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let (log, _) = tfbc_examples::names("qnx");
    let log = if log.extension().is_some_and(|known| known == "trc") { log.with_extension("kev") } else { log };
    let channel = session::start(&Task::Kev(Logger { output: Output::File(log), ..Logger::default() }))?;
    for degrees in 20..23 {
        qnx::logi(TEMPERATURE, degrees, degrees * 2);
    }
    let readings: Vec<u8> = [1u32, 2, 3].iter().flat_map(|reading| reading.to_ne_bytes()).collect();
    qnx::logb(READINGS, &readings);
    qnx::log_text(NOTE, 0, format!("sensor {} is warm", 7).as_bytes());
    session::stop(channel, false)?;
    Ok(())
}

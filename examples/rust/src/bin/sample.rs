//! A loop of ten iterations with one event each: the sample program from AIX's documentation.
//!
//! ```text
//! sample && trcrpt -d 010 -t sample.trcfmt -O exec=on sample.trc
//! ```
#![forbid(unsafe_code)]

use std::error::Error;
use tfbc_recorder::hook::{Hook, format_file};
use tfbc_recorder::options::{Output, TraceOptions};
use tfbc_recorder::session::{self, Task};

tfbc_recorder::hook! {
    /// An iteration of the loop.
    fn user_event(turn: u32) = 0x010 "USER EVENT - HKWD_USER1" {
        r#"\n "The # of loop iterations =" $D1%U4 \n "The elapsed time of the last loop = " endtimer(0x010,0x010) starttimer(0x010,0x010)"#
    };
}

fn main() -> Result<(), Box<dyn Error>> {
    let (log, formats) = tfbc_examples::names("sample");
    std::fs::write(formats, format_file([user_event::STANZA]))?;
    println!("configuring trace collection");
    let options = TraceOptions { output: Output::File(log), ..TraceOptions::parse("-ad")? };
    let channel = session::start(&Task::Aix(options))?;
    println!("turning trace on");
    session::on(channel)?;
    // The traced code goes here.
    for turn in 1..=10 {
        user_event(turn);
    }
    println!("turning trace off");
    session::stop(channel, false)?;
    Ok(())
}

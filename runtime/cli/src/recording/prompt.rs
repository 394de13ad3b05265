//! `trace` without `-a`: commands are read while the session records.

use crate::console::{Console, Ending, Failure, Message, Status};
use std::io::{self, BufRead, IsTerminal, Write};
use std::thread;
use tfbc::spelling::hint;
use tfbc_recorder::options::{Options, Output};
use tfbc_recorder::session::{self, Error, Task};

const COMMANDS: &str = "\
trcon     begin the collection
trcoff    interrupt it
q, quit   end the trace, as the end of the input does
!COMMAND  run a command of the shell
?         this list
";

/// Records and reads commands until one of them, or a signal, ends the trace. A stream without a terminal has nobody who
/// types: it lasts until a signal, trcstop or its reader ends it.
pub fn run(console: &Console, mut options: Options) -> Ending {
    let (console, aside) = (*console, options.output == Output::Stdout);
    let is_attended = !aside || io::stdin().is_terminal();
    options.background |= !is_attended;
    // The session lives and dies with this process.
    let recorded = session::run(&Task::Aix(options), move |channel| {
        if is_attended {
            thread::spawn(move || Prompt { console, channel, aside }.answer());
        }
    });
    recorded.map(|_| Status::Well).map_err(super::failure)
}

/// A session at whose prompt somebody sits.
struct Prompt {
    console: Console,
    channel: usize,
    /// Standard output belongs to the trace: what is said goes to standard error.
    aside: bool,
}

impl Prompt {
    /// Answers commands until one of them is the last.
    fn answer(&self) {
        loop {
            self.say("-> ");
            let mut line = String::new();
            if !matches!(io::stdin().lock().read_line(&mut line), Ok(1..)) {
                self.say("\n");
                break;
            }
            match line.trim() {
                "" => {}
                "trcon" => self.tell(session::on(self.channel)),
                "trcoff" => self.tell(session::off(self.channel)),
                "q" | "quit" => break,
                "?" => self.say(COMMANDS),
                line => match line.strip_prefix('!') {
                    Some(command) => self.run(command),
                    None => self.unknown(line),
                },
            }
        }
        // What is wrong with the log is told by the session, which ends now.
        let _ = session::stop(self.channel, false);
    }

    fn tell(&self, done: Result<(), Error>) {
        if let Err(error) = done {
            self.console.end(Err(super::failure(error)));
        }
    }

    fn run(&self, command: &str) {
        if let Err(error) = std::process::Command::new("sh").arg("-c").arg(command).status() {
            self.console.end(Err(Failure::Say(Message::Unreadable, format!("cannot run sh: {error}"))));
        }
    }

    fn unknown(&self, line: &str) {
        let hint = hint(line, &["trcon", "trcoff", "quit"]);
        self.console.error(Message::Usage, format!("`{line}` is no command: `?` lists them{hint}"));
    }

    fn say(&self, text: &str) {
        let write = |mut out: Box<dyn Write>| out.write_all(text.as_bytes()).and_then(|()| out.flush());
        // Nobody who listens has gone missing: the trace goes on.
        let _ = write(if self.aside { Box::new(io::stderr()) } else { Box::new(io::stdout()) });
    }
}

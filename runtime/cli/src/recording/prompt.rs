//! `trace` without `-a`: reads commands while the session records.

use crate::console::{CommandResult, Console, Failure, Message, Status};
use std::io::{self, BufRead, IsTerminal, Write};
use std::thread;
use tfbc_grammar::hint;
use tfbc_recorder::options::{Output, TraceOptions};
use tfbc_recorder::session::{self, Error, Task};

const COMMANDS: &str = "\
trcon     begin the collection
trcoff    interrupt it
q, quit   end the trace, as the end of the input does
!COMMAND  run a command of the shell
?         this list
";

/// Records, and reads commands until one of them or a signal ends the trace. A stream without a terminal has no prompt;
/// it ends with a signal, trcstop, or its reader.
pub fn run(console: &Console, mut options: TraceOptions) -> CommandResult {
    let (console, aside) = (*console, options.output == Output::Stdout);
    let is_attended = !aside || io::stdin().is_terminal();
    options.background |= !is_attended;
    // The session ends with this process.
    let recorded = session::run(&Task::Aix(options), move |channel| {
        if is_attended {
            thread::spawn(move || Prompt { console, channel, aside }.answer());
        }
    });
    recorded.map(|_| Status::Well).map_err(super::failure)
}

/// Session with an interactive prompt.
struct Prompt {
    console: Console,
    channel: usize,
    /// True if the trace goes to standard output, so that replies go to standard error.
    aside: bool,
}

impl Prompt {
    /// Reads and runs commands until the last one.
    fn answer(&self) {
        loop {
            self.print("-> ");
            let mut line = String::new();
            if !matches!(io::stdin().lock().read_line(&mut line), Ok(1..)) {
                self.print("\n");
                break;
            }
            match line.trim() {
                "" => {}
                "trcon" => self.print_error(session::on(self.channel)),
                "trcoff" => self.print_error(session::off(self.channel)),
                "q" | "quit" => break,
                "?" => self.print(COMMANDS),
                line => match line.strip_prefix('!') {
                    Some(command) => self.run(command),
                    None => self.unknown(line),
                },
            }
        }
        // The session itself reports a problem with the log when it ends.
        let _ = session::stop(self.channel, false);
    }

    fn print_error(&self, done: Result<(), Error>) {
        if let Err(error) = done {
            self.console.end(Err(super::failure(error)));
        }
    }

    fn run(&self, command: &str) {
        if let Err(error) = std::process::Command::new("sh").arg("-c").arg(command).status() {
            self.console.end(Err(Failure::Error(Message::Unreadable, format!("cannot run sh: {error}"))));
        }
    }

    fn unknown(&self, line: &str) {
        let hint = hint(line, &["trcon", "trcoff", "quit"]);
        self.console.error(Message::Usage, format!("`{line}` is not a command: `?` lists all commands{hint}"));
    }

    fn print(&self, text: &str) {
        let write = |mut out: Box<dyn Write>| out.write_all(text.as_bytes()).and_then(|()| out.flush());
        // If nobody reads the replies, the trace continues.
        let _ = write(if self.aside { Box::new(io::stderr()) } else { Box::new(io::stdout()) });
    }
}

//! Terminal: its modes, its events, and its restoration on every way out.

use super::app::{Action, App};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use std::io::{self, Stdout, Write};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// True while the terminal has the modes of a list.
static IS_PREPARED: AtomicBool = AtomicBool::new(false);

/// Time between two looks at the reader.
const TICK: Duration = Duration::from_millis(40);
/// Time between two looks for signals if nothing else can change.
const IDLE: Duration = Duration::from_millis(250);

/// Terminal in the modes of a list.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    /// Last signal that asks the program to end.
    signal: Arc<AtomicUsize>,
}

impl Screen {
    /// Changes the terminal's modes.
    pub fn enter() -> io::Result<Self> {
        let signal = Arc::new(AtomicUsize::new(0));
        #[cfg(unix)]
        for number in [1, 2, 3, 15] {
            signal_hook::flag::register_usize(number, signal.clone(), number as usize)?;
        }
        let (earlier, own) = (panic::take_hook(), thread::current().id());
        panic::set_hook(Box::new(move |info| {
            // The list continues if another thread fails, and its status line says so.
            if thread::current().id() == own {
                restore();
                earlier(info);
            }
        }));
        if let Err(error) = prepare() {
            restore();
            return Err(error);
        }
        Ok(Self { terminal: Terminal::new(CrosstermBackend::new(io::stdout()))?, signal })
    }

    /// Shows the list until it ends. Returns the signal that ended it.
    pub fn run(&mut self, app: &mut App<'_>) -> io::Result<Option<i32>> {
        // Nothing is sent over the network while nothing changes.
        let (mut was_busy, mut has_event) = (true, true);
        loop {
            let is_busy = app.work();
            if is_busy || was_busy || has_event {
                self.terminal.draw(|frame| app.draw(frame))?;
            }
            was_busy = is_busy;
            let wait = match is_busy {
                true if app.is_searching() => Duration::ZERO,
                true => TICK,
                false => IDLE,
            };
            has_event = event::poll(wait)?;
            if has_event {
                // Keys that wait are all used before the next picture, so that a held key does not lag.
                for _ in 0..256 {
                    match event::read()? {
                        Event::Key(key) => app.key(key),
                        Event::Mouse(mouse) => app.mouse(mouse),
                        Event::Paste(text) => app.paste(&text),
                        Event::Resize(..) | Event::FocusGained | Event::FocusLost => {}
                    }
                    if app.has_action() || !event::poll(Duration::ZERO)? {
                        break;
                    }
                }
            }
            match self.signal.load(Ordering::Relaxed) {
                0 => {}
                signal => return Ok(Some(signal as i32)),
            }
            match app.take_action() {
                None => {}
                Some(Action::Quit) => return Ok(None),
                Some(Action::Redraw) => self.redraw()?,
                Some(Action::Copy(text)) => copy(&text)?,
                Some(Action::Suspend) => self.suspend()?,
            }
        }
    }

    /// Clears the screen; the next picture is drawn in full. `Terminal::clear` would ask the terminal for the position of
    /// the cursor, and fail if the answer takes long.
    fn redraw(&mut self) -> io::Result<()> {
        execute!(io::stdout(), Clear(ClearType::All))?;
        self.terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(())
    }

    #[cfg(unix)]
    fn suspend(&mut self) -> io::Result<()> {
        restore();
        // The default action of SIGTSTP stops the program here, until the shell continues it.
        signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)?;
        prepare()?;
        self.redraw()
    }

    #[cfg(not(unix))]
    fn suspend(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

fn prepare() -> io::Result<()> {
    IS_PREPARED.store(true, Ordering::Relaxed);
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste)
}

/// Restores the terminal. Errors are ignored: the terminal may be gone. A terminal that is restored already stays as it is:
/// leaving the other screen twice would put the cursor into what was printed since.
fn restore() {
    if !IS_PREPARED.swap(false, Ordering::Relaxed) {
        return;
    }
    let _ = execute!(io::stdout(), DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// Gives a text to the terminal's clipboard. Terminals that do not know the sequence ignore it.
fn copy(text: &str) -> io::Result<()> {
    let mut out = io::stdout();
    write!(out, "\x1b]52;c;{}\x07", BASE64_STANDARD.encode(text))?;
    out.flush()
}

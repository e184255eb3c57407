//! This program's own terminal while the chat fills it; it is restored however this program ends.

use std::io::{BufWriter, IsTerminal, Stdout, stdout};
use std::sync::Once;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
    Event as Typed, KeyEventKind, MouseEventKind,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use tokio::sync::mpsc;

use super::event::Event;
use super::state::State;
use super::view;
use crate::failure::Failure;
use crate::limits::{DRAW_BUFFER_BYTES, KEYS_QUEUE, WHEEL_LINES};

/// The terminal, filled by this program until it is dropped; a panic anywhere restores it before it is reported.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
}

impl Screen {
    pub(super) fn enter() -> Result<Self, Failure> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let report = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore();
                report(panic);
            }));
        });
        let failed = |error: std::io::Error| {
            restore();
            Failure::other("io", format!("cannot set up the terminal: {error}; chat with --lines"))
        };
        enable_raw_mode().map_err(failed)?;
        execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste, EnableMouseCapture).map_err(failed)?;
        let out = BufWriter::with_capacity(DRAW_BUFFER_BYTES, stdout());
        let mut terminal = Terminal::new(CrosstermBackend::new(out)).map_err(failed)?;
        terminal.clear().map_err(failed)?;
        Ok(Self { terminal })
    }

    pub(super) fn draw(&mut self, state: &mut State) -> std::io::Result<()> {
        self.terminal.draw(|frame| view::draw(frame, state)).map(drop)
    }

    /// Makes the next frame redraw everything.
    pub(super) fn clear(&mut self) -> std::io::Result<()> {
        self.terminal.clear()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

fn restore() {
    // A closed terminal needs no restoring.
    let _ = execute!(stdout(), DisableMouseCapture, DisableBracketedPaste, LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// True if there is a terminal that can be used as a full screen.
pub(crate) fn fits() -> bool {
    let is_able = std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
    is_able && std::io::stdin().is_terminal() && stdout().is_terminal()
}

/// The typed keys, read on a separate thread: a terminal may never give another key. The thread ends when the terminal is closed.
pub(super) fn read_keys() -> Result<mpsc::Receiver<Event>, Failure> {
    let (sender, keys) = mpsc::channel(KEYS_QUEUE);
    std::thread::Builder::new()
        .name("keys".to_owned())
        .spawn(move || {
            while let Ok(typed) = event::read() {
                if let Some(event) = of(typed)
                    && sender.blocking_send(event).is_err()
                {
                    return;
                }
            }
        })
        .map_err(|error| Failure::other("io", format!("cannot read the terminal: {error}")))?;
    Ok(keys)
}

fn of(typed: Typed) -> Option<Event> {
    match typed {
        Typed::Key(key) if key.kind != KeyEventKind::Release => Some(Event::Key(key)),
        Typed::Paste(text) => Some(Event::Paste(text)),
        Typed::Mouse(mouse) => match mouse.kind {
            MouseEventKind::ScrollUp => Some(Event::Wheel(-WHEEL_LINES)),
            MouseEventKind::ScrollDown => Some(Event::Wheel(WHEEL_LINES)),
            _ => None,
        },
        Typed::Resize(..) => Some(Event::Tick),
        Typed::Key(_) | Typed::FocusGained | Typed::FocusLost => None,
    }
}

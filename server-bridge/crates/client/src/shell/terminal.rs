//! This program's own terminal: raw while the other end uses it, and restored however this program ends.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use rustix::termios::{OptionalActions, Termios, Winsize};

use crate::failure::Failure;

/// Modes that a program may have left on: the alternate screen, mouse reports, bracketed paste, application keys, a hidden
/// cursor, colours.
const TIDY: &[u8] =
    b"\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?1l\x1b>\x1b[?25h\x1b[m\r\n";

/// The terminal's earlier state, while it is raw.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

fn before() -> MutexGuard<'static, Option<Termios>> {
    // The value is always set and taken as a whole, so a panic leaves it valid.
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The terminal in raw mode, until it is dropped; a panic anywhere restores it before it is reported.
#[derive(Debug)]
pub(super) struct RawTerminal(());

impl RawTerminal {
    /// Fails with a usage error if standard input is not a terminal.
    pub(super) fn check() -> Result<(), Failure> {
        if std::io::stdin().is_terminal() {
            return Ok(());
        }
        Err(Failure::usage(
            "shell needs a terminal as its standard input; to run a command without one: sandbridge exec -- CMD",
        ))
    }

    /// Switches to raw mode: every key goes to the other end, including Ctrl-C.
    pub(super) fn enter() -> Result<Self, Failure> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let report = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore();
                report(panic);
            }));
        });
        let stdin = std::io::stdin();
        let failed = |error| Failure::other("io", format!("cannot set up the terminal: {error}"));
        let modes = rustix::termios::tcgetattr(&stdin).map_err(failed)?;
        let mut raw = modes.clone();
        raw.make_raw();
        *before() = Some(modes);
        rustix::termios::tcsetattr(&stdin, OptionalActions::Drain, &raw).map_err(failed)?;
        Ok(Self(()))
    }

    /// Resets the modes that the other end left on, if it did not end properly.
    pub(super) fn tidy(&self) {
        // A failure means that the terminal is closed; then there is nothing to reset.
        let _ = std::io::stdout().write_all(TIDY).and_then(|()| std::io::stdout().flush());
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        restore();
    }
}

fn restore() {
    if let Some(modes) = before().take() {
        // A closed terminal needs no restoring.
        let _ = rustix::termios::tcsetattr(std::io::stdin(), OptionalActions::Now, &modes);
    }
}

/// Height and width in character cells; 24 and 80 if the terminal does not report them.
pub(super) fn size() -> (u16, u16) {
    let known = |size: &Winsize| size.ws_row > 0 && size.ws_col > 0;
    let size = rustix::termios::tcgetwinsize(std::io::stdin()).ok().filter(known);
    size.map_or((24, 80), |size| (size.ws_row, size.ws_col))
}

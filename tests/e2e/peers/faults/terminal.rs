//! A command that a user types into a terminal.

use tests::terminal::Terminal;
use tests::{Person, eventually};

use super::load::PATIENCE;

/// Opens a terminal, types a command, and leaves it; true if the terminal showed the command's output. If a fault ends the terminal, its
/// program ends too.
pub(super) fn typed(person: &Person, command: &str, output: &str) -> bool {
    let mut terminal = Terminal::start(person.command(&["shell", "--on", "laptop"]), 24, 80);
    eventually("the terminal begins, or ends", PATIENCE, || {
        (terminal.is_raw() || terminal.has_ended()).then_some(())
    });
    if terminal.has_ended() {
        return false;
    }
    terminal.types(format!("{command}\r"));
    let is_shown = eventually("the terminal shows it, or ends", PATIENCE, || {
        if terminal.shows(output) { Some(true) } else { terminal.has_ended().then_some(false) }
    });
    terminal.types("exit\r");
    eventually("the terminal ends", PATIENCE, || terminal.has_ended().then_some(()));
    is_shown
}

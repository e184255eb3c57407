//! Questions at the terminal that are answered with yes or no.

use std::io::{BufRead, IsTerminal, Write};

use super::failure::Failure;
use super::interrupts;

/// True if there is a person at the terminal to ask.
pub(super) fn is_possible() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks a question; anything but a yes means no, and so does Ctrl-C.
///
/// # Errors
/// `io` if no answer can be read.
pub(super) async fn yes_or_no(question: &str) -> Result<bool, Failure> {
    let unread = |error| Failure::other("io", format!("the answer cannot be read: {error}"));
    let mut interrupts = interrupts::ctrl_c()?;
    eprint!("{question}");
    let _ = std::io::stderr().flush();
    let (sender, answer) = tokio::sync::oneshot::channel();
    // Reads on a separate thread that is not joined: the terminal may never return a line.
    std::thread::Builder::new()
        .name("answer".to_owned())
        .spawn(move || {
            let mut line = String::new();
            let read = std::io::stdin().lock().read_line(&mut line);
            // There is no receiver if the caller was interrupted.
            let _ = sender.send(read.map(|_| line));
        })
        .map_err(unread)?;
    tokio::select! {
        answer = answer => {
            let answer = answer.map_err(|_| unread(std::io::ErrorKind::UnexpectedEof.into()))?;
            Ok(is_yes(&answer.map_err(unread)?))
        }
        _ = interrupts.recv() => {
            eprintln!();
            Ok(false)
        }
    }
}

fn is_yes(answer: &str) -> bool {
    ["y", "yes"].iter().any(|yes| answer.trim().eq_ignore_ascii_case(yes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        for yes in ["y\n", "Y", " yes \n", "YES"] {
            assert!(is_yes(yes), "{yes:?}");
        }
        for no in ["", "\n", "n", "no", "yy", "yes please", "1", "j"] {
            assert!(!is_yes(no), "{no:?}");
        }
    }
}

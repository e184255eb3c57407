//! Removing a token from the command line, where every user of the machine could read it, and passing it, and the reason why
//! an update failed, to the program that replaces this one.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::FdFlags;

use crate::limits::{TOKEN_BYTES, UPDATE_ERROR_BYTES};
use crate::sys;

/// The option a user writes.
const TOKEN: &[u8] = b"--token";
/// The hidden option that takes its place: the number of a descriptor that holds the token.
const TOKEN_DESCRIPTOR: &[u8] = b"--token-fd";
/// The hidden option for the reason that an update failed: the number of a descriptor that holds it.
const UPDATE_ERROR_DESCRIPTOR: &[u8] = b"--update-error-fd";

/// Returns the token given as `--token T` or `--token=T`, having removed it from this process's arguments.
///
/// The process executes itself again, with the token in a sealed anonymous file and `--token-fd N` in its place; the second
/// time the token is read and the file closed. So declare a hidden option `--token-fd`, and call this first.
///
/// # Errors
/// The token is missing, not UTF-8 or longer than 4,096 bytes, or the process cannot execute itself.
pub fn take_token_from_argv() -> io::Result<Option<String>> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if let Some((token, rest)) = split(&arguments, TOKEN)? {
        return Err(execute_again(&token, rest));
    }
    read_hidden(&arguments, TOKEN_DESCRIPTOR, TOKEN_BYTES)
}

/// Reads the reason why an earlier program's update failed, passed as `--update-error-fd N`.
///
/// # Errors
/// The descriptor is invalid.
pub fn take_update_error() -> io::Result<Option<String>> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    read_hidden(&arguments, UPDATE_ERROR_DESCRIPTOR, UPDATE_ERROR_BYTES)
}

/// True if an argument is one that [`hidden_token`] or [`hidden_update_error`] makes: it is valid for one execution only.
pub(crate) fn is_hidden(argument: &OsStr) -> bool {
    [TOKEN_DESCRIPTOR, UPDATE_ERROR_DESCRIPTOR].iter().any(|option| {
        argument.as_bytes().strip_prefix(*option).is_some_and(|value| value.first() == Some(&b'='))
    })
}

/// A file without a name that the next program inherits while it is open here, and the argument that names it there.
pub(crate) type Hidden = (File, OsString);

/// Passes a token to the program that this process, or a child of it, executes next.
pub(crate) fn hidden_token(token: &str) -> io::Result<Hidden> {
    hide(TOKEN_DESCRIPTOR, token.as_bytes())
}

/// Passes on the reason why an update failed.
pub(crate) fn hidden_update_error(text: &str) -> io::Result<Hidden> {
    hide(UPDATE_ERROR_DESCRIPTOR, text.as_bytes())
}

fn hide(option: &[u8], content: &[u8]) -> io::Result<Hidden> {
    let file = rustix::fs::memfd_create("hidden", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut file = File::from(file);
    file.write_all(content)?;
    rustix::fs::fcntl_add_seals(
        &file,
        SealFlags::SEAL | SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK,
    )?;
    rustix::io::fcntl_setfd(&file, FdFlags::empty())?;
    let number = std::os::fd::AsRawFd::as_raw_fd(&file).to_string();
    Ok((file, OsString::from_vec([option, b"=", number.as_bytes()].concat())))
}

fn read_hidden(arguments: &[OsString], option: &[u8], most_bytes: usize) -> io::Result<Option<String>> {
    let Some((number, _)) = split(arguments, option)? else { return Ok(None) };
    let number = number.to_str().and_then(|number| number.parse().ok()).filter(|number| *number > 2);
    let mut file = File::from(sys::adopt_descriptor(number.ok_or(io::ErrorKind::InvalidInput)?)?);
    let mut content = String::new();
    file.rewind()?;
    (&file).take(most_bytes as u64).read_to_string(&mut content)?;
    Ok(Some(content))
}

/// Finds an option's value, in either form, and the arguments without it. Arguments after `--` are ignored.
fn split(arguments: &[OsString], option: &[u8]) -> io::Result<Option<(OsString, Vec<OsString>)>> {
    let own = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let with_value = [option, b"="].concat();
    for (index, argument) in arguments.iter().enumerate().take(own).skip(1) {
        let (value, length) = if argument.as_bytes() == option {
            let value = arguments.get(index + 1).filter(|_| index + 1 < own).cloned();
            (
                value.ok_or_else(|| {
                    io::Error::new(io::ErrorKind::InvalidInput, "the token's value is missing")
                })?,
                2,
            )
        } else if let Some(value) = argument.as_bytes().strip_prefix(with_value.as_slice()) {
            (OsStr::from_bytes(value).to_owned(), 1)
        } else {
            continue;
        };
        let mut rest = arguments.to_vec();
        rest.drain(index..index + length);
        return Ok(Some((value, rest)));
    }
    Ok(None)
}

/// Executes this process again without the token among its arguments; returns only if that failed.
fn execute_again(token: &OsStr, mut arguments: Vec<OsString>) -> io::Error {
    if token.len() > TOKEN_BYTES || token.to_str().is_none() {
        return io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is too long for a token, or not UTF-8 text; copy it again",
        );
    }
    let mut replace = || -> io::Result<io::Error> {
        let (_file, option) = hide(TOKEN_DESCRIPTOR, token.as_bytes())?;
        let name =
            if arguments.is_empty() { OsString::from("sandbridge-runner") } else { arguments.remove(0) };
        let mut command = Command::new("/proc/self/exe");
        command.arg0(name).arg(option).args(&arguments);
        Ok(command.exec())
    };
    replace().unwrap_or_else(|error| error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn a_token_is_found_in_both_forms_and_removed() {
        for words in [&["r", "--token", "T", "--name", "n"][..], &["r", "--token=T", "--name", "n"]] {
            let found = split(&arguments(words), TOKEN).unwrap();
            assert_eq!(found, Some((OsString::from("T"), arguments(&["r", "--name", "n"]))));
        }
    }

    #[test]
    fn other_options_and_what_follows_a_double_dash_are_left_alone() {
        let words = arguments(&["r", "--token-file", "f", "--", "--token", "T"]);
        assert_eq!(split(&words, TOKEN).unwrap(), None);
    }

    #[test]
    fn a_token_without_a_value_is_an_error() {
        assert!(split(&arguments(&["r", "--token"]), TOKEN).is_err());
    }
}

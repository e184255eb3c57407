//! Taking a token out of the command line, where every user of the machine could read it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::FdFlags;

use crate::limits::TOKEN_BYTES;
use crate::sys;

/// The option a user writes.
const TOKEN: &[u8] = b"--token";
/// The hidden option that takes its place: the number of a descriptor that holds the token.
const TOKEN_DESCRIPTOR: &[u8] = b"--token-fd";

/// Returns the token given as `--token T` or `--token=T`, having removed it from this process's arguments.
///
/// The process executes itself again, with the token in a sealed anonymous file and `--token-fd N` in its place; the second
/// time round the token is read and the file closed. So declare a hidden option `--token-fd`, and call this first.
///
/// # Errors
/// The token is missing, not UTF-8 or longer than 4,096 bytes, or the process cannot execute itself.
pub fn take_token_from_argv() -> io::Result<Option<String>> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if let Some((token, rest)) = split(&arguments, TOKEN)? {
        return Err(execute_again(&token, rest));
    }
    let Some((number, _)) = split(&arguments, TOKEN_DESCRIPTOR)? else { return Ok(None) };
    let number = number.to_str().and_then(|number| number.parse().ok()).filter(|number| *number > 2);
    let mut file = File::from(sys::adopt_descriptor(number.ok_or(io::ErrorKind::InvalidInput)?)?);
    let mut token = String::new();
    file.rewind()?;
    (&file).take(TOKEN_BYTES as u64).read_to_string(&mut token)?;
    Ok(Some(token))
}

/// Finds an option's value, in either form, and the arguments without it. What comes after `--` is not ours.
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

/// Replaces this process by itself without the token among its arguments; returns only when that failed.
fn execute_again(token: &OsStr, mut arguments: Vec<OsString>) -> io::Error {
    if token.len() > TOKEN_BYTES || token.to_str().is_none() {
        return io::Error::new(io::ErrorKind::InvalidInput, "the token is not one this server makes");
    }
    let mut replace = || -> io::Result<io::Error> {
        let file = rustix::fs::memfd_create("token", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        let mut file = File::from(file);
        file.write_all(token.as_bytes())?;
        rustix::fs::fcntl_add_seals(
            &file,
            SealFlags::SEAL | SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK,
        )?;
        rustix::io::fcntl_setfd(&file, FdFlags::empty())?;
        let number = std::os::fd::AsRawFd::as_raw_fd(&file).to_string();
        let name =
            if arguments.is_empty() { OsString::from("sandbridge-runner") } else { arguments.remove(0) };
        let option = [TOKEN_DESCRIPTOR, b"=", number.as_bytes()].concat();
        let mut command = Command::new("/proc/self/exe");
        command.arg0(name).arg(OsString::from_vec(option)).args(&arguments);
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

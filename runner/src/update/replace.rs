//! The guardian's part: tries the new program, puts it in place, and executes it in this process's own place.
//!
//! In any case this process executes a program: the new one, or its own again with the error. So nothing of the ended runner
//! stays in memory, and the process keeps its number, its terminal and its place under systemd.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD};

use super::Failed;
use super::handover::{Handover, Offer};
use super::place::{self, RUNNING};
use crate::error::Error;
use crate::exit_code::{EXIT_REGISTERED, EXIT_STOPPED};
use crate::guardian::{hidden_token, hidden_update_error, is_hidden};
use crate::kill;
use crate::limits::TRIAL_MS;
use crate::sys;

/// The hidden option that a program on trial is started with.
const ON_TRIAL: &str = "--on-trial";

/// The mode of a program that is kept as a copy.
const PROGRAM_MODE: u32 = 0o755;

/// The outcome of a trial.
enum Trial {
    Passed,
    Failed(String),
    /// The user wants everything to end.
    Stopped,
}

/// Tries the program that the runner left in `handover` and executes it, or this program again; `token` is the one that came
/// without a file. Call this in the guardian when the runner has ended for an update, with everything that it started. Returns
/// only if the user wants the runner to end: the exit code.
///
/// # Errors
/// Neither program can be executed.
pub fn replace(handover: &Handover, token: Option<&str>) -> Result<i32, Error> {
    sys::hold_signals(true).map_err(Error::system("hold signals"))?;
    let words = Words::of_this_process();
    let Some(offer) = handover.take() else {
        return Err(words.again(token, None));
    };
    let failed = match attempt(&words, &offer, token) {
        Ok(Trial::Stopped) => {
            offer.discard();
            return Ok(EXIT_STOPPED);
        }
        Ok(Trial::Passed) => words.execute(&offer.program, token, None).to_string(),
        Ok(Trial::Failed(reason)) => reason,
        Err(error) => format!("it cannot be put in place: {error}"),
    };
    offer.discard();
    let failed = Failed { version: offer.version.clone(), reason: failed };
    eprintln!("sandbridge-runner: {failed}");
    Err(words.again(token, Some(&failed)))
}

/// Tries the program and puts it in place.
fn attempt(words: &Words, offer: &Offer, token: Option<&str>) -> io::Result<Trial> {
    let trial = words.trial(&offer.file, token)?;
    if !matches!(trial, Trial::Passed) || offer.file == offer.program {
        return Ok(trial);
    }
    if place::is_running(&offer.program) {
        put_in_place(offer)?;
        return Ok(trial);
    }
    // Another runner of the same file, or an installation, was faster: the file that is there now starts next.
    offer.discard();
    words.trial(&offer.program, token)
}

/// Puts the new program at the old one's path, which always has a complete one, and keeps the old one next to it.
fn put_in_place(offer: &Offer) -> io::Result<()> {
    let program = &offer.program;
    let mut old = program.clone().into_os_string();
    old.push(".old");
    let mut kept = offer.file.clone().into_os_string();
    kept.push(".old");
    let kept = PathBuf::from(kept);
    // The running program, even if another file is at the path by now; a file system without hard links gets a copy.
    let keep = rustix::fs::linkat(CWD, RUNNING, CWD, &kept, AtFlags::SYMLINK_FOLLOW)
        .or_else(|_| copy_running(&kept));
    let put = keep
        .and_then(|()| fs::rename(&kept, &old))
        .and_then(|()| fs::rename(&offer.file, program))
        .and_then(|()| File::open(program.parent().unwrap_or(Path::new("/")))?.sync_all());
    // The file remains if a rename failed, or if it is a link to the file that already has its new name.
    let _ = fs::remove_file(&kept);
    put
}

/// Copies the running program to a new file: never through a link that another user put there.
fn copy_running(to: &Path) -> io::Result<()> {
    let mut running = File::open(RUNNING)?;
    let mut copy = OpenOptions::new().write(true).create_new(true).mode(PROGRAM_MODE).open(to)?;
    io::copy(&mut running, &mut copy)?;
    copy.set_permissions(Permissions::from_mode(PROGRAM_MODE))
}

/// The arguments of this process, without those that are valid for one execution only.
struct Words {
    name: OsString,
    options: Vec<OsString>,
}

impl Words {
    fn of_this_process() -> Self {
        let mut words = std::env::args_os();
        let name = words.next().unwrap_or_else(|| "sandbridge-runner".into());
        Self { name, options: words.filter(|word| !is_hidden(word)).collect() }
    }

    /// Runs a program like this one, up to its registration, for [`TRIAL_MS`] at most; leaves no process.
    fn trial(&self, program: &Path, token: Option<&str>) -> io::Result<Trial> {
        let token = token.map(hidden_token).transpose()?;
        let mut command = Command::new(program);
        command
            .arg0(&self.name)
            .arg(ON_TRIAL)
            .args(token.as_ref().map(|(_, option)| option))
            .args(&self.options);
        // Ctrl-C is for this process, which ends the trial.
        command.stdin(Stdio::null()).process_group(0);
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => return Ok(Trial::Failed(format!("the new program cannot be run: {error}"))),
        };
        kill::await_child(child.id());
        let trial = watch(&mut child);
        // The trial has ended, or must end now.
        let _ = child.kill();
        let _ = child.wait();
        kill::forget_child(child.id());
        kill::kill_everything();
        kill::reap_orphans();
        trial
    }

    /// Executes a program in this process's place; returns only if that fails.
    fn execute(&self, program: &Path, token: Option<&str>, failed: Option<&Failed>) -> io::Error {
        let execute = || -> io::Result<io::Error> {
            let token = token.map(hidden_token).transpose()?;
            let failed = failed.map(|failed| hidden_update_error(&failed.to_text())).transpose()?;
            let hidden = [&token, &failed].into_iter().flatten().map(|(_, option)| option);
            let mut command = Command::new(program);
            command.arg0(&self.name).args(hidden).args(&self.options);
            Ok(command.exec())
        };
        execute().unwrap_or_else(|error| error)
    }

    /// Executes the running program once more.
    fn again(&self, token: Option<&str>, failed: Option<&Failed>) -> Error {
        let at_path = place::of_this_process().ok().filter(|program| place::is_running(program));
        let program = at_path.unwrap_or_else(|| PathBuf::from(RUNNING));
        Error::system("start the runner again")(self.execute(&program, token, failed))
    }
}

fn watch(child: &mut Child) -> io::Result<Trial> {
    let deadline = Instant::now() + Duration::from_millis(TRIAL_MS);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(judge(status));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let text = format!("the new program did not register within {} s", TRIAL_MS / 1_000);
            return Ok(Trial::Failed(text));
        }
        match sys::wait_signal(left)? {
            Some(libc::SIGCHLD) => {
                kill::reap_orphans();
            }
            Some(_) => return Ok(Trial::Stopped),
            None => {}
        }
    }
}

fn judge(status: ExitStatus) -> Trial {
    match status.code() {
        Some(EXIT_REGISTERED) => Trial::Passed,
        Some(_) | None => Trial::Failed(format!(
            "the new program did not register and ended with {status}; see the runner's log"
        )),
    }
}

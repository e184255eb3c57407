//! The scripted runner's commands: each writes into a log that every stream reads from its own offset.

use std::collections::HashMap;

use bytes::Bytes;
use proto::message::{Attached, ExecExited, ExecStarted, ExecStreamsClosed, ExitStatus};
use proto::request::{Attach, Command, Exec, Profile};
use proto::{Channel, DataBuf, ErrorKind, ExecId, Session, StreamId, WireError};

use super::files::Files;
use super::fill;

/// The largest piece of output that is sent at once, in bytes.
const PIECE_BYTES: usize = 32 * 1024;

/// All commands, and the streams that read them.
#[derive(Default)]
pub(super) struct Execs {
    known: HashMap<ExecId, Known>,
    readers: HashMap<StreamId, Reader>,
    files: Files,
}

struct Known {
    words: Vec<String>,
    /// The command's directory, relative to the workspace; empty for the workspace itself.
    directory: String,
    profile: &'static str,
    files: Files,
    log: Vec<(Channel, Bytes)>,
    /// The number of bytes at the log's beginning that are not kept for clients that attach.
    forgotten: usize,
    exited: Option<ExecExited>,
}

struct Reader {
    exec: ExecId,
    /// The stream's position in the log, in bytes.
    offset: usize,
}

impl Execs {
    /// Commands that work on these files.
    pub(super) fn on(files: Files) -> Self {
        Self { files, ..Self::default() }
    }

    /// Begins a command, and returns its text.
    pub(super) fn start(&mut self, session: &mut Session, id: StreamId, exec: Exec) -> Option<String> {
        let Command::Shell(line) = exec.command else { panic!("no shell command") };
        let line = String::from_utf8(line).unwrap();
        if line == "missing" {
            let error = WireError::new(ErrorKind::CommandNotFound, "there is no such program");
            session.fail(id, &error);
            return Some(line);
        }
        assert!(!self.known.contains_key(&exec.exec_id), "no command is sent twice");
        let words = line.split(' ').map(str::to_owned).collect();
        let directory = exec.cwd.map_or_else(String::new, |cwd| String::from_utf8(cwd.0).unwrap());
        let profile = exec.profile.map_or("its own", Profile::name);
        let (log, files) = (Vec::new(), self.files.clone());
        let mut known = Known { words, directory, profile, files, log, forgotten: 0, exited: None };
        known.advance();
        self.known.insert(exec.exec_id, known);
        self.readers.insert(id, Reader { exec: exec.exec_id, offset: 0 });
        session.message(id, &ExecStarted { pid: 1 }.into(), false).unwrap();
        self.pump(session, id);
        Some(line)
    }

    pub(super) fn attach(&mut self, session: &mut Session, id: StreamId, attach: &Attach) {
        if !self.known.contains_key(&attach.id) {
            return session.fail(id, &WireError::new(ErrorKind::NoSuchExec, "no exec of that id"));
        }
        session.message(id, &Attached { input_bytes: 0 }.into(), false).unwrap();
        session.message(id, &ExecStarted { pid: 1 }.into(), false).unwrap();
        let offset = usize::try_from(attach.offset).unwrap();
        let gap = self.known[&attach.id].forgotten.saturating_sub(offset);
        if gap > 0 {
            session.gap(id, Channel::Main, gap as u64);
        }
        let offset = offset + gap;
        self.readers.insert(id, Reader { exec: attach.id, offset });
        self.pump(session, id);
    }

    pub(super) fn cancel(&mut self, session: &mut Session, id: StreamId) {
        let Some(known) = self.readers.get(&id).and_then(|reader| self.known.get_mut(&reader.exec)) else {
            return;
        };
        known.exited.get_or_insert(exited(ExitStatus::Signal(15), false, true));
        self.pump(session, id);
    }

    pub(super) fn leave(&mut self, session: &mut Session, id: StreamId) {
        self.readers.remove(&id);
        session.fail(id, &WireError::new(ErrorKind::Detached, "the reader left"));
    }

    pub(super) fn forget(&mut self, exec: ExecId) {
        self.known.remove(&exec);
    }

    pub(super) fn lose_streams(&mut self) {
        self.readers.clear();
    }

    /// Lets one waiting command continue.
    pub(super) fn release(&mut self, session: &mut Session) {
        let is_waiting = |known: &&mut Known| {
            known.exited.is_none() && known.words.first().is_some_and(|word| word == "wait")
        };
        let Some(known) = self.known.values_mut().find(is_waiting) else { return };
        known.words.remove(0);
        known.advance();
        let readers: Vec<_> = self.readers.keys().copied().collect();
        for id in readers {
            self.pump(session, id);
        }
    }

    /// Sends as much as a stream's credit allows, and the end once everything else has been sent.
    pub(super) fn pump(&mut self, session: &mut Session, id: StreamId) {
        let Some(reader) = self.readers.get_mut(&id) else { return };
        let Some(known) = self.known.get(&reader.exec) else { return };
        let mut begin = 0;
        for (channel, bytes) in &known.log {
            while reader.offset < begin + bytes.len() {
                let rest = &bytes[reader.offset - begin..];
                let part = &rest[..rest.len().min(session.writable(id)).min(PIECE_BYTES)];
                if part.is_empty() {
                    return;
                }
                session.data(id, *channel, DataBuf::copy_from(part));
                reader.offset += part.len();
            }
            begin += bytes.len();
        }
        let Some(exited) = &known.exited else { return };
        session.end(id, Channel::Stdout);
        session.end(id, Channel::Stderr);
        session.message(id, &exited.clone().into(), false).unwrap();
        let written = |of: Channel| -> u64 {
            known.log.iter().filter(|(channel, _)| *channel == of).map(|(_, bytes)| bytes.len() as u64).sum()
        };
        let closed = ExecStreamsClosed {
            stdout_bytes: written(Channel::Stdout),
            stderr_bytes: written(Channel::Stderr),
            dropped_bytes: 0,
            still_open: false,
        };
        session.message(id, &closed.into(), true).unwrap();
        self.readers.remove(&id);
    }
}

impl Known {
    /// Continues the script until it waits or ends.
    fn advance(&mut self) {
        while self.exited.is_none() {
            let word = self.words.first().map_or("exit:0", String::as_str);
            let (verb, argument) = word.split_once(':').unwrap_or((word, ""));
            match verb {
                "wait" => return,
                "forget" => self.forgotten = self.log.iter().map(|(_, bytes)| bytes.len()).sum(),
                "out" => self.log.push((Channel::Stdout, Bytes::copy_from_slice(argument.as_bytes()))),
                "err" => self.log.push((Channel::Stderr, Bytes::copy_from_slice(argument.as_bytes()))),
                "bytes" => {
                    let byte = |at| u8::from_str_radix(&argument[at..at + 2], 16).unwrap();
                    self.log.push((Channel::Stdout, (0..argument.len()).step_by(2).map(byte).collect()));
                }
                "fill" => self.log.push((Channel::Stdout, fill(argument.parse().unwrap()).into())),
                "cat" => self.log.push((Channel::Stdout, self.files.content(argument).unwrap().into())),
                "append" | "remove" if self.profile == Profile::ReadOnly.name() => {
                    self.log.push((Channel::Stderr, "the workspace is read-only".into()));
                    self.exited = Some(exited(ExitStatus::Code(1), false, false));
                }
                "append" => {
                    let (path, more) = argument.split_once(':').unwrap();
                    let content = self.files.content(path).unwrap_or_default();
                    self.files.write(path, &format!("{content}{more}"));
                }
                "remove" => self.files.remove(argument),
                "pwd" => self.log.push((Channel::Stdout, format!("/workspace/{}\n", self.directory).into())),
                "profile" => self.log.push((Channel::Stdout, self.profile.into())),
                "signal" => {
                    self.exited = Some(exited(ExitStatus::Signal(argument.parse().unwrap()), false, false));
                }
                "timeout" => self.exited = Some(exited(ExitStatus::Signal(15), true, false)),
                "exit" => {
                    self.exited = Some(exited(ExitStatus::Code(argument.parse().unwrap()), false, false));
                }
                other => panic!("no such word: {other}"),
            }
            if !self.words.is_empty() {
                self.words.remove(0);
            }
        }
    }
}

fn exited(status: ExitStatus, timed_out: bool, cancelled: bool) -> ExecExited {
    ExecExited { status, timed_out, cancelled, sandbox_denied: false, duration_us: 1500 }
}

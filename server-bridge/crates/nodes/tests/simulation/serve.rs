//! Serves a client's request at the home: modelled on the server's exec socket, with the real ledger and router.

use std::time::Duration;

use execs::{Begun, Ending, ExecKind, ExecStatus, Recorded, follow, time_away};
use sandbox::{AckMode, AttachOptions, ExecEvent, ExecOutcome, Sandbox, SandboxError};
use store::{MessageRole, User, UserId};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use crate::house::{ALL, Ask, Exec, Frame};
use crate::node::Node;

/// The maximum number of messages that are read from a chat.
const MESSAGES: u32 = 1_000;
/// How long a client may take to acknowledge the end, as in the server's limits.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Serves a request to its end.
pub(crate) async fn serve(node: &Node, user: UserId, ask: Ask, out: mpsc::Sender<Frame>) {
    let answer = match ask {
        Ask::Post { chat, text } => {
            match node.store.append_message(user, &chat, MessageRole::User, &text, None).await {
                Ok(_) => Frame::Posted,
                Err(store::Error::Fenced) => Frame::Error("fenced".to_owned()),
                Err(error) => Frame::Error(error.to_string()),
            }
        }
        Ask::Read { chat } => match node.store.messages(user, &chat, None, MESSAGES).await {
            Ok((messages, _)) => Frame::Texts(messages.into_iter().map(|message| message.text).collect()),
            Err(error) => Frame::Error(error.to_string()),
        },
        Ask::Exec(exec) => {
            // The exec is cancelled when its home or its client ends.
            let Ok(Some(user)) = node.store.user_by_id(user).await else { return };
            let _awaited = node.execs.token();
            Serving { node, user, exec: &exec, out: &out }.run().await;
            return;
        }
    };
    let _gone = out.send(answer).await;
}

struct Serving<'a> {
    node: &'a Node,
    user: User,
    exec: &'a Exec,
    out: &'a mpsc::Sender<Frame>,
}

/// The reason why an exec is no longer served.
enum End {
    Finished(ExecOutcome),
    Failed(SandboxError),
    ClientGone,
    Stopping,
}

impl Serving<'_> {
    async fn run(&self) {
        let Exec { id, place, line, is_detached, .. } = self.exec;
        let request = execs::Request {
            exec_id: id,
            kind: ExecKind::Client,
            hash: line,
            on: Some(place),
            shown: line,
            run_as: None,
            goes_on: *is_detached,
            linger: None,
        };
        let ledger = &self.node.ledger;
        let stopped = ledger.stopped(self.user.id);
        let sandbox = match ledger.request(&self.user, &request, &stopped).await {
            Ok(Begun::New(sandbox)) => sandbox,
            Ok(Begun::Known(record)) => return self.go_on(*record).await,
            Err(error) => return self.say(Frame::Error(error.kind().to_owned())).await,
        };
        let _attended = ledger.attendance().enter(self.user.id, id, None);
        let mut sent = sandbox::ExecRequest::shell(line.clone());
        (sent.exec_id, sent.acks, sent.retain) = (follow::sandbox_id(id), AckMode::Manual, *is_detached);
        match sandbox.exec(sent).await {
            Ok(exec) if *is_detached => self.detach(exec).await,
            Ok(exec) => self.attend(exec, None, 0).await,
            Err(error) => {
                let _recorded = self.record(&Ending::failed(&error), true).await;
                self.say(Frame::Error(error.kind().to_owned())).await;
            }
        }
    }

    async fn detach(&self, mut exec: sandbox::Exec) {
        if let Some(ExecEvent::Failed(error)) = exec.next().await {
            let _recorded = self.record(&Ending::failed(&error), true).await;
            return self.say(Frame::Error(error.kind().to_owned())).await;
        }
        exec.leave();
        self.be_followed().await;
        self.say(Frame::Detached).await;
    }

    async fn be_followed(&self) {
        let (ledger, id) = (&self.node.ledger, &self.exec.id);
        if !ledger.is_watched(self.user.id, id) {
            // If this fails, the next home follows the exec.
            let _follows = ledger.follow_id(&self.user, id).await;
        }
    }

    /// Serves a client from its offset: from the runner, or from the record if the runner no longer has the exec.
    async fn go_on(&self, record: execs::Exec) {
        let ledger = &self.node.ledger;
        let _attended = ledger.attendance().enter(self.user.id, &record.exec_id, None);
        let is_running = record.status == ExecStatus::Running;
        let until = is_running.then(|| Instant::now() + time_away(&record));
        let stopped = ledger.stopped(self.user.id);
        loop {
            let attached = tokio::select! {
                attached = self.attach(&record, until) => attached,
                () = self.exec.gone.cancelled() => return,
                () = self.out.closed() => return,
                () = stopped.cancelled() => return,
            };
            let error = match attached {
                Ok(mut exec) => {
                    let first = tokio::select! {
                        first = exec.next() => first,
                        () = self.exec.gone.cancelled() => return self.go_without_client(exec).await,
                        () = self.out.closed() => return self.go_without_client(exec).await,
                        () = stopped.cancelled() => return,
                    };
                    match first {
                        Some(ExecEvent::Failed(error)) => error,
                        first => return self.attend(exec, first, self.exec.offset).await,
                    }
                }
                Err(error) => error,
            };
            match error.kind() {
                "offline" if is_running => {}
                "no_such_exec" | "expired" | "lost" => break,
                kind if is_running => return self.say(Frame::Error(kind.to_owned())).await,
                _ => break,
            }
        }
        self.tell_recorded().await;
    }

    async fn attach(
        &self,
        record: &execs::Exec,
        until: Option<Instant>,
    ) -> Result<sandbox::Exec, SandboxError> {
        let lost = || SandboxError::Lost { runner: self.exec.place.clone() };
        let ledger = &self.node.ledger;
        let sandbox: Sandbox = match until {
            Some(until) => ledger.followed(&self.user, record).available(until).await?,
            None => ledger.sandbox_of(&self.user, record).await.map_err(|_| lost())?,
        };
        let options = AttachOptions { output: true, acks: AckMode::Manual };
        sandbox.attach(follow::sandbox_id(&record.exec_id), self.exec.offset, options).await
    }

    async fn tell_recorded(&self) {
        let (ledger, id) = (&self.node.ledger, self.exec.id.as_str());
        let Ok(mut record) = ledger.exec(self.user.id, id).await else { return };
        if record.status == ExecStatus::Running && !ledger.is_watched(self.user.id, &record.exec_id) {
            let lost = SandboxError::Lost { runner: self.exec.place.clone() };
            let _recorded = ledger.settle(&self.user, &record, &Ending::failed(&lost)).await;
            let Ok(known) = ledger.exec(self.user.id, id).await else { return };
            record = known;
        }
        self.say(match record.status {
            ExecStatus::Running => Frame::Error("later".to_owned()),
            ExecStatus::Lost | ExecStatus::Failed => Frame::Error(record.status.as_str().to_owned()),
            status => Frame::Exit { code: record.exit_code, is_cancelled: status == ExecStatus::Cancelled },
        })
        .await;
    }

    /// Serves the client until the command ends; if the client leaves, keeps the command for the grace period.
    async fn attend(&self, mut exec: sandbox::Exec, first: Option<ExecEvent>, offset: u64) {
        let stopped = self.node.ledger.stopped(self.user.id);
        let end = tokio::select! {
            end = self.output(&mut exec, first, offset) => end,
            () = self.exec.gone.cancelled() => End::ClientGone,
            () = self.out.closed() => End::ClientGone,
            () = stopped.cancelled() => End::Stopping,
        };
        match end {
            End::Failed(error) if error.kind() == "detached" => {
                self.say(Frame::Error(error.kind().to_owned())).await;
            }
            End::Finished(outcome) => {
                let last = Frame::Exit { code: outcome.code, is_cancelled: outcome.cancelled };
                self.end(&exec, &Ending::of(&outcome), false, last).await;
            }
            End::Failed(error) => {
                let last = Frame::Error(error.kind().to_owned());
                self.end(&exec, &Ending::failed(&error), true, last).await;
            }
            End::ClientGone => self.go_without_client(exec).await,
            End::Stopping => exec.leave(),
        }
    }

    /// Records the end of an exec and sends it to the client; only after that may the runner forget the exec.
    async fn end(&self, exec: &sandbox::Exec, ending: &Ending, is_failure: bool, last: Frame) {
        let (recorded, is_said) = tokio::join!(self.record(ending, is_failure), self.say_last(last));
        if let Some(recorded) = recorded
            && !self.exec.is_detached
            && (is_said || !self.exec.acks)
        {
            recorded.acknowledge(exec);
        }
    }

    async fn output(&self, exec: &mut sandbox::Exec, first: Option<ExecEvent>, offset: u64) -> End {
        if self.out.send(Frame::Started).await.is_err() {
            return End::ClientGone;
        }
        let (mut has, mut counted) = (self.exec.has.clone(), offset);
        let (control, mut is_ended) = (exec.control(), false);
        let mut next = first;
        loop {
            let known = if self.exec.acks { *has.borrow_and_update() } else { exec.offset() };
            if let Some(more) = known.min(exec.offset()).checked_sub(counted) {
                counted += more;
                exec.consumed(more as usize);
            }
            let event = match next.take() {
                Some(event) => event,
                None => tokio::select! {
                    event = exec.next() => event.expect("an end comes first"),
                    Ok(()) = has.changed(), if self.exec.acks => continue,
                    () = self.exec.ended.cancelled(), if !is_ended => {
                        is_ended = true;
                        control.cancel();
                        continue;
                    }
                },
            };
            let frame = match event {
                ExecEvent::Stdout(bytes) => Frame::Data { is_stderr: false, bytes },
                ExecEvent::Stderr(bytes) => Frame::Data { is_stderr: true, bytes },
                ExecEvent::Gap { bytes, .. } => Frame::Gap(bytes),
                ExecEvent::Finished(outcome) => return End::Finished(outcome),
                ExecEvent::Failed(error) => return End::Failed(error),
                _ => continue,
            };
            if self.out.send(frame).await.is_err() {
                return End::ClientGone;
            }
        }
    }

    /// Handles the loss of the client: a detached command goes on, any other has a grace period.
    async fn go_without_client(&self, mut exec: sandbox::Exec) {
        if self.exec.is_detached {
            exec.leave();
            return self.be_followed().await;
        }
        let control = exec.control();
        let stopped = self.node.ledger.stopped(self.user.id);
        let ended = tokio::select! {
            ended = timeout(execs::limits::CLIENT_GRACE, drain(&mut exec)) => match ended {
                Ok(ended) => Some(ended),
                Err(_) => {
                    control.cancel();
                    Some(drain(&mut exec).await)
                }
            },
            () = stopped.cancelled() => None,
        };
        let Some(ended) = ended else { return exec.leave() };
        let ending = match &ended {
            Ok(outcome) => Ending::of(outcome),
            Err(error) if error.kind() == "detached" => return,
            Err(error) => Ending::failed(error),
        };
        let _recorded = self.record(&ending, ended.is_err()).await;
    }

    /// Records an end, unless other code has to do that; `None` if it is uncertain whether the end is on record.
    async fn record(&self, ending: &Ending, is_failure: bool) -> Option<Recorded> {
        let (ledger, id) = (&self.node.ledger, &self.exec.id);
        let record = execs::patiently(ledger.known(self.user.id, id)).await.ok()??;
        if is_failure && ledger.is_watched(self.user.id, id) {
            return None;
        }
        ledger.settle(&self.user, &record, ending).await
    }

    /// Sends the last frame; returns true if the client received it.
    async fn say_last(&self, last: Frame) -> bool {
        if self.out.send(last).await.is_err() {
            return false;
        }
        let mut has = self.exec.has.clone();
        matches!(timeout(CLOSE_TIMEOUT, has.wait_for(|has| *has == ALL)).await, Ok(Ok(_)))
    }

    async fn say(&self, frame: Frame) {
        let _gone = self.out.send(frame).await;
    }
}

/// Waits for the end of a command, and discards its output.
async fn drain(exec: &mut sandbox::Exec) -> Result<ExecOutcome, SandboxError> {
    loop {
        match exec.next().await {
            Some(ExecEvent::Finished(outcome)) => return Ok(outcome),
            Some(ExecEvent::Failed(error)) => return Err(error),
            Some(_) => {}
            None => unreachable!("an end comes first"),
        }
    }
}

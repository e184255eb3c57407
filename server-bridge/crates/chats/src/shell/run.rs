//! Runs one command from its start to the record of its end.

use std::convert::Infallible;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use execs::{End, Point, Recorded, ShownEnd, fault};
use sandbox::{ExecRequest, RouteRequest, Sandbox};
use store::{ExecStatus, Message};

use crate::ChatEvent;
use crate::exec_document::{apply, to_json};
use crate::house::House;
use crate::limits::COMMAND_TIMEOUT_S;
use crate::running::Slot;
use crate::transcript::LeftOut;
use api::document::ExecDocument;
use execs::Ending;

/// A command that is recorded as running and shown by a message.
pub(crate) struct Run {
    pub(crate) service: Arc<House>,
    pub(crate) user: store::User,
    pub(crate) route_request: RouteRequest,
    pub(crate) message: Message,
    pub(crate) document: ExecDocument,
    pub(crate) exec_id: store::ExecId,
    pub(crate) slot: Slot,
    pub(crate) command: String,
    pub(crate) begin: Begin,
    /// True if the transcript contains everything that the command wrote so far; until then, the message shows the stored output.
    pub(crate) is_live: bool,
}

/// The way in which a run begins.
#[derive(Clone)]
pub(crate) enum Begin {
    /// The command is sent.
    Send(Box<ExecRequest>),
    /// The command was sent by an earlier run of the server, if that run had found a place for it.
    Attach { was_routed: bool },
}

/// The end of a command, before it is recorded.
pub(super) struct Ended {
    pub(super) ending: Ending,
    pub(super) text: String,
    /// `None` for a command that an earlier run of the server began and whose end was not seen.
    pub(super) duration: Option<Duration>,
    /// The sandbox that keeps the command's result until the end is recorded.
    pub(super) result_at: Option<Sandbox>,
}

impl Ended {
    pub(super) fn without_output(ending: Ending) -> Self {
        Self { ending, text: String::new(), duration: None, result_at: None }
    }

    fn before_it_began(ending: Ending) -> Self {
        Self { duration: Some(Duration::ZERO), ..Self::without_output(ending) }
    }
}

impl Run {
    /// Runs the command to its end and records that; or, when the server stops, leaves it running and on record as running.
    pub(crate) async fn run(mut self) {
        let _watch = self.service.execs.watch(self.user.id, &self.exec_id);
        let ended = match self.begin.clone() {
            Begin::Send(request) => self.send(*request).await,
            Begin::Attach { was_routed } => self.go_on(was_routed).await,
        };
        let Some(Ended { ending, text, duration, result_at }) = ended else { return };
        self.document.duration_ms =
            duration.map(|duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX));
        let shown = Shown { user: &self.user, message: &self.message, command: &self.command };
        let recorded =
            conclude(&self.service, shown, &mut self.document, &self.exec_id, &ending, &text).await;
        match recorded {
            Ok((recorded, _)) => {
                if let Some(sandbox) = result_at {
                    recorded.acknowledge_at(&sandbox);
                }
            }
            // The runner keeps the result, and the server records it at its next start.
            Err(error) => {
                tracing::warn!(%error, exec_id = %self.exec_id, "the end of a command could not be recorded");
            }
        }
    }

    async fn send(&mut self, request: ExecRequest) -> Option<Ended> {
        let user = execs::sandbox_user(&self.user);
        let (stop, cancelled) = (self.service.stops.of(self.user.id), &self.slot.cancelled);
        let routed = tokio::select! {
            biased;
            () = stop.cancelled() => None,
            () = cancelled.cancelled() => None,
            routed = self.service.router.for_user(&user, &self.route_request) => Some(routed),
        };
        let sandbox = match routed {
            Some(Ok(sandbox)) => sandbox,
            Some(Err(error)) => {
                return Some(Ended::before_it_began(Ending::refused(error.kind(), &error)));
            }
            None => {
                let ending = self.explained(Ending::cancelled_before_it_began());
                return Some(Ended::before_it_began(ending));
            }
        };
        self.document.runner = Some(sandbox.place().to_owned());
        self.command = sandbox.shown_as(request.named_user(), &self.command);
        let sent = sandbox.exec(request).await;
        fault(Point::Sent);
        match sent {
            Ok(exec) => self.accompany(exec, &sandbox).await,
            Err(error) => Some(Ended::before_it_began(Ending::failed(&error))),
        }
    }

    /// Follows a command to its end. Cancels it if its user asks for that, or if the server stops and the command cannot outlive it;
    /// `None` if it was left to the next run of the server.
    pub(super) async fn accompany(&mut self, mut exec: sandbox::Exec, sandbox: &Sandbox) -> Option<Ended> {
        let (stop, cancelled) = (self.service.stops.of(self.user.id), self.slot.cancelled.clone());
        let outlives_server = sandbox.outlives_server();
        let control = exec.control();
        let relay = async {
            tokio::select! {
                () = cancelled.cancelled() => {}
                () = stop.cancelled(), if !outlives_server => {}
            }
            control.cancel();
            std::future::pending::<Infallible>().await
        };
        let ended = tokio::select! {
            biased;
            () = stop.cancelled(), if outlives_server => None,
            never = relay => match never {},
            ended = self.follow(&mut exec, sandbox) => Some(ended),
        };
        if ended.is_none() {
            exec.leave();
            if self.is_live {
                self.store_snapshot().await;
            }
        }
        ended
    }

    /// Adds the explanations of an end that apply only to chats: the time limit, and the stop of the server.
    pub(super) fn explained(&self, mut ending: Ending) -> Ending {
        if ending.outcome.status == ExecStatus::TimedOut {
            ending.outcome.error = Some(format!(
                "stopped after {COMMAND_TIMEOUT_S} s, the time limit of a command in a chat; `sandbridge exec` has no such limit"
            ));
        }
        if self.service.is_stopping(self.user.id) { ending.while_the_server_stops() } else { ending }
    }

    /// The text of the message while the command runs.
    pub(super) fn text_so_far(&self) -> String {
        if !self.is_live {
            return self.message.text.clone();
        }
        let transcript = self.slot.transcript.lock().unwrap_or_else(PoisonError::into_inner);
        transcript.render(&LeftOut::SoFar, self.service.language(self.user.id))
    }

    /// Stores the state of the command and sends its event.
    pub(super) async fn show_so_far(&self) {
        let text = self.text_so_far();
        if let Err(error) = self.service.show(self.user.id, self.message.id, &text, &self.document).await {
            tracing::debug!(%error, exec_id = %self.exec_id, "the state of a command could not be stored");
        }
    }

    pub(super) async fn store_snapshot(&self) {
        let (text, document) = (self.text_so_far(), to_json(&self.document));
        let stored = self.service.store.update_message(self.user.id, self.message.id, &text, Some(&document));
        if let Err(error) = stored.await {
            tracing::debug!(%error, exec_id = %self.exec_id, "the output so far could not be stored");
        }
    }
}

/// A command's user and message.
#[derive(Clone, Copy)]
pub(crate) struct Shown<'a> {
    pub(crate) user: &'a store::User,
    pub(crate) message: &'a Message,
    pub(crate) command: &'a str,
}

/// Records a command's end, with its audit entry and its message, and sends the event to the user's clients. The returned message is
/// `None` if it was deleted; everything else is recorded nevertheless.
pub(crate) async fn conclude(
    service: &House,
    shown: Shown<'_>,
    document: &mut ExecDocument,
    exec_id: &store::ExecId,
    ending: &Ending,
    text: &str,
) -> store::Result<(Recorded, Option<Message>)> {
    apply(document, &ending.outcome);
    document.error = document.error.take().map(|error| service.in_words_of(shown.user.id, &error));
    let json = to_json(document);
    let end = End {
        user: shown.user,
        exec_id,
        place: document.runner.as_deref(),
        shown: shown.command,
        ending,
        message: Some(ShownEnd { id: shown.message.id, text, document: &json }),
    };
    let recorded = service.execs.end(end).await?;
    let message = recorded.message().cloned();
    match &message {
        Some(message) => service.tell(shown.user.id, ChatEvent::Message(message.clone())),
        None if recorded.is_new() => service.bus.forget(shown.message.id),
        // The command's end was recorded earlier, without the message's text.
        None => drop(service.show(shown.user.id, shown.message.id, text, document).await),
    }
    Ok((recorded, message))
}

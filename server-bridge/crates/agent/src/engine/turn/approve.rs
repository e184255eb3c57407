//! Asking the user before a tool call takes effect.

use std::sync::Arc;

use records::MessageId;

use super::run_tools::Begun;
use super::{CANCELLED, End, Turn};
use crate::approval::{Access, Answer};
use crate::ask::{Ask, Asking, Kind};
use crate::engine::ports::{CallState, CallStatus, Card, Display};
use crate::limits::APPROVAL_PATIENCE;
use crate::tool::{Failure, Ground, Looked, Outcome, Understood};

/// A question to the user that waits for its answer.
pub(super) struct Question {
    asking: Asking,
    /// For a sub-agent's question: the message in the user's own chat that asks it, and that chat's display.
    elsewhere: Option<(MessageId, Arc<dyn Display>)>,
}

impl Turn<'_> {
    /// The access that a call has on its machine: a call that names another user account may run as the privileged user.
    pub(super) async fn access(&self, call: &Understood) -> Access {
        let Some(named) = call.run_as() else { return call.access() };
        match self.ports.workplace.sandbox().await {
            Ok(sandbox) if !sandbox.needs_approval(named) => call.access(),
            // If this is unknown, the user is asked: asking too often is safer than too rarely.
            Ok(_) | Err(_) => Access::Privileged,
        }
    }

    /// Determines what a call would do in its place.
    ///
    /// Fails with a text for the model if the call would fail anyway.
    pub(super) async fn look(
        &self,
        call: &Understood,
        access: Access,
    ) -> Result<Result<Looked, String>, End> {
        let cwd = self.ports.workplace.cwd().await?;
        let ground = match self.ports.workplace.sandbox().await {
            Ok(sandbox) => Ground::of(sandbox, cwd, call.run_as()).await,
            Err(error) => Err(error),
        };
        let ground = match ground {
            Ok(ground) => Some(ground),
            Err(Failure::Port(error)) => return Err(error.into()),
            Err(error) if access.needs_ground() => return Ok(Err(error.to_string())),
            Err(_) => None,
        };
        Ok(match call.look(ground.as_ref()).await {
            Ok(looked) => Ok(match access.only_once() {
                Some(why) => looked.only_once(why),
                None => looked,
            }),
            Err(Failure::Port(error)) => return Err(error.into()),
            Err(error) => Err(error.to_string()),
        })
    }

    /// True if the user has allowed this call for good.
    pub(super) async fn is_allowed_for_good(
        &self,
        tool: &str,
        access: Access,
        subject: &str,
    ) -> Result<bool, End> {
        Ok(access.may_be_remembered() && self.ports.permissions.is_allowed(tool, subject).await?)
    }

    /// Asks the user with the card of the call, which then shows the question; a sub-agent asks in the user's own chat, with
    /// a card that names it.
    pub(super) async fn ask_user(&self, begun: &Begun, message: MessageId) -> Result<Question, End> {
        let permissions = &self.ports.permissions;
        let ask = Ask { kind: Kind::Approval, patience: APPROVAL_PATIENCE };
        let Some(delegation) = self.ancestry.delegation() else {
            let asking = permissions.ask(message, ask).await?;
            return Ok(Question { asking, elsewhere: None });
        };
        let display = Arc::clone(self.ancestry.users_display());
        let name = delegation.name();
        let card = |state| Card { asked_by: Some(&name), ..begun.card(state) };
        let shown = display.keep_call(card(CallState::Runs)).await?;
        let asking = permissions.ask(shown, ask).await?;
        display.call(shown, card(CallState::Asks(begun.looked(), begun.access()))).await?;
        display.tell(shown);
        Ok(Question { asking, elsewhere: Some((shown, display)) })
    }

    /// Waits for the user's answer; returns a text for the model if the call is not allowed.
    pub(super) async fn answered(
        &self,
        begun: &Begun,
        question: Option<Question>,
    ) -> Result<Option<Outcome>, End> {
        let Some(Question { mut asking, elsewhere }) = question else { return Ok(None) };
        let away = self.ancestry.place().leave();
        let answer = async {
            let answer = asking.approval().await;
            away.end().await;
            answer
        };
        let answer = tokio::select! {
            answer = answer => Some(answer),
            () = self.cancelled.cancelled() => None,
        };
        if let (Some((shown, display)), Some(delegation)) = (elsewhere, self.ancestry.delegation()) {
            let status = match answer {
                Some(Some(Answer::Allow | Answer::AllowForGood)) => CallStatus::Done,
                Some(Some(Answer::Deny | Answer::NobodyThere) | None) => CallStatus::Denied,
                None => CallStatus::Cancelled,
            };
            let name = delegation.name();
            let card = Card { asked_by: Some(&name), ..begun.card(CallState::Settled(status)) };
            display.call(shown, card).await?;
        }
        let Some(answer) = answer else { return Ok(Some(Outcome::denied(CANCELLED))) };
        Ok(match answer {
            Some(Answer::Allow) => None,
            Some(Answer::AllowForGood) if !begun.access().may_be_remembered() => None,
            Some(Answer::AllowForGood) => {
                let looked = begun.looked();
                let scope = looked.proposal.always.as_deref().unwrap_or_default();
                self.ports.permissions.allow_for_good(begun.tool(), &looked.subject, scope).await?;
                None
            }
            Some(Answer::NobodyThere) => Some(Outcome::denied(
                "This needs the user's approval, and nobody could be asked: no person takes part in this chat",
            )),
            Some(Answer::Deny) => Some(Outcome::denied("The user does not allow this")),
            None => Some(Outcome::denied("Nobody was there to allow this, so it is denied")),
        })
    }
}

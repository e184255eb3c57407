//! Asking the user before a tool does something.

use llm::ToolCall;
use sandbox::Wish;
use store::MessageId;
use tokio::time::timeout;

use super::{End, Turn};
use crate::approval::{Access, Answer, Mode};
use crate::engine::AgentDocument;
use crate::engine::show::Screen;
use crate::limits::APPROVAL_PATIENCE;
use crate::place::sandbox_user;
use crate::questions::{Asking, Wanted};
use crate::tool::{Failure, Ground, Looked, Outcome, Understood};
use crate::tools::COMMANDS;

/// A question to the user that waits for its answer.
pub(super) struct Question {
    asking: Asking,
    /// Where it is a sub-agent's: what asks it in the user's own chat.
    elsewhere: Option<(MessageId, AgentDocument)>,
}

impl Turn<'_> {
    /// How much may be done without asking at the moment: what the user said in their own chat holds for all beneath it.
    pub(super) async fn mode(&self) -> Result<Mode, End> {
        let word = self.service.store.approval(self.user.id, self.lineage.root()).await?;
        // A newer server's word: rather ask once too often.
        Ok(word.parse().unwrap_or(Mode::Ask))
    }

    /// What a call does there: one that names another user may be the privileged user's.
    pub(super) async fn access(&self, parsed: &Understood, wish: &Wish) -> Access {
        let Some(named) = parsed.run_as() else { return parsed.access() };
        match self.service.router.for_user(&sandbox_user(self.user), wish).await {
            Ok(sandbox) if !sandbox.needs_approval(named) => parsed.access(),
            // Rather ask once too often.
            Ok(_) | Err(_) => Access::Privileged,
        }
    }

    /// Looks at what a call would do, where it works.
    ///
    /// Fails with what the model is told where it would fail anyway.
    pub(super) async fn look(
        &self,
        parsed: &Understood,
        access: Access,
        wish: &Wish,
    ) -> Result<Result<Looked, String>, End> {
        let cwd = self.service.store.chat_cwd(self.user.id, self.chat).await?;
        let ground = match self.service.router.for_user(&sandbox_user(self.user), wish).await {
            Ok(sandbox) => Ground::of(sandbox, cwd, parsed.run_as()).await,
            Err(error) => Err(error.into()),
        };
        let ground = match ground {
            Ok(ground) => Some(ground),
            Err(Failure::Store(error)) => return Err(error.into()),
            Err(error) if access.needs_ground() => return Ok(Err(error.to_string())),
            Err(_) => None,
        };
        Ok(match parsed.look(ground.as_ref()).await {
            Ok(mut looked) => {
                if let Some(why) = access.only_once() {
                    (looked.document.always, looked.document.only_once) = (None, Some(why.to_owned()));
                }
                Ok(looked)
            }
            Err(Failure::Store(error)) => return Err(error.into()),
            Err(error) => Err(error.to_string()),
        })
    }

    /// Whether its user allowed a call for good.
    pub(super) async fn is_allowed_for_good(
        &self,
        call: &ToolCall,
        access: Access,
        subject: &str,
    ) -> Result<bool, End> {
        let store = &self.service.store;
        Ok(access.may_be_remembered()
            && store.is_allowed(self.user.id, self.lineage.root(), &call.name, subject).await?)
    }

    /// A file is changed, or was, without anybody being asked: a command that was allowed for good may do something else now.
    pub(super) async fn changes_unasked(&self) -> Result<(), End> {
        let store = &self.service.store;
        Ok(store.forget_allowed(self.user.id, self.lineage.root(), COMMANDS).await?)
    }

    /// Asks the user, with the message that shows the call; a sub-agent asks in the user's own chat, in a message that says
    /// who asks.
    pub(super) async fn ask_user(
        &self,
        message: MessageId,
        mut document: AgentDocument,
    ) -> Result<Question, End> {
        let questions = &self.service.engine.questions;
        let Some(errand) = self.lineage.errand() else {
            return Ok(Question {
                asking: questions.ask(self.user.id, message, Wanted::Approval),
                elsewhere: None,
            });
        };
        if let AgentDocument::Tool { asked_by, detail, .. } = &mut document {
            let name = errand.name();
            *detail = format!("The sub-agent {name} asks for this:\n{detail}");
            *asked_by = Some(name);
        }
        let shown = self.users_screen().keep("", &document).await?;
        let asking = questions.ask(self.user.id, shown.id, Wanted::Approval);
        self.users_screen().tell(&shown);
        Ok(Question { asking, elsewhere: Some((shown.id, document)) })
    }

    fn users_screen(&self) -> Screen<'_> {
        Screen { chat: self.lineage.root(), turn: self.lineage.turn(), ..self.screen() }
    }

    /// Waits for the user's answer; what the model is told where it is not allowed.
    pub(super) async fn answered(
        &self,
        call: &ToolCall,
        access: Access,
        subject: &str,
        question: Option<Question>,
    ) -> Result<Option<Outcome>, End> {
        let Some(Question { mut asking, elsewhere }) = question else { return Ok(None) };
        let away = self.lineage.place().leave();
        let answer = async {
            let answer = timeout(APPROVAL_PATIENCE, asking.approval()).await;
            away.end().await;
            answer
        };
        let answer = tokio::select! {
            answer = answer => Some(answer),
            () = self.cancelled.cancelled() => None,
        };
        if let Some((shown, document)) = elsewhere {
            let status = match answer {
                Some(Ok(Answer::Allow | Answer::AllowForGood)) => "done",
                Some(Ok(Answer::Deny | Answer::NobodyThere) | Err(_)) => "denied",
                None => "cancelled",
            };
            self.users_screen().change(shown, "", &document.settled(status)).await?;
        }
        let Some(answer) = answer else { return Ok(Some(Outcome::denied("Cancelled by the user"))) };
        Ok(match answer {
            Ok(Answer::Allow) => None,
            Ok(Answer::AllowForGood) if !access.may_be_remembered() => None,
            Ok(Answer::AllowForGood) => {
                let store = &self.service.store;
                store.allow_for_good(self.user.id, self.lineage.root(), &call.name, subject).await?;
                None
            }
            Ok(Answer::NobodyThere) => Some(Outcome::denied(
                "This needs the user's word, and nobody could be asked: no person is at the other end of this chat",
            )),
            Ok(Answer::Deny) => Some(Outcome::denied("The user does not allow this")),
            Err(_) => Some(Outcome::denied("Nobody was there to allow this, so it is denied")),
        })
    }
}

//! Asking the user before a tool does something.

use llm::ToolCall;
use sandbox::Wish;
use tokio::time::timeout;

use super::{End, Turn};
use crate::approval::{Access, Answer, Mode, Verdict, verdict};
use crate::limits::APPROVAL_PATIENCE;
use crate::place::sandbox_user;
use crate::questions::Asking;
use crate::tools::{Call, Outcome};

impl Turn<'_> {
    /// How much may be done without asking at the moment.
    pub(super) async fn mode(&self) -> Result<Mode, End> {
        let word = self.service.store.approval(self.user.id, self.chat).await?;
        // A newer server's word: rather ask once too often.
        Ok(word.parse().unwrap_or(Mode::Ask))
    }

    /// What a call does there: one that names another user may be the privileged user's.
    pub(super) async fn access(&self, parsed: &Call, wish: &Wish) -> Access {
        let Some(named) = parsed.run_as() else { return parsed.access() };
        match self.service.router.for_user(&sandbox_user(self.user), wish).await {
            Ok(sandbox) if !sandbox.needs_approval(named) => parsed.access(),
            // Rather ask once too often.
            Ok(_) | Err(_) => Access::Privileged,
        }
    }

    /// What is allowed for good where its user says so: a command there, in that directory and as that user, or every change
    /// of a file.
    pub(super) async fn subject(&self, parsed: &Call, place: Option<&str>) -> Result<String, End> {
        if parsed.access() != Access::Run {
            return Ok(parsed.subject().to_owned());
        }
        let cwd = self.service.store.chat_cwd(self.user.id, self.chat).await?;
        let named = parsed.run_as().map(|user| format!("\0{user}")).unwrap_or_default();
        Ok(format!("{}\0{cwd}\0{}{named}", place.unwrap_or_default(), parsed.subject()))
    }

    /// What is said to a call that is about to begin.
    pub(super) async fn verdict(
        &self,
        mode: Mode,
        call: &ToolCall,
        access: Access,
        subject: &str,
    ) -> Result<Verdict, End> {
        let verdict = verdict(mode, access);
        if verdict == Verdict::Asks
            && access.may_be_remembered()
            && self.service.store.is_allowed(self.user.id, self.chat, &call.name, subject).await?
        {
            return Ok(Verdict::Allowed);
        }
        Ok(verdict)
    }

    /// Waits for the user's answer; what the model is told where it is not allowed.
    pub(super) async fn answered(
        &self,
        call: &ToolCall,
        access: Access,
        subject: &str,
        asking: Option<Asking>,
    ) -> Result<Option<Outcome>, End> {
        let Some(mut asking) = asking else { return Ok(None) };
        self.place.leave();
        let answer = async {
            let answer = timeout(APPROVAL_PATIENCE, asking.approval()).await;
            self.place.come_back().await;
            answer
        };
        let answer = tokio::select! {
            answer = answer => answer,
            () = self.cancelled.cancelled() => return Ok(Some(Outcome::denied("Cancelled by the user"))),
        };
        Ok(match answer {
            Ok(Answer::Allow) => None,
            Ok(Answer::AllowForGood) if !access.may_be_remembered() => None,
            Ok(Answer::AllowForGood) => {
                let store = &self.service.store;
                store.allow_for_good(self.user.id, self.chat, &call.name, subject).await?;
                None
            }
            Ok(Answer::Deny) => Some(Outcome::denied("The user does not allow this")),
            Err(_) => Some(Outcome::denied("Nobody was there to allow this, so it is denied")),
        })
    }
}

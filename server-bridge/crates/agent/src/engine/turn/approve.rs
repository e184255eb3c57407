//! Asking the user before a tool does something.

use llm::ToolCall;
use tokio::time::timeout;

use super::{End, Turn};
use crate::approval::{Access, Answer, Asking, Mode, Verdict, verdict};
use crate::limits::APPROVAL_PATIENCE;
use crate::tools::{Call, Outcome};

impl Turn<'_> {
    /// How much may be done without asking at the moment.
    pub(super) async fn mode(&self) -> Result<Mode, End> {
        let word = self.service.store.approval(self.user.id, self.chat).await?;
        // A newer server's word: rather ask once too often.
        Ok(word.parse().unwrap_or(Mode::Ask))
    }

    /// What is allowed for good where its user says so: a command there and in that directory, or every change of a file.
    pub(super) async fn subject(&self, parsed: &Call, place: Option<&str>) -> Result<String, End> {
        if parsed.access() != Access::Run {
            return Ok(parsed.subject().to_owned());
        }
        let cwd = self.service.store.chat_cwd(self.user.id, self.chat).await?;
        Ok(format!("{}\0{cwd}\0{}", place.unwrap_or_default(), parsed.subject()))
    }

    /// What is said to a call that is about to begin.
    pub(super) async fn verdict(
        &self,
        mode: Mode,
        call: &ToolCall,
        parsed: &Call,
        subject: &str,
    ) -> Result<Verdict, End> {
        let verdict = verdict(mode, parsed.access());
        if verdict == Verdict::Asks
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
        subject: &str,
        asking: Option<Asking>,
    ) -> Result<Option<Outcome>, End> {
        let Some(mut asking) = asking else { return Ok(None) };
        self.place.leave();
        let answer = async {
            let answer = timeout(APPROVAL_PATIENCE, asking.answer()).await;
            self.place.come_back().await;
            answer
        };
        let answer = tokio::select! {
            answer = answer => answer,
            () = self.cancelled.cancelled() => return Ok(Some(Outcome::denied("Cancelled by the user"))),
        };
        Ok(match answer {
            Ok(Answer::Allow) => None,
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

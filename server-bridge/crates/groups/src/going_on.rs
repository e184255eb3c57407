//! Asks a person whether agents may go on, when they have reached the limit on messages without a person.
//!
//! ```text
//!   a message too many ─▶ refused ─▶ in the last step that began: the step's gate, once its agent has answered
//!                                └─▶ elsewhere: a run of one step that begins with a gate ─ approve ─▶ the agent is asked again
//! ```
//! Both are ordinary gates: stored, answered once, on the page or in the terminal.

use api::chain::{ChainDraft, ChainStep};
use api::words::GateKind;
use chains::limits::REQUEST_MAX_BYTES;
use store::limits::AGENT_MESSAGES;
use store::{NewGate, NewRunOfChain};

use crate::error::{Error, Result};
use crate::house::Inner;
use crate::known::Known;
use crate::talk::Speaker;

/// The name of a run that only asks this question; other runs have the name of their chain.
const NAME: &str = "messages";

/// The text with which the agent's message is refused.
const TOO_MANY: &str = "the agents have reached the limit on messages without a person; a person is now asked whether they may go on; end your \
answer with what you have, and say what is still open";

impl Inner {
    /// Refuses a message beyond the limit, and asks a person, once, whether the agents may go on.
    pub(crate) async fn too_many(&self, speaker: &Speaker, wanted: &str) -> Error {
        let asked = self.ask_to_go_on(speaker, wanted).await;
        self.changed(speaker.agent.group_id).await;
        match asked {
            Ok(()) => Error::refused("limit", TOO_MANY),
            Err(error) => error,
        }
    }

    async fn ask_to_go_on(&self, speaker: &Speaker, wanted: &str) -> Result<()> {
        let mut budget = None;
        let root = self.root_call(&speaker.origin).await?;
        if let Some((root, run)) = root.as_ref().and_then(|root| root.run_id.map(|run| (root, run))) {
            let run = self.store.group_run(root.group_id, run).await?;
            let known = Known::read(self, &run).await?;
            if run.ended_at_ms.is_none() && known.is_last(root) {
                // The step's own gate asks once its agent has answered.
                return Ok(());
            }
            budget = Some(known.run(&run).left());
        }
        let step = ChainStep {
            agent: speaker.agent.handle.clone(),
            instruction: format!(
                "The agents stopped after {AGENT_MESSAGES} messages, and a person has let you go on: you may exchange {AGENT_MESSAGES} more. The \
                 request is what you wanted to say. Say it if it is still needed, and go on where you stopped."
            ),
            ..ChainStep::default()
        };
        let draft = ChainDraft { steps: vec![step], budget };
        let question = format!(
            "The agents have exchanged {AGENT_MESSAGES} messages since {} asked, and stopped. May they exchange as many again?",
            speaker.user.name
        );
        let new = NewRunOfChain {
            group: speaker.agent.group_id,
            chain: NAME,
            document_json: &serde_json::to_string(&draft).expect("texts are always JSON"),
            request: &wanted[..wanted.floor_char_boundary(REQUEST_MAX_BYTES)],
            user: speaker.user.id,
            user_name: &speaker.user.name,
            send_id: Some(&format!("{NAME}/{}", speaker.origin)),
            gate: Some(NewGate { step: 0, attempt: 0, kind: GateKind::Review.as_str(), question: &question }),
        };
        match self.store.begin_run(new).await {
            Ok(_) => Ok(()),
            // The group has reached its limit on runs. An entry in the log reports that the agents stopped.
            Err(error) if error.is_callers() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

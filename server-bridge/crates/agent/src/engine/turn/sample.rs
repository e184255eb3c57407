//! Asks the turn's model for one answer outside of its conversation, for a tool that needs one.

use llm::{Draft, Request, Stop, SystemPart, call};

use super::{End, Turn};
use crate::context::tokens;
use crate::tool::{Failure, SampleRequest, Sampled};

impl Turn<'_> {
    /// Asks the model that the chat uses now; the cost is recorded for the turn.
    pub(super) async fn sample(&self, request: SampleRequest) -> Result<Sampled, Failure> {
        let setup = match self.chain().await {
            Ok(chain) => chain.setup,
            Err(End::Port(error)) => return Err(error.into()),
            Err(End::Failed(_, why)) => return Err(Failure::Message(why)),
            Err(_) => return Err(Failure::Message("there is no model to ask".to_owned())),
        };
        let SampleRequest { system, messages, max_tokens } = request;
        let system = (!system.is_empty()).then_some(SystemPart { text: system, is_static: false });
        let request = Request {
            model: setup.name.clone(),
            tools: Vec::new(),
            system: system.into_iter().collect(),
            messages: messages.into_iter().map(Into::into).collect(),
            reminder: None,
            max_tokens: max_tokens.min(setup.reply_tokens),
            thinking_tokens: None,
        };
        let input_tokens = tokens::of_request(&request);
        // Dropped at the end, when what the request used is on record.
        let _hold = match self.hold(&setup, input_tokens, request.max_tokens, None).await {
            Ok(hold) => hold,
            Err(End::Failed(_, why)) => return Err(Failure::Message(why)),
            Err(_) => return Err(Failure::Message(super::CANCELLED.to_owned())),
        };
        let seat = self.ports.models.seat(setup.kind);
        let patience = self.ports.models.patience();
        let reply = call(&setup.model, &request, &mut Draft::default(), patience, &seat, |_| {}).await;
        let reply = reply.map_err(|error| Failure::Message(error.to_string()))?;
        self.ports.journal.spend(setup.spent(reply.usage)).await?;
        let is_cut = matches!(reply.stop, Stop::MaxTokens | Stop::ContextFull);
        Ok(Sampled { text: reply.message.text, model: setup.name, is_cut })
    }
}

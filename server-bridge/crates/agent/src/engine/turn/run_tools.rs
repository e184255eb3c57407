//! Running the calls of one answer.

use futures_util::{StreamExt, stream};
use llm::{Content, Message, ToolCall, ToolResult};
use sandbox::Wish;
use store::{MessageId, TurnUsage};

use super::{End, PLAN_MODE, Turn};
use crate::approval::{Asking, Mode, Verdict, verdict};
use crate::context::{Conversation, history, offload};
use crate::engine::show::{Output, shortened};
use crate::engine::{AgentDocument, tools_of_reply};
use crate::limits::{APPROVAL_DETAIL_BYTES, TOOL_NAME_CHARS, TOOLS_AT_ONCE};
use crate::place::sandbox_user;
use crate::tools::{Call, Failure, Live, Outcome, Workshop};

/// A call that is shown, and about to begin.
struct Card {
    call: ToolCall,
    parsed: Result<Call, String>,
    place: Option<String>,
    /// How much could be done without asking when it was looked at.
    mode: Mode,
    /// What is allowed for good where its user says so.
    subject: String,
    verdict: Verdict,
    message: MessageId,
    asking: Option<Asking>,
}

impl Card {
    fn document(&self, status: &str) -> AgentDocument {
        AgentDocument::Tool {
            tool: self.call.name.chars().take(TOOL_NAME_CHARS).collect(),
            hint: self.parsed.as_ref().map(Call::hint).unwrap_or_default(),
            status: status.to_owned(),
            place: self.place.clone(),
            detail: match &self.parsed {
                Ok(parsed) if status == "asking" => parsed.detail(),
                _ => String::new(),
            },
        }
    }
}

impl Turn<'_> {
    /// Runs the calls of one answer, and adds what they came to.
    pub(super) async fn run_tools(
        &self,
        calls: &[ToolCall],
        is_cut: bool,
        wish: &Wish,
        conversation: &mut Conversation,
    ) -> Result<(), End> {
        let parsed: Vec<Result<Call, String>> = calls
            .iter()
            .enumerate()
            // The last one was being written when the tokens ran out.
            .map(|(at, call)| match (is_cut && at + 1 == calls.len(), Call::parse(call)) {
                (true, Err(_)) => {
                    Err("the answer was cut off within this call; write less at once".to_owned())
                }
                (_, parsed) => parsed,
            })
            .collect();
        let reads: Vec<bool> =
            parsed.iter().map(|call| call.as_ref().is_ok_and(Call::is_read_only)).collect();
        let mut parsed = parsed.into_iter();
        for group in tools_of_reply::groups(&reads) {
            // Shown in the order of the calls, however they end.
            let mut cards = Vec::with_capacity(group.len());
            for call in group.map(|at| calls[at].clone()) {
                let parsed = parsed.next().expect("there is one for each call");
                cards.push(self.begin_tool(call, parsed, wish).await?);
            }
            let running = cards.into_iter().map(|card| self.run_tool(card, wish));
            // To the end before anything else is awaited: what is not polled may hold the store's only writer.
            let results: Vec<_> = stream::iter(running).buffered(TOOLS_AT_ONCE).collect().await;
            let mut failure = None;
            for result in results {
                let (result, stops) = result?;
                let (turn, message) = (self.waiting.turn, Message::Tool(result));
                let item = history::to_json(&message);
                let item = self.service.store.append_turn_item(turn, &item, TurnUsage::default()).await?;
                conversation.push(item, turn, message);
                failure = failure.or(stops);
            }
            if let Some(failure) = failure {
                return Err(failure);
            }
            if self.cancelled.is_cancelled() {
                return Err(End::Cancelled);
            }
        }
        Ok(())
    }

    /// Shows a call that is about to begin, and asks for what it needs to be asked for.
    async fn begin_tool(
        &self,
        call: ToolCall,
        parsed: Result<Call, String>,
        wish: &Wish,
    ) -> Result<Card, End> {
        let place = self.service.router.check(&sandbox_user(self.user), wish).ok();
        let place = place.map(|target| target.name().to_owned());
        let mode = self.mode().await?;
        let subject = match &parsed {
            Ok(parsed) => self.subject(parsed, place.as_deref()).await?,
            Err(_) => String::new(),
        };
        let mut parsed = parsed;
        let mut verdict = Verdict::Allowed;
        if let Ok(known) = &parsed {
            verdict = self.verdict(mode, &call, known, &subject).await?;
            if verdict == Verdict::Asks && known.detail().len() > APPROVAL_DETAIL_BYTES {
                verdict = Verdict::Allowed;
                parsed = Err("this is too long to be shown to the user, who has to allow it; do it in parts"
                    .to_owned());
            }
        }
        let mut card =
            Card { call, parsed, place, mode, subject, verdict, message: MessageId(0), asking: None };
        let begins = if verdict == Verdict::Asks { "asking" } else { "running" };
        let message = self.screen().keep("", &card.document(begins)).await?;
        card.message = message.id;
        // Before anybody is told, so that no answer comes too soon.
        card.asking =
            (verdict == Verdict::Asks).then(|| self.service.engine.questions.ask(self.user.id, message.id));
        self.screen().tell(&message);
        Ok(card)
    }

    /// Runs one call and shows it; what it came to, and why the turn ends with it if it does.
    async fn run_tool(&self, mut card: Card, wish: &Wish) -> Result<(ToolResult, Option<End>), End> {
        let asking = card.asking.take();
        let Card { call, parsed, verdict, message, .. } = &card;
        let (verdict, message) = (*verdict, *message);
        let denied = match (verdict, parsed) {
            (Verdict::Asks, Ok(_)) => self.answered(call, &card.subject, asking).await?,
            (Verdict::Denied, _) => Some(Outcome::denied(PLAN_MODE)),
            (Verdict::Asks | Verdict::Allowed, _) => None,
        };
        if verdict == Verdict::Asks && denied.is_none() {
            self.screen().change(message, "", &card.document("running")).await?;
        }
        let output = Output::new(self.screen(), message);
        let (outcome, stops) = match (denied, parsed) {
            (Some(denied), _) => (denied, self.cancelled.is_cancelled().then_some(End::Cancelled)),
            (None, Ok(parsed)) => {
                let mut live = |text: &str| output.push(text);
                tokio::select! {
                    done = self.outcome(parsed, wish, card.mode, &mut live) => done?,
                    never = output.tell() => match never {},
                }
            }
            (None, Err(why)) => (Outcome::failed(why), None),
        };
        let status = match (&stops, outcome.is_error) {
            (Some(End::Cancelled), _) => "cancelled",
            _ if outcome.is_denied => "denied",
            (_, true) => "failed",
            (_, false) => "done",
        };
        self.screen().change(message, &shortened(&outcome.text), &card.document(status)).await?;
        let whose = (self.user.id, self.chat);
        let text = offload::kept(&self.service.store, whose, call, &outcome, card.place.as_deref()).await?;
        let content = vec![Content::Text(text)];
        Ok((ToolResult { call_id: call.id.clone(), content, is_error: outcome.is_error }, stops))
    }

    async fn outcome(
        &self,
        call: &Call,
        wish: &Wish,
        begun: Mode,
        live: Live<'_>,
    ) -> Result<(Outcome, Option<End>), End> {
        let Self { service, user, chat, waiting, cancelled } = *self;
        let now = self.mode().await?;
        if verdict(now, call.access()) == Verdict::Denied {
            return Ok((Outcome::denied(PLAN_MODE), None));
        }
        let is_plan = begun == Mode::Plan || now == Mode::Plan;
        let workshop = Workshop { service, user, chat, turn: waiting.turn, wish, cancelled, is_plan };
        let done = tokio::select! {
            done = call.run(&workshop, live) => done,
            () = cancelled.cancelled(), if !call.sees_cancel() => {
                return Ok((Outcome::failed("cancelled by the user"), Some(End::Cancelled)));
            }
        };
        match done {
            Ok(outcome) => Ok((outcome, cancelled.is_cancelled().then_some(End::Cancelled))),
            Err(Failure::Told(why)) => Ok((Outcome::failed(&why), None)),
            Err(Failure::Away(why)) => {
                let end =
                    End::Failed(format!("{why}; the turn ends here. Say anything to go on when it is back."));
                Ok((Outcome::failed(&why), Some(end)))
            }
            Err(Failure::Store(error)) => Err(error.into()),
        }
    }
}

//! Running the calls of one answer.

use futures_util::{StreamExt, stream};
use llm::{Content, Message, ToolCall, ToolResult};
use sandbox::{Approval, Wish};
use store::MessageId;
use tokio::time::Instant;

use super::approve::Question;
use super::host::CallHost;
use super::{End, PLAN_MODE, Turn};
use crate::approval::{Access, Mode, Verdict, verdict};
use crate::context::{Conversation, history, offload};
use crate::engine::show::{Output, shortened};
use crate::engine::tools_of_reply::{at_once, groups};
use crate::engine::{AgentDocument, ShownCall, SubAgentDocument, ToolData};
use crate::limits::{APPROVAL_DETAIL_BYTES, TOOL_NAME_CHARS};
use crate::place::sandbox_user;
use crate::tool::{Beside, Failure, Live, Looked, Outcome, ToolContext, Understood};

/// A call that is shown, and about to begin.
struct Card {
    call: ToolCall,
    parsed: Result<Understood, String>,
    place: Option<String>,
    /// What it does there.
    access: Access,
    /// How much could be done without asking when it was looked at; of what only looks nobody asks.
    mode: Option<Mode>,
    /// What it would do, where its user was to be asked.
    looked: Looked,
    verdict: Verdict,
    message: MessageId,
    question: Option<Question>,
    /// The sub-agent that it called.
    sub_agent: Option<SubAgentDocument>,
    /// When it began, once it has.
    began: Option<Instant>,
}

impl Card {
    /// The tool's name, as people are shown it.
    fn name(&self) -> String {
        self.call.name.chars().take(TOOL_NAME_CHARS).collect()
    }

    fn document(&self, status: &str) -> AgentDocument {
        let is_asking = status == "asking";
        AgentDocument::Tool {
            tool: self.name(),
            hint: self.parsed.as_ref().map(Understood::hint).unwrap_or_default(),
            status: status.to_owned(),
            place: self.place.clone(),
            detail: if is_asking { self.looked.document.to_text() } else { String::new() },
            approval: is_asking.then(|| Box::new(self.looked.document.clone())),
            data: match is_asking {
                true if !self.access.may_be_remembered() => Some(ToolData::Once),
                true => self.looked.edit.clone(),
                false => None,
            },
            sub_agent: self.sub_agent.clone().map(Box::new),
            asked_by: None,
            duration_ms: None,
        }
    }

    /// The same at its end.
    fn ended(&self, status: &str, shows: Option<ToolData>) -> AgentDocument {
        let mut document = self.document(status);
        if let AgentDocument::Tool { data, duration_ms, .. } = &mut document {
            *data = shows;
            *duration_ms = self.began.map(|began| began.elapsed().as_millis().try_into().unwrap_or(u64::MAX));
        }
        document
    }
}

impl Turn<'_> {
    /// Runs the calls of one answer, and adds what they came to; none that needs a machine where none could be reached when the
    /// turn began.
    pub(super) async fn run_tools(
        &self,
        calls: &[ToolCall],
        is_cut: bool,
        (wish, away): (&Wish, Option<&str>),
        conversation: &mut Conversation,
    ) -> Result<(), End> {
        let parsed: Vec<Result<Understood, String>> = calls
            .iter()
            .enumerate()
            // The last one was being written when the tokens ran out.
            .map(|(at, call)| {
                let understood = self.lineage.tools().understand(call);
                match (is_cut && at + 1 == calls.len(), away, understood) {
                    (true, _, Err(_)) => {
                        Err("the answer was cut off within this call; write less at once".to_owned())
                    }
                    (_, Some(why), Ok(call)) if call.rules().needs_machine => Err(format!(
                        "no machine can be reached ({why}), so this tool does not run; answer without"
                    )),
                    (_, _, understood) => understood,
                }
            })
            .collect();
        let besides: Vec<Beside> = parsed.iter().map(beside).collect();
        let mut parsed = parsed.into_iter();
        for group in groups(&besides) {
            let at_once = at_once(besides[group.start]);
            // Shown in the order of the calls, however they end.
            let mut cards = Vec::with_capacity(group.len());
            for call in group.map(|at| calls[at].clone()) {
                let parsed = parsed.next().expect("there is one for each call");
                cards.push(self.begin_tool(call, parsed, wish).await?);
            }
            let running = cards.into_iter().map(|card| self.run_tool(card, wish));
            // To the end before anything else is awaited: what is not polled may hold the store's only writer.
            let results: Vec<_> = stream::iter(running).buffered(at_once).collect().await;
            let mut failure = None;
            for result in results {
                let (result, stops) = result?;
                let (turn, message) = (self.waiting.turn, Message::Tool(result));
                let item = history::to_json(&message);
                let item = self.service.store.append_turn_item(turn, &item).await?;
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
        parsed: Result<Understood, String>,
        wish: &Wish,
    ) -> Result<Card, End> {
        let place = self.service.router.check(&sandbox_user(self.user), wish).ok();
        let place = place.map(|target| target.name().to_owned());
        let access = match &parsed {
            Ok(parsed) => self.access(parsed, wish).await,
            Err(_) => Access::Read,
        };
        let mode = if access == Access::Read { None } else { Some(self.mode().await?) };
        let (mut parsed, mut looked) = (parsed, Looked::default());
        let mut verdict = mode.map_or(Verdict::Allowed, |mode| verdict(mode, access));
        if let (Ok(known), Verdict::Asks) = (&parsed, verdict) {
            match self.look(known, access, wish).await? {
                Ok(found) => {
                    if self.is_allowed_for_good(&call, access, &found.subject).await? {
                        verdict = Verdict::Allowed;
                    } else if found.document.to_text().len() > APPROVAL_DETAIL_BYTES {
                        let why =
                            "this is too long to be shown to the user, who has to allow it; do it in parts";
                        (verdict, parsed) = (Verdict::Allowed, Err(why.to_owned()));
                    }
                    looked = found;
                }
                // It would come to nothing, so that nobody has to be asked.
                Err(why) => (verdict, parsed) = (Verdict::Allowed, Err(why)),
            }
        }
        let (message, question, sub_agent, began) = (MessageId(0), None, None, None);
        let mut card =
            Card { call, parsed, place, access, mode, looked, verdict, message, question, sub_agent, began };
        // What a sub-agent asks is asked elsewhere.
        let asks_here = verdict == Verdict::Asks && self.lineage.errand().is_none();
        let message =
            self.screen().keep("", &card.document(if asks_here { "asking" } else { "running" })).await?;
        card.message = message.id;
        if let Some(errand) = self.lineage.errand() {
            let hint = card.parsed.as_ref().map(Understood::hint).unwrap_or_default();
            errand.does(self.service, self.user, &card.name(), &hint).await?;
        }
        if verdict == Verdict::Asks {
            // Before anybody is told, so that no answer comes too soon.
            card.question = Some(self.ask_user(message.id, card.document("asking")).await?);
        }
        self.screen().tell(&message);
        Ok(card)
    }

    /// Runs one call and shows it; what it came to, and why the turn ends with it if it does.
    async fn run_tool(&self, mut card: Card, wish: &Wish) -> Result<(ToolResult, Option<End>), End> {
        let question = card.question.take();
        let Card { call, parsed, verdict, message, .. } = &card;
        let (verdict, message) = (*verdict, *message);
        let denied = match (verdict, parsed) {
            (Verdict::Asks, Ok(_)) => {
                self.answered(call, card.access, &card.looked.subject, question).await?
            }
            (Verdict::Denied, _) => Some(Outcome::denied(PLAN_MODE)),
            (Verdict::Asks | Verdict::Allowed, _) => None,
        };
        if verdict == Verdict::Asks && denied.is_none() {
            self.screen().change(message, "", &card.document("running")).await?;
        }
        let began = denied.is_none().then(Instant::now);
        let output = Output::new(self.screen(), message);
        let (outcome, stops) = match (denied, parsed) {
            (Some(denied), _) => (denied, self.cancelled.is_cancelled().then_some(End::Cancelled)),
            (None, Ok(parsed)) => {
                let mut live = |text: &str| output.push(text);
                tokio::select! {
                    done = self.outcome(parsed, &card, wish, &mut live) => done?,
                    never = output.tell() => match never {},
                }
            }
            (None, Err(why)) => (Outcome::failed(why), None),
        };
        (card.sub_agent, card.began) = (outcome.sub_agent.clone(), began);
        let status = match (&stops, outcome.is_error) {
            (Some(End::Cancelled), _) => "cancelled",
            _ if outcome.is_denied => "denied",
            (_, true) => "failed",
            (_, false) => "done",
        };
        let ended = card.ended(status, outcome.data.clone());
        self.screen().change(message, &shortened(&outcome.text), &ended).await?;
        let (store, whose) = (&self.service.store, (self.user.id, self.lineage.root(), self.chat));
        let text = offload::kept(store, whose, &card.call, &outcome, card.place.as_deref()).await?;
        let content = std::iter::once(Content::Text(text)).chain(outcome.images).collect();
        Ok((ToolResult { call_id: card.call.id, content, is_error: outcome.is_error }, stops))
    }

    async fn outcome(
        &self,
        call: &Understood,
        card: &Card,
        wish: &Wish,
        live: Live<'_>,
    ) -> Result<(Outcome, Option<End>), End> {
        let Self { service, user, chat, cancelled, lineage, .. } = *self;
        let mut is_plan = card.mode == Some(Mode::Plan);
        if card.verdict == Verdict::Asks {
            // The mode may be another one since it was asked.
            let now = self.mode().await?;
            if verdict(now, card.access) == Verdict::Denied {
                return Ok((Outcome::denied(PLAN_MODE), None));
            }
            is_plan |= now == Mode::Plan;
        }
        // It asks in every mode, so that whoever comes here was told that it may.
        let approval = (card.access == Access::Privileged && card.verdict == Verdict::Asks)
            .then(|| Approval::given_by(user.name.as_str()));
        let shown =
            ShownCall { screen: self.screen(), message: card.message, running: card.document("running") };
        // What a sub-agent changes is taken back with the turn that it is a part of.
        let turn = lineage.turn();
        if matches!(card.access, Access::Run | Access::Privileged) {
            service.store.count_command(turn).await?;
        }
        if card.access.changes_files() && card.verdict == Verdict::Allowed {
            self.changes_unasked().await?;
        }
        let (card, bound) = (card.message, card.looked.bound.clone());
        let host = CallHost { turn: self, wish, card, shown };
        let context = ToolContext {
            host: &host,
            user,
            chat,
            root: lineage.root(),
            turn,
            cancelled,
            is_plan,
            approval,
            bound,
        };
        let work = async {
            let away = call.rules().waits_for_its_user.then(|| lineage.place().leave());
            let done = call.run(&context, live).await;
            match away {
                Some(away) => away.end().await,
                // What it waited for may have been broken off.
                None if call.is_sub_agent() => lineage.place().resume().await,
                None => {}
            }
            done
        };
        let done = tokio::select! {
            done = work => done,
            () = cancelled.cancelled(), if !call.rules().sees_cancel => {
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

/// What a call may run beside.
fn beside(call: &Result<Understood, String>) -> Beside {
    call.as_ref().map_or(Beside::Nothing, |call| call.rules().beside)
}

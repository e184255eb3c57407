//! Running the calls of one answer.

use futures_util::{StreamExt, stream};
use llm::ToolCall;
use records::{ItemId, MessageId};
use sandbox::Approval;
use tokio::time::Instant;

use super::approve::Question;
use super::before::{Before, in_doubt, not_again};
use super::host::CallHost;
use super::output::Output;
use super::{End, PLAN_MODE, Turn};
use crate::Cause;
use crate::approval::{Access, Mode, Ruling, Verdict, verdict};
use crate::context::{Conversation, NO_RESULT};
use crate::engine::ports::{CallState, CallStatus, CalledAgent, Card, Entry};
use crate::engine::tools_of_reply::{at_once, groups};
use crate::hooks::{Place, Words};
use crate::limits::{APPROVAL_DETAIL_BYTES, TOOL_NAME_CHARS};
use crate::tool::{
    AgentTurn, Beside, CallKey, Failure, Live, Looked, Outcome, ToolCaller, ToolContext, Understood,
};

/// The calls of one answer, and which of them to run.
pub(super) struct Calls<'a> {
    /// The answer's item.
    pub(super) answer: ItemId,
    /// All calls of the answer.
    pub(super) calls: &'a [ToolCall],
    /// True if the last call was still being written when the tokens ran out.
    pub(super) is_cut: bool,
    /// In a turn that is resumed, the indexes of the calls that have no result. `None` if none of the calls was run before.
    pub(super) open: Option<Vec<usize>>,
}

/// A call whose card is shown and that is about to begin.
pub(super) struct Begun {
    call: ToolCall,
    key: CallKey,
    is_taken_up: bool,
    /// True if it is unknown whether an earlier attempt took effect, so that the user is asked whether to make another one.
    is_in_doubt: bool,
    /// The sub-agent that was called for this call before a restart.
    called: Option<Box<CalledAgent>>,
    /// The tool's name, in the form that people see.
    name: String,
    /// The call's subject, in the form that people see.
    hint: String,
    understood: Result<Understood, String>,
    place: Option<String>,
    /// The call's access in its place.
    access: Access,
    /// The mode when the call was looked at; `None` for a call that only reads, which needs no question.
    mode: Option<Mode>,
    /// The effect that the call would have, if the user was to be asked.
    looked: Looked,
    verdict: Verdict,
    /// The reason why a hook or a rule denies the call.
    denied: Option<String>,
    /// The notes of hooks for the model, which are added to the result.
    notes: Vec<String>,
}

impl Begun {
    /// The call's card in the form that people see.
    pub(super) fn card<'a>(&'a self, state: CallState<'a>) -> Card<'a> {
        let Self { name, hint, place, .. } = self;
        Card { tool: name, hint, place: place.as_deref(), asked_by: None, state }
    }

    /// The tool's full name.
    pub(super) fn tool(&self) -> &str {
        &self.call.name
    }

    pub(super) fn access(&self) -> Access {
        self.access
    }

    pub(super) fn looked(&self) -> &Looked {
        &self.looked
    }

    /// The sub-agent that was called for this call before a restart.
    pub(super) fn called(&self) -> Option<&CalledAgent> {
        self.called.as_deref()
    }
}

/// The result of a call that was run.
struct Ran {
    begun: Begun,
    outcome: Outcome,
    /// The reason why the turn ends with this call, if it does.
    stops: Option<End>,
}

impl Turn<'_> {
    /// Runs the calls of one answer, and adds their results; calls that need a machine fail if none could be reached when the
    /// turn began.
    pub(super) async fn run_tools(
        &self,
        Calls { answer, calls, is_cut, open }: Calls<'_>,
        away: Option<&str>,
        conversation: &mut Conversation,
    ) -> Result<(), End> {
        let is_again = open.is_some();
        let open = open.unwrap_or_else(|| (0..calls.len()).collect());
        let understood: Vec<_> = open
            .iter()
            // The last call was still being written when the tokens ran out.
            .map(|at| self.understand(&calls[*at], is_cut && at + 1 == calls.len(), away))
            .collect();
        let besides: Vec<Beside> = understood.iter().map(beside).collect();
        let mut understood = understood.into_iter();
        for group in groups(&besides) {
            let at_once = at_once(besides[group.start]);
            // The cards are shown in the order of the calls, regardless of how the calls end.
            let mut begun = Vec::with_capacity(group.len());
            for at in &open[group] {
                let (call, key) = (calls[*at].clone(), CallKey::of(self.chat, answer, *at));
                let understood = understood.next().expect("there is one for each call");
                let before =
                    if is_again { self.before(&call, key, conversation).await? } else { Before::Nothing };
                let is_in_doubt = before == Before::Unknown && self.asks_in_doubt(&understood).await?;
                begun.push(if before == Before::Nothing || is_in_doubt {
                    self.begin_tool(call, key, (is_again, is_in_doubt), understood, away).await?
                } else {
                    self.begin_again(call, key, before).await?
                });
            }
            let running = begun.into_iter().enumerate().map(|(at, (begun, message, question))| async move {
                (at, self.run_tool(begun, message, question).await)
            });
            // The calls run to completion before anything else is awaited: a future that is not polled may hold the store's only writer.
            let mut results: Vec<_> = stream::iter(running).buffer_unordered(at_once).collect().await;
            // The results keep the order of the calls. A call that ends makes room for the next one at once, even if an earlier one is still running.
            results.sort_unstable_by_key(|(at, _)| *at);
            let mut failure = None;
            for (_, ran) in results {
                let Ran { begun, outcome, stops } = ran?;
                let found = outcome.found.iter().map(String::as_str);
                conversation.declare(self.ancestry.tools().deferred(found));
                self.append(
                    conversation,
                    Entry::Result(&begun.call, Box::new(outcome), begun.place.as_deref()),
                )
                .await?;
                failure = failure.or(stops);
            }
            if let Some(failure) = failure {
                return Err(failure);
            }
            if self.cancelled.is_cancelled() {
                return Err(End::Cancelled);
            }
        }
        let words = self.words(Place::CallsEnd { calls }).await;
        match words.denied {
            Some(_) if self.cancelled.is_cancelled() => Err(End::Cancelled),
            Some(why) => Err(End::Failed(Cause::Denied, why)),
            None => self.note(words.notes, conversation).await,
        }
    }

    pub(super) fn understand(
        &self,
        call: &ToolCall,
        is_cut: bool,
        away: Option<&str>,
    ) -> Result<Understood, String> {
        match (self.ancestry.tools().understand(call), away) {
            (Err(_), _) if is_cut => {
                Err("the answer was cut off in the middle of this call; write less at once".to_owned())
            }
            (Ok(call), Some(why)) if call.rules().needs_machine => {
                Err(format!("no machine can be reached ({why}), so this tool cannot run; answer without it"))
            }
            (understood, _) => understood,
        }
    }

    /// Shows a call that began in an earlier run of the server, and was permitted then.
    async fn begin_again(
        &self,
        call: ToolCall,
        key: CallKey,
        before: Before,
    ) -> Result<(Begun, MessageId, Option<Question>), End> {
        let mut understood = self.understand(&call, false, None);
        let access = understood.as_ref().map_or(Access::Read, Understood::access);
        let hint = understood.as_ref().map(Understood::hint).unwrap_or_default();
        if before == Before::Unknown {
            understood = Err(NO_RESULT.to_owned());
        }
        let called = match before {
            Before::Called(called) => Some(called),
            Before::Nothing | Before::Something | Before::Unknown => None,
        };
        let begun = Begun {
            key,
            is_taken_up: true,
            is_in_doubt: false,
            called,
            name: call.name.chars().take(TOOL_NAME_CHARS).collect(),
            hint,
            understood,
            place: self.ports.workplace.name().await?,
            access,
            mode: None,
            looked: Looked::default(),
            verdict: Verdict::Allowed,
            denied: None,
            notes: Vec::new(),
            call,
        };
        let message = self.display().keep_call(begun.card(CallState::Runs)).await?;
        if let Some(delegation) = self.ancestry.delegation() {
            delegation.does(&begun.name, &begun.hint).await?;
        }
        self.display().call(message, begun.card(CallState::Runs)).await?;
        self.display().tell(message);
        Ok((begun, message, None))
    }

    /// Shows a call that is about to begin, and asks for permission if it needs that.
    async fn begin_tool(
        &self,
        mut call: ToolCall,
        key: CallKey,
        (is_again, is_in_doubt): (bool, bool),
        mut understood: Result<Understood, String>,
        away: Option<&str>,
    ) -> Result<(Begun, MessageId, Option<Question>), End> {
        let mut words = self.hooked_call(&mut call, &mut understood, away).await;
        if is_in_doubt {
            // Permission for calls like this one does not permit the same call to take effect twice.
            words.asks = Some(in_doubt(words.asks.take()));
        }
        let place = self.ports.workplace.name().await?;
        let access = match &understood {
            Ok(understood) => self.access(understood).await,
            Err(_) => Access::Read,
        };
        let mode = if access == Access::Read { None } else { Some(self.ports.permissions.mode().await?) };
        let mut looked = Looked::default();
        let mut verdict = mode.map_or(Verdict::Allowed, |mode| verdict(mode, access));
        if let Ok(known) = &understood {
            verdict = self.judged(&call, known, access, verdict, &mut words).await?;
        }
        let Words { mut denied, asks, mut notes, .. } = words;
        let is_asked_for = asks.is_some();
        let hint = understood.as_ref().map(Understood::hint).unwrap_or_default();
        if let (Ok(known), Verdict::Asks) = (&understood, verdict) {
            match self.look(known, access).await? {
                Ok(found) => {
                    if !is_asked_for && self.is_allowed_for_good(&call.name, access, &found.subject).await? {
                        verdict = Verdict::Allowed;
                    } else if found.shown_bytes() > APPROVAL_DETAIL_BYTES {
                        let why =
                            "this is too long to be shown to the user, who has to allow it; do it in parts";
                        (verdict, understood) = (Verdict::Allowed, Err(why.to_owned()));
                    }
                    looked = match asks {
                        Some(why) => found.asked_for(&why),
                        None => found,
                    };
                }
                // The call would fail anyway, so there is no need to ask.
                Err(why) => (verdict, understood) = (Verdict::Allowed, Err(why)),
            }
        }
        if verdict == Verdict::Asks {
            let asked = self.words(Place::Asks { call: &call, access }).await;
            notes.extend(asked.notes);
            if asked.denied.is_some() {
                (verdict, denied) = (Verdict::Denied, asked.denied);
            } else if asked.allows && !is_asked_for && access.may_be_remembered() {
                verdict = Verdict::Allowed;
            }
        }
        let hint = if understood.is_ok() { hint } else { String::new() };
        let name = call.name.chars().take(TOOL_NAME_CHARS).collect();
        let begun = Begun {
            call,
            key,
            is_taken_up: false,
            is_in_doubt,
            called: None,
            name,
            hint,
            understood,
            place,
            access,
            mode,
            looked,
            verdict,
            denied,
            notes,
        };
        // A sub-agent's question is asked in the user's chat.
        let asks_here = verdict == Verdict::Asks && self.ancestry.delegation().is_none();
        let message = self.display().keep_call(begun.card(CallState::Runs)).await?;
        if let Some(delegation) = self.ancestry.delegation() {
            delegation.does(&begun.name, &begun.hint).await?;
        }
        // Recorded before the card can be seen, so that no answer can arrive too early.
        let question = match verdict {
            Verdict::Asks => Some(self.ask_user(&begun, message).await?),
            Verdict::Allowed | Verdict::Denied => None,
        };
        if asks_here {
            self.display().call(message, begun.card(CallState::Asks(&begun.looked, access))).await?;
        } else if is_again {
            // The card from an earlier run of the server may still show a question.
            self.display().call(message, begun.card(CallState::Runs)).await?;
        }
        self.display().tell(message);
        Ok((begun, message, question))
    }

    /// Runs one call and shows it; returns its result, and the reason why the turn ends with it if it does.
    async fn run_tool(
        &self,
        begun: Begun,
        message: MessageId,
        question: Option<Question>,
    ) -> Result<Ran, End> {
        let denied = match (begun.verdict, &begun.understood) {
            (Verdict::Asks, Ok(_)) => self.answered(&begun, question).await?,
            (Verdict::Denied, _) => Some(Outcome::denied(begun.denied.as_deref().unwrap_or(PLAN_MODE))),
            (Verdict::Asks | Verdict::Allowed, _) => None,
        };
        if begun.verdict == Verdict::Asks && denied.is_none() {
            self.display().call(message, begun.card(CallState::Runs)).await?;
        }
        let denied = denied.map(|denied| if begun.is_in_doubt { not_again(denied) } else { denied });
        let began = denied.is_none().then(Instant::now);
        let output = Output::new(self.ports, message);
        let (mut outcome, stops) = match (denied, &begun.understood) {
            (Some(denied), _) => (denied, self.cancelled.is_cancelled().then_some(End::Cancelled)),
            (None, Ok(call)) => {
                let mut live = |text: &str| output.push(text);
                tokio::select! {
                    done = self.outcome(call, &begun, message, &mut live) => done?,
                    never = output.tell() => match never {},
                }
            }
            (None, Err(_)) if begun.is_in_doubt => (Outcome::unknown(NO_RESULT), None),
            // Unlike a failed call, this one is not to be tried again at once.
            (None, Err(why)) if begun.is_taken_up => (Outcome::unknown(why), None),
            (None, Err(why)) => (Outcome::failed(why), None),
        };
        let took_ms = began.map(|began| began.elapsed().as_millis().try_into().unwrap_or(u64::MAX));
        let is_cancelled = matches!(stops, Some(End::Cancelled));
        self.call_ended(&begun, &mut outcome, took_ms, is_cancelled).await;
        let status = match (&stops, outcome.is_error) {
            (Some(End::Cancelled), _) => CallStatus::Cancelled,
            _ if outcome.is_denied => CallStatus::Denied,
            (_, true) => CallStatus::Failed,
            (_, false) => CallStatus::Done,
        };
        // A sub-agent may have worked elsewhere.
        let elsewhere = outcome.sub_agent.as_ref().and_then(|agent| agent.place.as_deref());
        let ended = begun.card(CallState::Ended(status, &outcome, took_ms));
        let ended = Card { place: elsewhere.or(ended.place), ..ended };
        self.display().call(message, ended).await?;
        Ok(Ran { begun, outcome, stops })
    }

    /// Tells the hooks about a call that has ended, and adds to its result what they say. A call without a duration never began.
    async fn call_ended(
        &self,
        begun: &Begun,
        outcome: &mut Outcome,
        took_ms: Option<u64>,
        is_cancelled: bool,
    ) {
        let call = &begun.call;
        let place = match took_ms {
            Some(took_ms) if !outcome.is_denied => {
                Some(Place::CallEnds { call, outcome: &*outcome, took_ms, is_cancelled })
            }
            // The user stopped the turn, and did not decide about the call.
            Some(_) | None if is_cancelled => None,
            Some(_) | None => Some(Place::Denied { call, why: &outcome.text }),
        };
        let words = match place {
            Some(place) if is_cancelled => self.hooks.at(self.hooked(), place).await,
            Some(place) => self.words(place).await,
            None => Words::default(),
        };
        if let Some(result) = words.result {
            // The card's data stays, since it shows what the call did.
            outcome.text = format!("{result}\n\nA hook changed the result of this call.");
            outcome.images.clear();
            outcome.may_be_offloaded = true;
        }
        for note in begun.notes.iter().chain(&words.notes) {
            outcome.text.push_str("\n\n");
            outcome.text.push_str(note);
        }
    }

    async fn outcome(
        &self,
        call: &Understood,
        begun: &Begun,
        message: MessageId,
        live: Live<'_>,
    ) -> Result<(Outcome, Option<End>), End> {
        let Self { user, chat, cancelled, ancestry, ports, .. } = *self;
        let mut is_plan = begun.mode == Some(Mode::Plan);
        if begun.verdict == Verdict::Asks {
            // The mode may have changed since the question was asked.
            let now = ports.permissions.mode().await?;
            if verdict(now, begun.access) == Verdict::Denied {
                return Ok((Outcome::denied(PLAN_MODE), None));
            }
            is_plan |= now == Mode::Plan;
            // The rules may have changed too.
            if let Ruling::Deny(why) = ports.permissions.ruling(begun.tool(), call.subject(), false).await? {
                return Ok((Outcome::denied(&why), None));
            }
        }
        // Privileged access is asked about in every mode, so a call that gets here was permitted.
        let approval = (begun.access == Access::Privileged && begun.verdict == Verdict::Asks)
            .then(|| Approval::given_by(user.name.as_str()));
        if begun.access != Access::Read && !begun.is_taken_up {
            ports.journal.begins(&begun.call, begun.access).await?;
        }
        if begun.access.changes_files() && begun.verdict == Verdict::Allowed && !begun.is_taken_up {
            ports.permissions.files_change().await?;
        }
        let host = CallHost { turn: self, begun, message };
        let caller = AgentTurn {
            chat,
            root: ancestry.root(),
            // An undo of the top turn reverts a sub-agent's changes too.
            turn: ancestry.turn(),
            call: Some(begun.key),
            is_taken_up: begun.is_taken_up,
        };
        let context = ToolContext {
            host: &host,
            user,
            caller: ToolCaller::Agent(caller),
            cancelled,
            is_plan,
            approval,
            bound: begun.looked.bound.clone(),
        };
        let work = async {
            let away = call.rules().waits_for_its_user.then(|| ancestry.place().leave());
            let done = call.run(&context, live).await;
            match away {
                Some(away) => away.end().await,
                // The call may have been cut off while its sub-agent waited for a person.
                None if call.is_sub_agent() => ancestry.place().resume().await,
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
            Err(Failure::Message(why) | Failure::Refused { text: why, .. }) => {
                Ok((Outcome::failed(&why), None))
            }
            Err(Failure::Away { text: why, .. }) => {
                let text = format!("{why}; the turn ends here. Send any message to go on when it is back.");
                Ok((Outcome::failed(&why), Some(End::Failed(Cause::Machine, text))))
            }
            Err(Failure::Port(error)) => Err(error.into()),
        }
    }
}

/// The kind of calls that this call may run alongside.
fn beside(call: &Result<Understood, String>) -> Beside {
    call.as_ref().map_or(Beside::Nothing, |call| call.rules().beside)
}

//! The terminals in which the messages of turns were written, and the actions that agents ask them for.
//!
//! ```text
//!   control ─▶ event to the user's clients ─▶ taken by that terminal, once ─▶ done, or refused ─▶ the agent
//!                 └▶ not taken in time: nothing was done, and it can no longer be taken
//! ```
//! A terminal takes an action before it carries it out, so an event that arrives late has no effect on a screen. All of this is in
//! memory: a turn that is resumed after a restart has no terminal.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent::tool::visible;
use api::tui::{ClientId, TuiAction, TuiAnswer};
use api::words::TuiState;
use futures_util::future::BoxFuture;
use store::{ChatId, TurnId, UserId, hex};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tools::Controlled;

use crate::bus::Bus;
use crate::limits::{TUI_ANSWER_CHARS, TUI_CALLS_PER_TURN, TUI_END_PATIENCE, TUI_PATIENCE};
use crate::{ChatEvent, Error, Result};

/// The terminals of the turns in progress. Cheap to clone; all clones share the same state.
#[derive(Clone)]
pub(crate) struct Terminals {
    bus: Bus,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    seats: HashMap<TurnId, Seat>,
    calls: HashMap<String, Call>,
}

/// The terminal in which a turn's message was written.
struct Seat {
    user: UserId,
    chat: ChatId,
    client: ClientId,
    /// The number of actions that the turn has asked for.
    asked: usize,
}

/// An action that waits for its terminal's answers.
struct Call {
    user: UserId,
    chat: ChatId,
    client: ClientId,
    is_taken: bool,
    end: oneshot::Sender<Controlled>,
}

/// The registration of a turn's terminal; dropping it removes the registration.
pub(crate) struct Seated {
    terminals: Terminals,
    turn: TurnId,
}

/// An action that a turn waits for; dropping it withdraws the action.
struct Asked {
    terminals: Terminals,
    id: String,
    end: oneshot::Receiver<Controlled>,
}

impl Terminals {
    pub(crate) fn new(bus: Bus) -> Self {
        Self { bus, state: Arc::default() }
    }

    /// Registers the terminal in which the message of a turn of a user's chat was written.
    pub(crate) fn seat(&self, turn: TurnId, (user, chat): (UserId, &ChatId), client: ClientId) -> Seated {
        let seat = Seat { user, chat: chat.clone(), client, asked: 0 };
        self.lock().seats.insert(turn, seat);
        Seated { terminals: self.clone(), turn }
    }

    /// True if the message of a turn was written in a terminal.
    pub(crate) fn has(&self, turn: TurnId) -> bool {
        self.lock().seats.contains_key(&turn)
    }

    /// Registers an action before anybody can hear of it.
    fn begin(&self, turn: TurnId, action: TuiAction) -> Result<(UserId, ChatEvent, Asked), Controlled> {
        let mut state = self.lock();
        let State { seats, calls } = &mut *state;
        let seat = seats.get_mut(&turn).ok_or(Controlled::NoTerminal)?;
        if seat.asked == TUI_CALLS_PER_TURN {
            return Err(Controlled::TooOften);
        }
        seat.asked += 1;
        let (user, chat, client) = (seat.user, seat.chat.clone(), seat.client);
        let (sender, end) = oneshot::channel();
        let id = hex(&rand::random::<[u8; 16]>());
        calls.insert(id.clone(), Call { user, chat: chat.clone(), client, is_taken: false, end: sender });
        let event = ChatEvent::Control { chat, client, call: id.clone(), action };
        Ok((user, event, Asked { terminals: self.clone(), id, end }))
    }

    /// Takes the answer of a user's terminal to an action that the agent of a chat asked it for.
    ///
    /// Fails with [`Error::Refused`]: `not_found` if no action of this chat waits for an answer of this terminal, `conflict` if the terminal
    /// took it before, or did not take it before it reports the end, and `invalid` for a text that is too long or an unknown state.
    pub(crate) fn answer(&self, user: UserId, chat: &ChatId, answer: &TuiAnswer) -> Result<()> {
        if answer.text.chars().count() > TUI_ANSWER_CHARS {
            let text = format!("a terminal's answer can have at most {TUI_ANSWER_CHARS} characters");
            return Err(Error::refused("invalid", text));
        }
        let mut state = self.lock();
        let Entry::Occupied(mut call) = state.calls.entry(answer.call_id.clone()) else { return Err(gone()) };
        let asked = call.get();
        if (asked.user, &asked.chat, asked.client) != (user, chat, answer.client_id) {
            return Err(gone());
        }
        let text = visible::line(answer.text.trim());
        let end = match (&answer.state, asked.is_taken) {
            (TuiState::Taken, false) => {
                call.get_mut().is_taken = true;
                return Ok(());
            }
            (TuiState::Taken, true) => return Err(Error::refused("conflict", "this was taken already")),
            (TuiState::Done | TuiState::Refused, false) => {
                return Err(Error::refused("conflict", "this was not taken yet; take it first"));
            }
            (TuiState::Done, true) => Controlled::Done(text),
            (TuiState::Refused, true) => Controlled::Refused(text),
            (TuiState::Unknown(_), _) => {
                return Err(Error::refused("invalid", "`state` must be taken, done or refused"));
            }
        };
        // The turn may have been stopped meanwhile; then nobody reads the answer.
        let _ = call.remove().end.send(end);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl tools::Terminals for Terminals {
    fn control(&self, turn: TurnId, action: TuiAction) -> BoxFuture<'_, Controlled> {
        Box::pin(async move {
            let (user, event, mut asked) = match self.begin(turn, action) {
                Ok(begun) => begun,
                Err(refused) => return refused,
            };
            self.bus.send(user, event);
            if let Ok(Ok(end)) = timeout(TUI_PATIENCE, &mut asked.end).await {
                return end;
            }
            if !asked.is_taken() {
                return Controlled::NoAnswer { after_s: TUI_PATIENCE.as_secs() };
            }
            match timeout(TUI_END_PATIENCE, &mut asked.end).await {
                Ok(Ok(end)) => end,
                Ok(Err(_)) | Err(_) => Controlled::Unknown,
            }
        })
    }
}

impl Asked {
    /// True if the terminal is about to carry the action out; otherwise it can no longer take it.
    fn is_taken(&self) -> bool {
        let mut state = self.terminals.lock();
        let is_taken = state.calls.get(&self.id).is_some_and(|call| call.is_taken);
        if !is_taken {
            state.calls.remove(&self.id);
        }
        is_taken
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.terminals.lock().calls.remove(&self.id);
    }
}

impl Drop for Seated {
    fn drop(&mut self) {
        self.terminals.lock().seats.remove(&self.turn);
    }
}

/// The error for an answer that nobody waits for: the sender does not learn whether the call exists.
fn gone() -> Error {
    Error::refused("not_found", "no action waits for an answer of this terminal")
}

#[cfg(test)]
mod tests {
    use tools::Terminals as _;

    use super::*;

    const ANN: UserId = UserId(1);
    const EVE: UserId = UserId(2);
    const TURN: TurnId = TurnId(7);
    const HERS: ClientId = ClientId::of(1);

    /// The calls that the clients hear of.
    type Heard = tokio::sync::mpsc::UnboundedReceiver<(UserId, String)>;

    fn terminals() -> (Terminals, Heard, crate::Subscription, ChatId) {
        let bus = Bus::default();
        let (tell, heard) = tokio::sync::mpsc::unbounded_channel();
        let subscription = bus.subscribe(Arc::new(move |user, event| {
            if let ChatEvent::Control { call, .. } = event {
                tell.send((user, call.clone())).unwrap();
            }
        }));
        (Terminals::new(bus), heard, subscription, ChatId::random())
    }

    fn says(client: ClientId, call: &str, state: TuiState, text: &str) -> TuiAnswer {
        TuiAnswer { client_id: client, call_id: call.to_owned(), state, text: text.to_owned() }
    }

    #[tokio::test(start_paused = true)]
    async fn the_terminal_of_the_turn_answers_and_nobody_else_does() {
        let (terminals, mut heard, _subscription, chat) = terminals();
        let other_chat = ChatId::random();
        let _seat = terminals.seat(TURN, (ANN, &chat), HERS);
        let asking = tokio::spawn({
            let terminals = terminals.clone();
            async move { terminals.control(TURN, TuiAction::NewChat).await }
        });
        let (user, call) = heard.recv().await.unwrap();
        assert_eq!(user, ANN);
        let answer = |user, chat, client, state| {
            let answered = terminals.answer(user, chat, &says(client, &call, state, "a\u{1b}[2Jb\n"));
            answered.map_err(|error| error.kind())
        };
        for (user, chat, client) in
            [(EVE, &chat, HERS), (ANN, &other_chat, HERS), (ANN, &chat, ClientId::of(2))]
        {
            assert_eq!(answer(user, chat, client, TuiState::Taken), Err("not_found"));
        }
        assert_eq!(answer(ANN, &chat, HERS, TuiState::Done), Err("conflict"), "it was not taken");
        assert_eq!(answer(ANN, &chat, HERS, TuiState::from("paused")), Err("invalid"));
        assert_eq!(answer(ANN, &chat, HERS, TuiState::Taken), Ok(()));
        assert_eq!(answer(ANN, &chat, HERS, TuiState::Taken), Err("conflict"), "another window took it");
        assert_eq!(answer(EVE, &chat, HERS, TuiState::Done), Err("not_found"));
        assert_eq!(answer(ANN, &chat, HERS, TuiState::Done), Ok(()));
        assert_eq!(answer(ANN, &chat, HERS, TuiState::Done), Err("not_found"), "twice");
        assert_eq!(asking.await.unwrap(), Controlled::Done("a\\u{1b}[2Jb".to_owned()));
        assert!(terminals.lock().calls.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_taken_in_time_can_no_longer_be_taken() {
        let (terminals, mut heard, _subscription, chat) = terminals();
        let _seat = terminals.seat(TURN, (ANN, &chat), HERS);
        let end = terminals.control(TURN, TuiAction::NewChat).await;
        assert_eq!(end, Controlled::NoAnswer { after_s: TUI_PATIENCE.as_secs() });
        let (_, call) = heard.recv().await.unwrap();
        let late = terminals.answer(ANN, &chat, &says(HERS, &call, TuiState::Taken, ""));
        assert_eq!(late.unwrap_err().kind(), "not_found");

        // A terminal that takes an action and then dies leaves its effect unknown.
        let taking = async {
            let (_, call) = heard.recv().await.unwrap();
            terminals.answer(ANN, &chat, &says(HERS, &call, TuiState::Taken, "")).unwrap();
        };
        let (end, ()) = tokio::join!(terminals.control(TURN, TuiAction::NewChat), taking);
        assert_eq!(end, Controlled::Unknown);
        assert!(terminals.lock().calls.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_storm_of_calls_ends_and_a_turn_that_ended_has_no_terminal() {
        let (terminals, mut heard, _subscription, chat) = terminals();
        let ask = || terminals.control(TURN, TuiAction::ScrollToEnd);
        assert_eq!(ask().await, Controlled::NoTerminal);
        let seat = terminals.seat(TURN, (ANN, &chat), HERS);
        assert!(terminals.has(TURN) && !terminals.has(TurnId(8)));
        // A call that its turn no longer waits for is withdrawn.
        assert!(timeout(TUI_PATIENCE / 2, ask()).await.is_err() && terminals.lock().calls.is_empty());
        for _ in 1..TUI_CALLS_PER_TURN {
            assert!(matches!(ask().await, Controlled::NoAnswer { .. }));
        }
        assert_eq!(ask().await, Controlled::TooOften);
        drop(seat);
        assert_eq!(ask().await, Controlled::NoTerminal);
        let mut count = 0;
        while heard.try_recv().is_ok() {
            count += 1;
        }
        assert_eq!(count, TUI_CALLS_PER_TURN);
    }
}

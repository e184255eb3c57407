//! The requests of turns that work for a run, held against its budget: see `budget`.

use agent::hooks::{Estimate, Hold, HookedTurn};
use api::chain::ChainDraft;
use api::words::{GateKind, GateReply};
use store::GroupCall;
use tokio::time::sleep;

use crate::budget::USED_UP;
use crate::error::{Error, Result};
use crate::house::Inner;
use crate::known::{Known, unreadable};
use crate::limits::{HOLD_TRIES, RETRY_PAUSE};
use crate::talk::origin_of;

/// The note with the last request of an agent whose run has used up its budget.
const LAST_REQUEST: &str = "The budget of the chain's run is used up, and this is your last request: end your answer now with what you have, without \
another tool call, and say what is still open.";

/// The refusal of a request while the budget of its run cannot be read.
const NOT_READ: &str = "the server could not read the budget of the chain's run, so it asked no model; its log says why; try again in a moment";

impl Inner {
    /// Holds what a request of a turn may use, if the turn works for a run with a budget. An error of the database stops only a turn that is known
    /// to work for a call; if the error may pass, this tries again first.
    ///
    /// Fails with the reason why the turn may make no request.
    pub(crate) async fn hold(
        &self,
        turn: HookedTurn<'_>,
        estimate: Estimate,
    ) -> std::result::Result<Hold, String> {
        let mut tries = 1;
        loop {
            let error = match self.try_hold(turn, estimate).await {
                Ok(held) => return held.ok_or_else(|| USED_UP.to_owned()),
                Err(error) => error,
            };
            if !self.store.is_turn_of_call(turn.root, turn.turn).await.unwrap_or(false) {
                tracing::error!(%error, "it could not be read which call a turn works for; its request is not held");
                return Ok(Hold::default());
            }
            if tries == HOLD_TRIES || !matches!(&error, Error::Store(error) if error.is_passing()) {
                tracing::error!(%error, "the budget of a run could not be read for a request");
                return Err(NOT_READ.to_owned());
            }
            tries += 1;
            sleep(RETRY_PAUSE).await;
        }
    }

    async fn try_hold(&self, turn: HookedTurn<'_>, estimate: Estimate) -> Result<Option<Hold>> {
        let free = Ok(Some(Hold::default()));
        if self.budgets.is_free(turn.turn) {
            return free;
        }
        let Some(call) = self.store.call_of_turn(turn.root, turn.turn).await? else {
            // The call of a turn may be gone, with its group.
            if !self.store.is_turn_of_call(turn.root, turn.turn).await? {
                self.budgets.set_free(turn.turn);
            }
            return free;
        };
        let Some(root) = self.root_call(&origin_of(&call)).await? else { return free };
        let Some(run) = root.run_id else { return free };
        let run = self.store.group_run(root.group_id, run).await?;
        let draft: ChainDraft = serde_json::from_str(&run.document_json).map_err(|_| unreadable())?;
        if draft.budget.is_none() {
            return free;
        }
        if call.message.is_none() {
            self.store.answers_call(&call, turn.root, turn.turn).await?;
        }
        let run = &run;
        let room = |held| async move { Ok::<_, Error>(Known::read(self, run).await?.run(run).room(held)) };
        let held = self.budgets.hold(run.id, estimate, room).await?;
        Ok(match (held, estimate.answers) {
            (None, _) if turn.is_sub_agent() => None,
            (None, Some(0)) => self.is_given_more(&call).await?.then(Hold::default),
            (None, Some(answers)) if self.budgets.may_end(turn.turn, answers) => {
                Some(Hold::default().with_note(LAST_REQUEST))
            }
            (held, _) => held,
        })
    }

    /// True if a person let the run use its budget once more for this attempt at a step. It then makes its first request, even if the run has
    /// used more than that.
    async fn is_given_more(&self, call: &GroupCall) -> Result<bool> {
        let Some(run) = call.run_id else { return Ok(false) };
        Ok(self.store.gates(run).await?.iter().any(|gate| {
            (Some(gate.step), Some(gate.attempt)) == (call.step, call.attempt)
                && gate.kind == GateKind::Budget.as_str()
                && gate.reply.as_deref() == Some(GateReply::More.as_str())
        }))
    }

    /// Refuses to ask another agent for a run of a chain that has used up its budget.
    pub(crate) async fn check_budget(&self, origin: &str) -> Result<()> {
        if self.has_used_up(origin).await? {
            return Err(Error::refused("limit", format!("{USED_UP}; end your answer with what you have")));
        }
        Ok(())
    }

    /// Returns true if a request belongs to a run of a chain that has used up its budget.
    pub(crate) async fn has_used_up(&self, origin: &str) -> Result<bool> {
        let Some(call) = self.root_call(origin).await? else { return Ok(false) };
        let Some(run) = call.run_id else { return Ok(false) };
        let run = self.store.group_run(call.group_id, run).await?;
        Ok(Known::read(self, &run).await?.run(&run).is_used_up())
    }
}

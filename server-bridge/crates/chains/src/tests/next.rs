use api::chain::{ChainBudget, ChainStep};
use api::words::{GateKind, GateReply};
use proptest::prelude::*;

use super::step;
use crate::limits::{ATTEMPTS_MAX, RETRIES_MAX};
use crate::next::outputs;
use crate::{Call, CallState, End, Gate, Next, Room, Run, Spent, next, replies};

#[derive(Default)]
struct Record {
    steps: Vec<ChainStep>,
    budget: ChainBudget,
    spent: Spent,
    calls: Vec<Call>,
    gates: Vec<Gate>,
}

impl Record {
    fn of(agents: &[&str]) -> Self {
        Self { steps: agents.iter().map(|agent| step(agent)).collect(), ..Self::default() }
    }

    fn run(&self) -> Run<'_> {
        let Self { steps, budget, spent, calls, gates } = self;
        Run { steps, budget: *budget, spent: *spent, calls, gates }
    }

    fn next(&self) -> Next {
        next(&self.run())
    }

    /// Records the next action's call or gate, and returns the action.
    fn carry_out(&mut self) -> Next {
        let next = self.next();
        match &next {
            Next::Call { step, attempt, .. } => {
                let (step, attempt) = (*step, *attempt);
                self.calls.push(Call {
                    step,
                    attempt,
                    state: CallState::Open,
                    output: String::new(),
                    is_cut: false,
                });
            }
            Next::Ask { step, attempt, kind } => {
                let (step, attempt, kind) = (*step, *attempt, kind.clone());
                self.gates.push(Gate { step, attempt, kind, reply: None, text: String::new() });
            }
            Next::Wait | Next::End(_) => {}
        }
        next
    }

    fn ended(&mut self, state: CallState, output: &str) {
        assert_eq!(self.next(), Next::Wait, "an open call holds the run");
        let call = self.calls.last_mut().unwrap();
        assert_eq!(call.state, CallState::Open);
        (call.state, call.output) = (state, output.to_owned());
    }

    fn answer(&mut self, reply: GateReply, text: &str) {
        assert_eq!(self.next(), Next::Wait, "an open gate holds the run");
        let gate = self.gates.last_mut().unwrap();
        (gate.reply, gate.text) = (Some(reply), text.to_owned());
    }
}

fn call(step: usize, attempt: u32, before: &[&str]) -> Next {
    let before = before.iter().map(|output| (*output).to_owned()).collect();
    Next::Call { step, attempt, before, redo: None }
}

fn ask(step: usize, attempt: u32, kind: GateKind) -> Next {
    Next::Ask { step, attempt, kind }
}

#[test]
fn a_b_a_is_three_steps_and_each_gets_what_came_before() {
    let mut record = Record::of(&["a", "b", "a"]);
    for (index, before) in [&[][..], &["one"], &["one", "two"]].into_iter().enumerate() {
        assert_eq!(record.carry_out(), call(index, 1, before));
        record.ended(CallState::Done, ["one", "two", "three"][index]);
    }
    assert_eq!(record.next(), Next::End(End::Done));
    assert_eq!(outputs(&record.run()), ["one", "two", "three"]);
}

#[test]
fn a_gate_approves_edits_repeats_and_stops() {
    let gated = || {
        let mut record = Record::of(&["a", "b"]);
        record.steps[0].gate = true;
        record.carry_out();
        record.ended(CallState::Done, "draft");
        assert_eq!(record.carry_out(), ask(0, 1, GateKind::Review));
        record
    };
    let mut record = gated();
    record.answer(GateReply::Approve, "");
    assert_eq!(record.next(), call(1, 1, &["draft"]));

    let mut record = gated();
    record.answer(GateReply::Edit, "by hand");
    assert_eq!(record.next(), call(1, 1, &["by hand"]));

    let mut record = gated();
    record.answer(GateReply::Redo, "shorter");
    let redo = Some(("shorter".to_owned(), "draft".to_owned()));
    assert_eq!(record.carry_out(), Next::Call { step: 0, attempt: 2, before: vec![], redo });
    record.ended(CallState::Done, "short");
    assert_eq!(record.carry_out(), ask(0, 2, GateKind::Review), "the second attempt is reviewed as well");
    record.answer(GateReply::Approve, "");
    assert_eq!(record.next(), call(1, 1, &["short"]));

    let mut record = gated();
    record.answer(GateReply::Stop, "");
    assert_eq!(record.next(), Next::End(End::Stopped));
}

#[test]
fn a_step_that_a_person_begins_waits_for_them_and_is_looked_at_as_any_other() {
    let asked = |reply: Option<GateReply>| {
        let mut record = Record::of(&["a"]);
        record.gates.push(Gate { step: 0, attempt: 0, kind: GateKind::Review, reply, text: String::new() });
        record
    };
    assert_eq!(replies(&GateKind::Review, 0), [GateReply::Approve, GateReply::Stop]);
    assert_eq!(asked(None).next(), Next::Wait);
    assert_eq!(asked(Some(GateReply::Stop)).next(), Next::End(End::Stopped));
    assert_eq!(asked(Some(GateReply::Unknown("later".to_owned()))).next(), Next::End(End::Stopped));
    let mut record = asked(Some(GateReply::Approve));
    assert_eq!(record.carry_out(), call(0, 1, &[]));
    record.ended(CallState::Done, "1");
    assert_eq!(record.next(), Next::End(End::Done));
    record.steps[0].gate = true;
    assert_eq!(record.next(), ask(0, 1, GateKind::Review));
}

#[test]
fn a_step_whose_agents_had_to_stop_asks_unless_the_next_one_has_begun() {
    let mut record = Record::of(&["a", "b"]);
    record.carry_out();
    record.calls[0].is_cut = true;
    record.ended(CallState::Done, "half");
    assert_eq!(record.carry_out(), ask(0, 1, GateKind::Review));
    record.answer(GateReply::Redo, "");
    let redo = Some((String::new(), "half".to_owned()));
    assert_eq!(record.carry_out(), Next::Call { step: 0, attempt: 2, before: vec![], redo });
    record.ended(CallState::Done, "whole");
    assert_eq!(record.carry_out(), call(1, 1, &["whole"]));
    record.calls[1].is_cut = true;
    assert_eq!(record.next(), Next::Wait);
    record.ended(CallState::Done, "end");
    record.calls[1].is_cut = false;
    assert_eq!(
        record.next(),
        Next::End(End::Done),
        "late messages of the first step's agents hold up nothing"
    );
}

#[test]
fn retries_come_before_a_question_and_begin_again_after_it() {
    let mut record = Record::of(&["a", "b"]);
    record.steps[0].retries = 2;
    for attempt in 1..=3 {
        assert_eq!(record.carry_out(), call(0, attempt, &[]));
        record.ended(CallState::Failed, "");
    }
    assert_eq!(record.carry_out(), ask(0, 3, GateKind::Failure));
    record.answer(GateReply::Redo, "");
    for attempt in 4..=6 {
        assert!(matches!(record.carry_out(), Next::Call { step: 0, attempt: next, .. } if next == attempt));
        record.ended(CallState::Failed, "");
    }
    assert_eq!(record.carry_out(), ask(0, 6, GateKind::Failure));
    record.answer(GateReply::Edit, "by hand");
    assert_eq!(record.next(), call(1, 1, &["by hand"]));
}

#[test]
fn a_stopped_call_stops_the_run() {
    let mut record = Record::of(&["a", "b"]);
    record.steps[0].retries = 5;
    record.carry_out();
    record.ended(CallState::Stopped, "");
    assert_eq!(record.next(), Next::End(End::Stopped));
}

#[test]
fn a_budget_that_is_used_up_asks_before_the_next_answer() {
    let budgets = [
        (
            ChainBudget { tokens: Some(100), ..ChainBudget::default() },
            Spent { tokens: 1, ..Spent::default() },
        ),
        (
            ChainBudget { cost_micro_usd: Some(100), ..ChainBudget::default() },
            Spent { cost_micro_usd: 1, ..Spent::default() },
        ),
        (
            ChainBudget { seconds: Some(100), ..ChainBudget::default() },
            Spent { seconds: 1, ..Spent::default() },
        ),
    ];
    let times = |spent: Spent, times: i64| Spent {
        tokens: spent.tokens * times,
        cost_micro_usd: spent.cost_micro_usd * times,
        seconds: spent.seconds * u64::try_from(times).unwrap(),
    };
    for (budget, one) in budgets {
        let mut record = Record { budget, ..Record::of(&["a", "b", "c"]) };
        record.spent = times(one, 99);
        assert_eq!(record.carry_out(), call(0, 1, &[]));
        record.ended(CallState::Done, "1");
        record.spent = times(one, 100);
        assert_eq!(record.carry_out(), ask(1, 1, GateKind::Budget));
        record.answer(GateReply::More, "");
        assert_eq!(record.carry_out(), call(1, 1, &["1"]));
        record.ended(CallState::Done, "2");
        record.spent = times(one, 199);
        assert_eq!(record.next(), call(2, 1, &["1", "2"]), "the budget counts twice now");
        let ChainBudget { tokens, cost_micro_usd, seconds } = record.run().left();
        let left = tokens.or(cost_micro_usd).or(seconds.map(|seconds| i64::try_from(seconds).unwrap()));
        assert_eq!(left, Some(1));
        record.spent = times(one, 200);
        assert_eq!(record.carry_out(), ask(2, 1, GateKind::Budget));
        record.answer(GateReply::Stop, "");
        assert_eq!(record.next(), Next::End(End::Stopped));
    }
}

#[test]
fn a_step_whose_budget_ran_out_asks_for_more_and_is_done_again() {
    let budget = ChainBudget { tokens: Some(100), ..ChainBudget::default() };
    let mut record = Record { budget, ..Record::of(&["a"]) };
    assert_eq!(record.carry_out(), call(0, 1, &[]));
    record.spent.tokens = 100;
    record.ended(CallState::Unpaid, "");
    assert_eq!(
        record.carry_out(),
        ask(0, 2, GateKind::Budget),
        "no retries, and no question about a failure"
    );
    record.answer(GateReply::More, "");
    assert_eq!(record.carry_out(), call(0, 2, &[]));
    record.ended(CallState::Done, "x");
    assert_eq!(record.next(), Next::End(End::Done));
}

#[test]
fn requests_under_way_take_the_room_that_they_may_use() {
    let of = |tokens: i64, cost_micro_usd: i64| Spent { tokens, cost_micro_usd, seconds: 0 };
    let both = ChainBudget { tokens: Some(100), cost_micro_usd: Some(50), seconds: None };
    let record = Record { budget: both, spent: of(60, 0), ..Record::of(&["a"]) };
    let room = |tokens, cost| record.run().room(of(tokens, cost));
    assert_eq!(
        [room(0, 0), room(39, 49), room(40, 0), room(0, 50)],
        [Room::Free, Room::Free, Room::Held, Room::Held]
    );
    let record = Record { spent: of(100, 0), ..record };
    assert_eq!(record.run().room(of(0, 0)), Room::UsedUp);
    assert_eq!(Record::of(&["a"]).run().room(of(i64::MAX, i64::MAX)), Room::Free, "no budget has no bound");
}

#[test]
fn an_answer_that_a_gate_does_not_take_ends_the_run_rather_than_going_on() {
    let mut record = Record::of(&["a"]);
    record.steps[0].gate = true;
    record.carry_out();
    record.ended(CallState::Done, "x");
    record.carry_out();
    record.answer(GateReply::Unknown("later".to_owned()), "");
    assert_eq!(record.next(), Next::End(End::Stopped));
    assert_eq!(replies(&GateKind::Unknown("new".to_owned()), 1), [GateReply::Stop]);
}

#[test]
fn a_step_is_tried_only_so_often() {
    let mut record = Record::of(&["a"]);
    record.steps[0].retries = RETRIES_MAX;
    loop {
        match record.carry_out() {
            Next::Call { .. } => record.ended(CallState::Failed, ""),
            Next::Ask { attempt, kind, .. } => {
                let may_redo = replies(&kind, attempt).contains(&GateReply::Redo);
                assert_eq!(may_redo, attempt < ATTEMPTS_MAX);
                if !may_redo {
                    break;
                }
                record.answer(GateReply::Redo, "");
            }
            other => panic!("{other:?}"),
        }
    }
    record.answer(GateReply::Redo, "forged");
    assert_eq!(record.next(), Next::End(End::Stopped));
    assert_eq!(record.calls.len(), ATTEMPTS_MAX as usize);
}

proptest! {
    /// Whatever happens, calls are made in the order of the steps, each attempt once, and computing the next action again gives the same result.
    #[test]
    fn every_run_ends_with_its_steps_in_order(
        agents in proptest::collection::vec("[abc]", 1..6),
        gates in any::<u64>(),
        outcomes in proptest::collection::vec(0_u8..8, 400),
    ) {
        let mut record = Record::of(&agents.iter().map(String::as_str).collect::<Vec<_>>());
        for (index, step) in record.steps.iter_mut().enumerate() {
            step.gate = gates & (1 << index) != 0;
            step.retries = u32::try_from(gates >> (8 + index) & 3).unwrap();
        }
        record.budget.tokens = (gates & 128 != 0).then_some(5);
        let mut outcomes = outcomes.into_iter();
        let mut most = (0, 0);
        let end = loop {
            prop_assert_eq!(record.next(), record.next());
            let Some(outcome) = outcomes.next() else { break None };
            match record.carry_out() {
                Next::Call { step, attempt, before, .. } => {
                    prop_assert_eq!(before.len(), step);
                    prop_assert!((step, attempt) > most, "{:?} after {:?}", (step, attempt), most);
                    most = (step, attempt);
                    record.spent.tokens += 1;
                    let state = if outcome < 3 { CallState::Failed } else { CallState::Done };
                    record.ended(state, &format!("{step}.{attempt}"));
                }
                Next::Ask { attempt, kind, .. } => {
                    let replies: Vec<_> =
                        replies(&kind, attempt).into_iter().filter(|reply| *reply != GateReply::Stop).collect();
                    let reply = replies.get(usize::from(outcome) % replies.len().max(1)).cloned();
                    record.answer(reply.unwrap_or(GateReply::Stop), "t");
                }
                Next::End(end) => break Some(end),
                Next::Wait => prop_assert!(false, "nothing is open"),
            }
        };
        if end == Some(End::Done) {
            prop_assert_eq!(outputs(&record.run()).len(), agents.len());
        }
        let mut made: Vec<_> = record.calls.iter().map(|call| (call.step, call.attempt)).collect();
        made.dedup();
        prop_assert_eq!(made.len(), record.calls.len());
    }
}

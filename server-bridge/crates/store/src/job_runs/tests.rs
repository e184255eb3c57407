use super::*;
use crate::{Author, JobDraft, JobKind, MessageRole, Name, Said, testing};

async fn world() -> (Store, UserId, Job) {
    let store = testing::empty().await;
    let ada = store.add_user(&Name::parse("ada").unwrap(), "correct horse", false).await.unwrap().id;
    let draft = JobDraft {
        name: "nightly",
        kind: JobKind::Schedule,
        document_json: "{}",
        next_ms: Some(1000),
        token_sha256: None,
        secret: None,
    };
    let job = store.put_job(ada, draft).await.unwrap();
    (store, ada, job)
}

fn run(slot: &str) -> NewRun {
    NewRun { slot: slot.to_owned(), text: "hello".to_owned(), ..NewRun::default() }
}

#[tokio::test]
async fn a_slot_is_recorded_once_and_its_run_has_one_chat() {
    let (store, ada, job) = world().await;
    let one = run("1");
    let (a, b) = tokio::join!(store.add_run(&job, &one), store.add_run(&job, &one));
    let ids: Vec<i64> = [a.unwrap(), b.unwrap()].into_iter().flatten().collect();
    assert_eq!(ids.len(), 1);
    let chat = RunChat { is_shared: true, title: "nightly", runner: Some("laptop"), approval: Some("plan") };
    let made = || store.run_chat(&job, ids[0], chat);
    let (a, b) = tokio::join!(made(), made());
    let made = a.unwrap();
    assert_eq!(made, b.unwrap());
    let shown = store.chat(ada, &made).await.unwrap();
    assert_eq!((shown.title.as_str(), shown.runner.as_deref()), ("nightly", Some("laptop")));
    assert_eq!(store.approval(ada, &made).await.unwrap(), "plan");
    let two = store.add_run(&job, &run("2")).await.unwrap().unwrap();
    assert_eq!(store.run_chat(&job, two, chat).await.unwrap(), made);
    let three = store.add_run(&job, &run("3")).await.unwrap().unwrap();
    assert_ne!(store.run_chat(&job, three, RunChat { is_shared: false, ..chat }).await.unwrap(), made);
    store.delete_chat(ada, &made).await.unwrap();
    assert_eq!(store.job(ada, "nightly").await.unwrap().chat, None);
}

#[tokio::test]
async fn a_run_is_at_work_as_long_as_its_turn() {
    let (store, ada, job) = world().await;
    let first = store.add_run(&job, &run("1")).await.unwrap().unwrap();
    let chat = RunChat { is_shared: true, title: "nightly", runner: None, approval: None };
    let chat = store.run_chat(&job, first, chat).await.unwrap();
    let add = |role, text| store.append_message(ada, &chat, role, text, None);
    let said = add(MessageRole::User, "hello").await.unwrap().id;
    let answer = add(MessageRole::Assistant, "").await.unwrap().id;
    store.post_run(ada, first, said, Some(answer)).await.unwrap();
    let turn = store.queue_turn(ada, &chat, Some(said), answer, "{}").await.unwrap();
    let second = store.add_run(&job, &run("2")).await.unwrap().unwrap();
    assert!(store.is_job_at_work(job.id, second).await.unwrap());
    assert!(!store.is_job_at_work(job.id, first).await.unwrap());
    let [waiting, at_work] = store.job_runs(ada, "nightly", None, 10).await.unwrap().try_into().unwrap();
    assert_eq!((waiting.state, at_work.turn_status), (RunState::Due, Some(TurnStatus::Queued)));
    assert_eq!(store.runs_posted_since(ada, 0).await.unwrap(), 1);
    store.finish_turn(turn, TurnStatus::Cancelled, None).await.unwrap();
    assert!(!store.is_job_at_work(job.id, second).await.unwrap());
    let due = store.due_runs(0, 10).await.unwrap();
    assert_eq!((due.len(), due[0].run_id, due[0].job.name.as_str()), (1, second, "nightly"));
    store.end_run(ada, second, RunState::Skipped, "an earlier run is in progress").await.unwrap();
    store.end_run(ada, first, RunState::Failed, "posted already").await.unwrap();
    let states: Vec<_> =
        store.job_runs(ada, "nightly", None, 10).await.unwrap().iter().map(|run| run.state).collect();
    assert_eq!(states, [RunState::Skipped, RunState::Posted]);
    assert_eq!(store.due_runs(0, 10).await.unwrap(), []);
}

#[tokio::test]
async fn deliveries_are_kept_for_a_while_and_refused_ones_are_counted() {
    let (store, ada, job) = world().await;
    for number in 0..JOB_PAYLOADS_KEPT + 5 {
        let run = NewRun {
            payload: Some(format!("{{\"n\":{number}}}")),
            state: RunState::Skipped,
            ..run(&number.to_string())
        };
        store.add_run(&job, &run).await.unwrap();
    }
    for _ in 0..3 {
        store.refuse_run(&job, "refused/1/signature", "the signature is wrong").await.unwrap();
    }
    let runs = store.job_runs(ada, "nightly", None, 100).await.unwrap();
    assert_eq!(runs.iter().filter(|run| run.has_payload).count() as i64, JOB_PAYLOADS_KEPT);
    assert_eq!((runs[0].state, runs[0].times), (RunState::Refused, 3));
    assert_eq!(store.run_payload(ada, "nightly", runs[1].id).await.unwrap(), ("{\"n\":24}".to_owned(), None));
    assert!(store.run_payload(ada, "nightly", runs[0].id).await.is_err());
    let long = NewRun { payload: Some("x".repeat(JOB_PAYLOAD_MAX_BYTES + 1)), ..run("long") };
    assert!(matches!(store.add_run(&job, &long).await, Err(Error::Invalid { .. })));
    assert_eq!(store.purge_runs(i64::MAX).await.unwrap() as usize, runs.len() - 1);
}

#[tokio::test]
async fn a_repeated_delivery_is_counted_even_if_no_further_run_may_wait() {
    let (store, ada, job) = world().await;
    for number in 0..JOB_RUNS_WAITING {
        store.add_run(&job, &run(&number.to_string())).await.unwrap();
    }
    assert!(matches!(store.add_run(&job, &run("one more")).await, Err(Error::Invalid { .. })));
    for _ in 0..2 {
        assert_eq!(store.add_run(&job, &run("7")).await.unwrap(), None);
    }
    let runs = store.job_runs(ada, "nightly", None, 1000).await.unwrap();
    assert_eq!(runs.len() as i64, JOB_RUNS_WAITING);
    for run in runs {
        assert_eq!(run.times, if run.slot == "7" { 3 } else { 1 }, "{}", run.slot);
    }
}

#[tokio::test]
async fn a_turn_knows_the_run_that_posted_its_message_and_only_that_one() {
    let (store, ada, job) = world().await;
    let event = Some("push".to_owned());
    let first = NewRun { payload: Some("{}".to_owned()), event, ..run("1") };
    let first = store.add_run(&job, &first).await.unwrap().unwrap();
    let second = store.add_run(&job, &run("2")).await.unwrap().unwrap();
    let shared = RunChat { is_shared: true, title: "nightly", runner: None, approval: None };
    let chat = store.run_chat(&job, first, shared).await.unwrap();
    assert_eq!(store.run_chat(&job, second, shared).await.unwrap(), chat);
    let turn = async |send: &str| {
        let Said::New(said) = store.say_once(ada, &chat, send, "hello", Author::Owner).await.unwrap() else {
            panic!("{send}")
        };
        let answer = store.append_message(ada, &chat, MessageRole::Assistant, "", None).await.unwrap().id;
        (said.id, store.queue_turn(ada, &chat, Some(said.id), answer, "{}").await.unwrap())
    };
    // The message is recorded before the run refers to it.
    let (said, of_run) = turn(&run_send_id(first)).await;
    let found = store.run_of_turn(ada, of_run).await.unwrap().unwrap();
    assert_eq!((found.id, found.name.as_str(), found.event.as_deref()), (first, "nightly", Some("push")));
    assert_eq!((found.slot.as_str(), found.payload.as_deref()), ("1", Some("{}")));
    let (_, of_person) = turn("of a person").await;
    assert_eq!(store.run_of_turn(ada, of_person).await.unwrap(), None);
    let eve = store.add_user(&Name::parse("eve").unwrap(), "correct horse", false).await.unwrap().id;
    assert_eq!(store.run_of_turn(eve, of_run).await.unwrap(), None);
    store.post_run(ada, first, said, None).await.unwrap();
    store.stop_run(ada, first, "a hook stopped it").await.unwrap();
    let runs = store.job_runs(ada, "nightly", None, 10).await.unwrap();
    assert_eq!(
        (runs[1].id, runs[1].state, runs[1].note.as_str()),
        (first, RunState::Posted, "a hook stopped it")
    );
}

#[tokio::test]
async fn of_two_that_move_a_schedule_on_one_records_its_slot() {
    let (store, ada, job) = world().await;
    assert_eq!(store.next_job_ms().await.unwrap(), Some(1000));
    assert_eq!(store.due_jobs(999, 10).await.unwrap(), []);
    let due = store.due_jobs(1000, 10).await.unwrap();
    let run = [NewRun { slot: "1000".to_owned(), due_ms: 1000, state: RunState::Due, ..NewRun::default() }];
    let advance = || store.advance_job(&due[0], Some(2000), &run);
    let (a, b) = tokio::join!(advance(), advance());
    assert!(a.unwrap() != b.unwrap());
    assert_eq!(store.job_runs(ada, "nightly", None, 10).await.unwrap().len(), 1);
    let paused = store.pause_job(ada, "nightly", Some(""), None).await.unwrap();
    assert_eq!((paused.id, paused.paused.as_deref(), paused.next_ms), (job.id, Some(""), None));
    assert_eq!(store.next_job_ms().await.unwrap(), None);
}

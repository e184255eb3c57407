//! Execs whose link is lost at every stage, as their handles see it.

use proto::message::Attached;
use proto::request::Attach;

use super::*;
use crate::error::RouteError;

impl World {
    /// Breaks the link abruptly.
    pub(super) async fn cut(&mut self) {
        let (dangling, _) = memory_link();
        drop(std::mem::replace(&mut self.runner.link, dangling));
        settle().await;
        assert!(self.router.runners("u1").is_empty(), "it is offline");
    }

    /// The same runner, or another one, registers again.
    pub(super) async fn connect_again(&mut self, epoch: u64, boot: u8) {
        (self.runner, self.served) = connect(&self.router, epoch, boot).await;
    }

    pub(super) async fn cut_and_connect(&mut self) {
        self.cut().await;
        self.connect_again(2, 1).await;
    }
}

impl ScriptedRunner {
    pub(super) async fn attached(&mut self) -> (StreamId, Attach) {
        match self.opened().await {
            (stream, Request::Attach(attach)) => (stream, attach),
            other => panic!("expected an attach, got {other:?}"),
        }
    }

    pub(super) async fn no_such_exec(&mut self, stream: StreamId) {
        self.session.fail(stream, &WireError::new(ErrorKind::NoSuchExec, "no exec of that id"));
        self.flush().await;
    }
}

pub(super) fn kind(event: Option<ExecEvent>) -> &'static str {
    match event {
        Some(ExecEvent::Failed(error)) => error.kind(),
        other => panic!("expected a failure, got {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn exec_goes_on_from_what_its_reader_took_and_nothing_is_told_twice() {
    let mut world = world().await;
    let mut exec = world.sandbox.exec(ExecRequest::shell("x")).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    world.runner.send(stream, ExecStarted { pid: 7 }, false);
    world.runner.write(stream, Channel::Stdout, b"one");
    world.runner.write(stream, Channel::Stderr, b"two");
    world.runner.session.gap(stream, Channel::Stdout, 5);
    world.runner.write(stream, Channel::Stdout, b"three");
    world.runner.send(stream, exited(3, false), false);
    world.runner.flush().await;
    assert_eq!(exec.next().await, Some(ExecEvent::Started { pid: 7 }));
    assert_eq!(exec.next().await, Some(ExecEvent::Stdout(text(b"one"))));
    assert_eq!(exec.next().await, Some(ExecEvent::Stderr(text(b"two"))));
    assert_eq!(exec.next().await, Some(ExecEvent::Gap { stderr: false, bytes: 5 }));
    assert_eq!(exec.offset(), 11);
    settle().await;

    world.cut_and_connect().await;
    let (stream, attach) = world.runner.attached().await;
    assert_eq!(attach, Attach { id: exec.exec_id(), offset: 11, output: true });
    world.runner.send(stream, Attached { input_bytes: 0 }, false);
    world.runner.send(stream, ExecStarted { pid: 7 }, false);
    world.runner.write(stream, Channel::Stdout, b"three");
    world.runner.exit(stream, 3, 16);
    world.runner.flush().await;
    assert_eq!(exec.next().await, Some(ExecEvent::Stdout(text(b"three"))));
    assert_eq!(exec.next().await, Some(ExecEvent::Exited(ExitStatus::Code(3))));
    let Some(ExecEvent::Finished(outcome)) = exec.next().await else { panic!("no outcome") };
    assert_eq!((outcome.code, outcome.truncated), (Some(3), true));
    assert_eq!(exec.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn exit_that_was_told_is_not_told_again_and_the_result_still_comes() {
    let mut world = world().await;
    let mut exec = world.sandbox.exec(ExecRequest::shell("x")).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    world.runner.send(stream, exited(0, false), false);
    world.runner.flush().await;
    assert_eq!(exec.next().await, Some(ExecEvent::Exited(ExitStatus::Code(0))));
    world.cut_and_connect().await;
    let (stream, _) = world.runner.attached().await;
    world.runner.send(stream, Attached { input_bytes: 0 }, false);
    world.runner.exit(stream, 0, 0);
    world.runner.flush().await;
    assert!(matches!(exec.next().await, Some(ExecEvent::Finished(outcome)) if !outcome.truncated));
}

#[tokio::test(start_paused = true)]
async fn link_that_looks_alive_is_replaced_and_its_streams_go_on() {
    let mut world = world().await;
    let exec = world.sandbox.exec(ExecRequest::shell("x")).await.unwrap();
    world.runner.opened().await;
    let (next, next_served) = connect(&world.router, 2, 1).await;
    let mut old = std::mem::replace(&mut world.runner, next);
    assert_eq!(old.next().await.map(|event| format!("{event:?}")), None, "no last word");
    let (stream, _) = world.runner.attached().await;
    world.runner.send(stream, Attached { input_bytes: 0 }, false);
    world.runner.exit(stream, 4, 0);
    world.runner.flush().await;
    assert_eq!(exec.collect(0).await.unwrap().outcome.code, Some(4));

    let exec = world.sandbox.exec(ExecRequest::shell("y")).await.unwrap();
    let (server_end, runner_end) = memory_link();
    let serving = world.router.clone();
    let stale = tokio::spawn(async move { serving.serve_remote(server_end, admit).await });
    let _stale = ScriptedRunner::connect(runner_end, "u1:laptop:1", 1).await;
    assert!(matches!(stale.await.unwrap(), Err(LinkError::Stale)));
    assert!(matches!(world.runner.next().await, Some(Event::Acknowledged(_))));
    let (stream, _) = world.runner.opened().await;
    world.runner.exit(stream, 5, 0);
    world.runner.flush().await;
    assert_eq!(exec.collect(0).await.unwrap().outcome.code, Some(5));
    assert!(!next_served.is_finished());
}

#[tokio::test(start_paused = true)]
async fn standard_input_goes_on_where_the_command_stopped_taking_it() {
    let mut world = world().await;
    let exec = world.sandbox.exec(ExecRequest { stdin: true, ..ExecRequest::argv(["cat"]) }).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    let control = exec.control();
    let input: Vec<u8> = (0..150_000u32).map(|number| (number / 7) as u8).collect();
    control.write_stdin(&input).await.unwrap();
    control.close_stdin();
    let mut arrived = 0;
    while let Some(Event::Data(_, _, bytes)) = world.runner.next().await {
        arrived += bytes.len();
    }
    assert_eq!(arrived, input.len());
    // The command took almost all of the input; the server was informed of a part.
    world.runner.session.consumed(stream, 70_000);
    world.runner.flush().await;
    settle().await;
    for (epoch, taken) in [(2, 149_000), (3, 149_500)] {
        world.cut().await;
        world.connect_again(epoch, 1).await;
        let (stream, _) = world.runner.attached().await;
        world.runner.session.set_input_offset(stream, taken as u64);
        world.runner.send(stream, Attached { input_bytes: taken as u64 }, false);
        let mut again = Vec::new();
        while let Some(Event::Data(_, _, bytes)) = world.runner.next().await {
            again.extend_from_slice(&bytes);
        }
        assert!(again == input[taken..], "{} bytes from {taken}", again.len());
    }
}

#[tokio::test(start_paused = true)]
async fn attach_that_is_answered_twice_sends_input_once() {
    let mut world = world().await;
    let exec = world.sandbox.exec(ExecRequest { stdin: true, ..ExecRequest::argv(["cat"]) }).await.unwrap();
    world.runner.opened().await;
    exec.control().write_stdin(b"12345").await.unwrap();
    world.runner.next().await;
    world.cut_and_connect().await;
    let (stream, _) = world.runner.attached().await;
    world.runner.send(stream, Attached { input_bytes: 0 }, false);
    world.runner.send(stream, Attached { input_bytes: 0 }, false);
    assert_eq!(world.runner.next().await, Some(Event::Data(stream, Channel::Main, text(b"12345"))));
    assert!(tokio::time::timeout(Duration::from_secs(1), world.runner.next()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn input_from_a_place_that_was_never_sent_is_a_protocol_error() {
    let mut world = world().await;
    let mut exec =
        world.sandbox.exec(ExecRequest { stdin: true, ..ExecRequest::argv(["cat"]) }).await.unwrap();
    world.runner.opened().await;
    exec.control().write_stdin(b"12345").await.unwrap();
    world.runner.next().await;
    world.cut_and_connect().await;
    let (stream, _) = world.runner.attached().await;
    world.runner.send(stream, Attached { input_bytes: 6 }, false);
    assert_eq!(world.runner.next().await, Some(Event::Cancelled(stream)));
    assert_eq!(kind(exec.next().await), "protocol");
}

#[tokio::test(start_paused = true)]
async fn start_that_never_arrived_is_sent_again_with_its_age_and_its_input() {
    let mut world = world().await;
    let exec = world.sandbox.exec(ExecRequest { stdin: true, ..ExecRequest::argv(["cat"]) }).await.unwrap();
    let (_, first) = world.runner.opened().await;
    exec.control().write_stdin(b"hello").await.unwrap();
    world.runner.next().await;
    world.cut().await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    world.connect_again(2, 1).await;
    let (stream, _) = world.runner.attached().await;
    world.runner.no_such_exec(stream).await;
    let (stream, again) = world.runner.opened().await;
    let (Request::Exec(first), Request::Exec(mut again)) = (first, again) else { panic!("no exec") };
    assert!((2_000..2_100).contains(&again.age_ms), "{}", again.age_ms);
    again.age_ms = first.age_ms;
    assert_eq!(again, first);
    assert_eq!(world.runner.next().await, Some(Event::Data(stream, Channel::Main, text(b"hello"))));
    world.runner.exit(stream, 0, 0);
    world.runner.flush().await;
    assert_eq!(exec.collect(0).await.unwrap().outcome.code, Some(0));
}

#[tokio::test(start_paused = true)]
async fn exec_that_ran_and_is_not_known_any_more_is_lost() {
    for error in [ErrorKind::NoSuchExec, ErrorKind::Expired] {
        let mut world = world().await;
        let mut exec = world.sandbox.exec(ExecRequest::argv(["true"])).await.unwrap();
        let (stream, _) = world.runner.opened().await;
        world.runner.send(stream, ExecStarted { pid: 1 }, false);
        world.runner.flush().await;
        exec.next().await;
        world.cut_and_connect().await;
        let (stream, _) = world.runner.attached().await;
        world.runner.session.fail(stream, &WireError::new(error, ""));
        world.runner.flush().await;
        assert_eq!(kind(exec.next().await), "lost");
    }
}

#[tokio::test(start_paused = true)]
async fn request_that_never_left_is_sent_over_the_next_link() {
    let mut world = world().await;
    // The link can queue 64 unread messages.
    let mut execs = Vec::new();
    for number in 0..100 {
        execs.push(world.sandbox.exec(ExecRequest::shell(format!("{number}"))).await.unwrap());
    }
    settle().await;
    world.cut_and_connect().await;
    let (mut attached, mut begun) = (0, 0);
    for _ in 0..100 {
        match world.runner.opened().await {
            (_, Request::Attach(_)) => attached += 1,
            (stream, Request::Exec(exec)) => {
                assert!(matches!(exec.command, Command::Shell(line) if line == begun_line(attached + begun)));
                begun += 1;
                world.runner.exit(stream, 0, 0);
            }
            other => panic!("{other:?}"),
        }
    }
    world.runner.flush().await;
    assert!(attached >= 64 && begun >= 30, "{attached} and {begun}");
    assert_eq!(execs.pop().unwrap().collect(0).await.unwrap().outcome.code, Some(0));
}

fn begun_line(number: i32) -> Vec<u8> {
    number.to_string().into_bytes()
}

#[tokio::test(start_paused = true)]
async fn reader_is_told_of_an_interruption_after_2_s_and_of_its_end_and_others_are_refused_meanwhile() {
    let mut world = world().await;
    let mut events = world.router.subscribe();
    let mut exec = world.sandbox.exec(ExecRequest::shell("x")).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    world.runner.send(stream, ExecStarted { pid: 7 }, false);
    world.runner.flush().await;
    exec.next().await;
    world.cut().await;
    assert!(matches!(events.recv().await.unwrap(), RunnerEvent::Offline { .. }));
    assert_eq!(world.sandbox.exec(ExecRequest::shell("y")).await.unwrap_err().kind(), "offline");
    assert!(matches!(world.router.check(&user(), &route_request()), Err(RouteError::Offline { .. })));
    let before = tokio::time::Instant::now();
    assert_eq!(exec.next().await, Some(ExecEvent::Interrupted));
    assert!((1_900..2_100).contains(&before.elapsed().as_millis()), "{:?}", before.elapsed());
    world.connect_again(2, 1).await;
    let (stream, _) = world.runner.attached().await;
    world.runner.send(stream, Attached { input_bytes: 0 }, false);
    world.runner.write(stream, Channel::Stdout, b"on");
    world.runner.flush().await;
    assert_eq!(exec.next().await, Some(ExecEvent::Resumed));
    assert_eq!(exec.next().await, Some(ExecEvent::Stdout(text(b"on"))));
    world.sandbox.exec(ExecRequest::shell("y")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn exec_is_lost_after_10_min_without_its_runner_and_its_output_so_far_is_kept() {
    let mut world = world().await;
    let mut exec = world.sandbox.exec(ExecRequest::shell("x")).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    world.runner.write(stream, Channel::Stdout, b"so far");
    world.runner.flush().await;
    settle().await;
    let before = tokio::time::Instant::now();
    world.cut().await;
    assert_eq!(exec.next().await, Some(ExecEvent::Stdout(text(b"so far"))));
    assert_eq!(exec.next().await, Some(ExecEvent::Interrupted));
    assert_eq!(kind(exec.next().await), "lost");
    assert!(before.elapsed().as_secs().abs_diff(600) <= 1, "{:?}", before.elapsed());
    assert_eq!(exec.next().await, None);
    // The old life is over; the same process begins a new one for the server.
    world.connect_again(2, 1).await;
    assert_eq!(world.sandbox.exec(ExecRequest::shell("y")).await.unwrap_err().kind(), "offline");
    let sandbox = world.router.for_user(&user(), &route_request()).await.unwrap();
    sandbox.exec(ExecRequest::shell("y")).await.unwrap();
    world.runner.opened().await;
}

#[tokio::test(start_paused = true)]
async fn runner_that_was_started_anew_or_revoked_has_lost_its_execs() {
    let mut world = world().await;
    let mut exec = world.sandbox.exec(ExecRequest::shell("x")).await.unwrap();
    world.runner.opened().await;
    let mut events = world.router.subscribe();
    world.cut().await;
    world.connect_again(2, 9).await;
    assert_eq!(kind(exec.next().await), "lost");
    assert!(matches!(events.recv().await.unwrap(), RunnerEvent::Offline { .. }));
    assert!(matches!(events.recv().await.unwrap(), RunnerEvent::Online { .. }), "there was no takeover");

    let sandbox = world.router.for_user(&user(), &route_request()).await.unwrap();
    let mut exec = sandbox.exec(ExecRequest::shell("x")).await.unwrap();
    world.runner.opened().await;
    world.router.disconnect("u1", "laptop", Disconnect::Revoked);
    assert_eq!(kind(exec.next().await), "lost");
    assert_eq!(world.runner.closed().await.code, CloseCode::Revoked);
}

#[tokio::test(start_paused = true)]
async fn runner_that_says_goodbye_is_told_to_be_offline_once() {
    let mut world = world().await;
    let mut events = world.router.subscribe();
    let goodbye = proto::session::Close::new(CloseCode::GoingAway, "the runner stops");
    let frame = LinkMessage::Binary(goodbye.to_frame());
    futures_util::SinkExt::send(&mut world.runner.link, frame).await.unwrap();
    settle().await;
    assert!(matches!(events.try_recv().unwrap(), RunnerEvent::Offline { .. }));
    settle().await;
    assert!(events.try_recv().is_err());
    assert!(world.router.runners("u1").is_empty());
}

#[tokio::test(start_paused = true)]
async fn runner_that_says_goodbye_has_ended_its_execs() {
    let mut world = world().await;
    let mut exec = world.sandbox.exec(ExecRequest::shell("x")).await.unwrap();
    world.runner.opened().await;
    let goodbye = proto::session::Close::new(CloseCode::GoingAway, "the runner stops");
    let frame = LinkMessage::Binary(goodbye.to_frame());
    futures_util::SinkExt::send(&mut world.runner.link, frame).await.unwrap();
    assert_eq!(kind(exec.next().await), "lost");
    assert!(world.served.await.unwrap().is_ok());
    assert!(world.router.runners("u1").is_empty());
}

#[tokio::test(start_paused = true)]
async fn exec_goes_on_after_the_server_asked_its_runner_to_reconnect() {
    let mut world = world().await;
    let _exec = world.sandbox.exec(ExecRequest::shell("x")).await.unwrap();
    world.runner.opened().await;
    world.router.disconnect("u1", "laptop", Disconnect::Stopping);
    assert_eq!(world.runner.closed().await.code, CloseCode::GoingAway);
    world.connect_again(2, 1).await;
    world.runner.attached().await;
}

#[tokio::test(start_paused = true)]
async fn cancel_while_the_link_is_away_reaches_the_runner_behind_the_attach() {
    let mut world = world().await;
    let kept = world.sandbox.exec(ExecRequest::shell("kept")).await.unwrap();
    let dropped = world.sandbox.exec(ExecRequest::shell("dropped")).await.unwrap();
    world.runner.opened().await;
    world.runner.opened().await;
    world.cut().await;
    kept.control().cancel();
    drop(dropped);
    world.connect_again(2, 1).await;
    let (first, attach) = world.runner.attached().await;
    assert!(attach.output);
    let (second, attach) = world.runner.attached().await;
    assert!(!attach.output, "it has no reader");
    assert_eq!(world.runner.next().await, Some(Event::Cancelled(first)));
    assert_eq!(world.runner.next().await, Some(Event::Cancelled(second)));
    // Neither exec is started only to be cancelled.
    world.runner.no_such_exec(first).await;
    world.runner.no_such_exec(second).await;
    assert_eq!(kept.collect(0).await.unwrap_err().kind(), "cancelled");
    assert!(tokio::time::timeout(Duration::from_secs(1), world.runner.opened()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn what_was_read_before_the_cut_gives_no_credit_on_the_next_link() {
    let mut world = world().await;
    let mut exec = world.sandbox.exec(ExecRequest::argv(["yes"])).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    for _ in 0..4 {
        world.runner.write(stream, Channel::Stdout, &[b'y'; MAX_DATA_BYTES]);
    }
    world.runner.flush().await;
    settle().await;
    exec.next().await;
    exec.next().await;
    world.cut_and_connect().await;
    let (stream, attach) = world.runner.attached().await;
    assert_eq!(attach.offset, 2 * MAX_DATA_BYTES as u64);
    world.runner.send(stream, Attached { input_bytes: 0 }, false);
    let credit = world.runner.session.writable(stream);
    for _ in 0..credit / MAX_DATA_BYTES {
        world.runner.write(stream, Channel::Stdout, &[b'y'; MAX_DATA_BYTES]);
    }
    world.runner.flush().await;
    settle().await;
    assert_eq!(world.runner.session.writable(stream), 0);
    for _ in 0..credit / MAX_DATA_BYTES / 4 {
        exec.next().await;
    }
    assert_eq!(world.runner.next().await, Some(Event::Writable(stream, credit as u64 / 4)));
}

#[tokio::test(start_paused = true)]
async fn what_a_manual_reader_drains_late_gives_no_credit_on_the_next_link() {
    let mut world = world().await;
    let request = ExecRequest { acks: AckMode::Manual, ..ExecRequest::argv(["yes"]) };
    let mut exec = world.sandbox.exec(request).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    for _ in 0..3 {
        world.runner.write(stream, Channel::Stdout, &[b'y'; MAX_DATA_BYTES]);
    }
    world.runner.flush().await;
    settle().await;
    exec.next().await;
    exec.next().await;
    world.cut_and_connect().await;
    let (stream, attach) = world.runner.attached().await;
    assert_eq!(attach.offset, 2 * MAX_DATA_BYTES as u64, "the third was not taken");
    world.runner.send(stream, Attached { input_bytes: 0 }, false);
    let quarter = world.runner.session.writable(stream) / 4;
    for _ in 0..quarter / MAX_DATA_BYTES {
        world.runner.write(stream, Channel::Stdout, &[b'y'; MAX_DATA_BYTES]);
        world.runner.flush().await;
        settle().await;
        exec.next().await;
    }
    exec.consumed(2 * MAX_DATA_BYTES);
    let early = tokio::time::timeout(Duration::from_secs(1), world.runner.next()).await;
    assert!(early.is_err(), "these came over the first link: {early:?}");
    exec.consumed(quarter);
    assert_eq!(world.runner.next().await, Some(Event::Writable(stream, quarter as u64)));
}

#[tokio::test(start_paused = true)]
async fn streams_that_find_no_room_on_the_next_link_get_it_when_others_end() {
    let mut world = world().await;
    let mut execs = Vec::new();
    for _ in 0..128 {
        execs.push(world.sandbox.exec(ExecRequest::argv(["sleep"])).await.unwrap());
        world.runner.opened().await;
    }
    let sandbox = world.sandbox.clone();
    let change = tokio::spawn(async move { sandbox.mkdir_all(b"d", 0o755).await });
    world.runner.opened().await;
    world.cut_and_connect().await;
    let (change_stream, attach) = world.runner.attached().await;
    assert!(!attach.output, "the change comes first");
    for _ in 0..127 {
        assert!(world.runner.attached().await.1.output);
    }
    assert!(tokio::time::timeout(Duration::from_secs(5), world.runner.next()).await.is_err());
    world.runner.send(change_stream, Done {}, true);
    world.runner.attached().await;
    assert_eq!(change.await.unwrap(), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn manual_reader_grants_credit_and_acknowledges_when_it_says_so() {
    let mut world = world().await;
    let request = ExecRequest { acks: AckMode::Manual, ..ExecRequest::argv(["yes"]) };
    let mut exec = world.sandbox.exec(request).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    for _ in 0..4 {
        world.runner.write(stream, Channel::Stdout, &[b'y'; MAX_DATA_BYTES]);
        world.runner.flush().await;
        exec.next().await;
    }
    settle().await;
    assert!(
        tokio::time::timeout(Duration::from_secs(1), world.runner.next()).await.is_err(),
        "no credit yet"
    );
    exec.consumed(4 * MAX_DATA_BYTES);
    assert_eq!(world.runner.next().await, Some(Event::Writable(stream, 4 * MAX_DATA_BYTES as u64)));
    world.runner.exit(stream, 0, 4 * MAX_DATA_BYTES as u64);
    world.runner.flush().await;
    while exec.next().await.is_some() {}
    assert!(tokio::time::timeout(Duration::from_secs(5), world.runner.next()).await.is_err(), "no ack yet");
    #[expect(clippy::disallowed_methods, reason = "the driver is tested without a ledger")]
    exec.acknowledge();
    assert_eq!(world.runner.next().await, Some(Event::Acknowledged(exec.exec_id())));
}

#[tokio::test(start_paused = true)]
async fn result_is_acknowledged_within_1_s_of_being_taken_and_not_before() {
    let mut world = world().await;
    let mut exec = world.sandbox.exec(ExecRequest::argv(["true"])).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    world.runner.exit(stream, 0, 0);
    world.runner.flush().await;
    assert!(
        tokio::time::timeout(Duration::from_secs(5), world.runner.next()).await.is_err(),
        "it was not taken"
    );
    while exec.next().await.is_some() {}
    let acknowledged = tokio::time::timeout(Duration::from_millis(1_100), world.runner.next()).await;
    assert_eq!(acknowledged.unwrap(), Some(Event::Acknowledged(exec.exec_id())));
}

#[tokio::test(start_paused = true)]
async fn exec_of_an_earlier_server_is_attached_to_written_to_and_left() {
    let mut world = world().await;
    let id = ExecId([5; 16]);
    let mut exec = world.sandbox.attach(id, 100, AttachOptions::default()).await.unwrap();
    let control = exec.control();
    control.write_stdin(b"more").await.unwrap();
    let (stream, attach) = world.runner.attached().await;
    assert_eq!(attach, Attach { id, offset: 100, output: true });
    world.runner.session.set_input_offset(stream, 40);
    world.runner.send(stream, Attached { input_bytes: 40 }, false);
    world.runner.send(stream, ExecStarted { pid: 9 }, false);
    world.runner.write(stream, Channel::Stdout, b"rest");
    assert_eq!(world.runner.next().await, Some(Event::Data(stream, Channel::Main, text(b"more"))));
    assert_eq!(exec.next().await, Some(ExecEvent::Started { pid: 9 }));
    assert_eq!(exec.next().await, Some(ExecEvent::Stdout(text(b"rest"))));
    assert_eq!((exec.offset(), exec.input_bytes()), (104, Some(40)));
    world.cut_and_connect().await;
    let (stream, attach) = world.runner.attached().await;
    assert_eq!(attach.offset, 104);
    exec.leave();
    assert_eq!(world.runner.next().await, Some(Event::Left(stream)), "and no cancel");

    drop(world.sandbox.attach(id, 104, AttachOptions::default()).await.unwrap());
    let (stream, _) = world.runner.attached().await;
    assert_eq!(world.runner.next().await, Some(Event::Left(stream)), "a dropped reader leaves too");

    let mut none = world.sandbox.attach(ExecId([6; 16]), 0, AttachOptions::default()).await.unwrap();
    let (stream, _) = world.runner.attached().await;
    world.runner.no_such_exec(stream).await;
    assert_eq!(kind(none.next().await), "no_such_exec");
}

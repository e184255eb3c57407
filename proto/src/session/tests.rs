//! The session against itself: two ends joined by a queue of frames.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::frame;
use crate::ids::ExecId;
use crate::limits::{HEARTBEAT_INTERVAL, HEARTBEAT_TIMEOUT, MAX_RETURN_PAUSE, MAX_RETURN_PROMISE};
use crate::message::{Attached, Done, ExecTreeGone, FileRead};
use crate::path::WirePath;
use crate::request::{Attach, ReadFile, Stat};

struct Pair {
    now: Instant,
    server: Session,
    runner: Session,
}

impl Pair {
    fn new() -> Self {
        let now = Instant::now();
        Self { now, server: Session::new(Side::Originator, now), runner: Session::new(Side::Executor, now) }
    }

    fn deliver_to_runner(&mut self) -> Vec<Event> {
        deliver(&mut self.server, &mut self.runner, self.now)
    }

    fn deliver_to_server(&mut self) -> Vec<Event> {
        deliver(&mut self.runner, &mut self.server, self.now)
    }

    fn open_read(&mut self) -> StreamId {
        let stream = self.server.open(&read_file()).unwrap();
        assert_eq!(self.deliver_to_runner(), [Event::Opened(stream, read_file())]);
        stream
    }
}

fn deliver(from: &mut Session, to: &mut Session, now: Instant) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(frame) = from.poll_transmit(now) {
        events.extend(to.receive(&frame, now).unwrap());
    }
    events
}

fn read_file() -> Request {
    ReadFile { path: WirePath::from("a"), offset: 0, length: None }.into()
}

fn stat() -> Request {
    Stat { path: WirePath::from("a") }.into()
}

fn done() -> Message {
    Done {}.into()
}

#[test]
fn request_is_answered_and_the_stream_is_gone() {
    let mut pair = Pair::new();
    let stream = pair.server.open(&stat()).unwrap();
    assert_eq!(pair.deliver_to_runner(), [Event::Opened(stream, stat())]);
    pair.runner.message(stream, &done(), true).unwrap();
    assert_eq!(pair.deliver_to_server(), [Event::Message { stream, message: done(), fin: true }]);
    assert!(!pair.server.is_open(stream) && !pair.runner.is_open(stream));
}

#[test]
fn sender_stops_without_credit_and_goes_on_when_the_consumer_drains() {
    let mut pair = Pair::new();
    let stream = pair.open_read();
    let mut sent = 0;
    while pair.runner.writable(stream) > 0 {
        let length = pair.runner.writable(stream).min(MAX_DATA_BYTES);
        pair.runner.data(stream, Channel::Main, DataBuf::zeroed(length));
        sent += length;
    }
    assert_eq!(sent, STREAM_CREDIT_BYTES as usize);
    assert_eq!(pair.deliver_to_server().len(), sent / MAX_DATA_BYTES);
    assert_eq!(pair.deliver_to_runner(), []);
    pair.server.consumed(stream, sent / 2);
    assert_eq!(pair.deliver_to_runner(), [Event::Writable(stream, u64::from(STREAM_CREDIT_BYTES / 2))]);
    assert_eq!(pair.runner.writable(stream), sent / 2);
}

#[test]
fn streams_take_turns() {
    let mut pair = Pair::new();
    let (first, second) = (pair.open_read(), pair.open_read());
    for stream in [first, second] {
        for _ in 0..3 {
            pair.runner.data(stream, Channel::Main, DataBuf::zeroed(10));
        }
    }
    let order: Vec<_> = pair
        .deliver_to_server()
        .into_iter()
        .map(|event| match event {
            Event::Data(stream, ..) => stream,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(order, [first, second, first, second, first, second]);
}

#[test]
fn credit_and_cancel_overtake_queued_data() {
    let mut pair = Pair::new();
    let stream = pair.open_read();
    let other = pair.open_read();
    pair.server.data(other, Channel::Main, DataBuf::zeroed(10));
    pair.server.cancel(stream);
    assert_eq!(pair.deliver_to_runner()[0], Event::Cancelled(stream));
}

#[test]
fn cancel_does_not_overtake_its_own_request() {
    let mut pair = Pair::new();
    let stream = pair.server.open(&read_file()).unwrap();
    pair.server.cancel(stream);
    assert_eq!(pair.deliver_to_runner(), [Event::Opened(stream, read_file()), Event::Cancelled(stream)]);
}

#[test]
fn unknown_request_and_bad_body_fail_alone() {
    let mut pair = Pair::new();
    let now = pair.now;
    let unknown = Header { type_number: 999, ..Header::new(Kind::Open, StreamId(1)) }.frame(&[]);
    assert_eq!(pair.runner.receive(&unknown, now), Ok(None));
    let bad_body = Header { type_number: 12, ..Header::new(Kind::Open, StreamId(2)) }.frame(&[0xff; 9]);
    assert_eq!(pair.runner.receive(&bad_body, now), Ok(None));
    let kinds: Vec<_> = std::iter::from_fn(|| pair.runner.poll_transmit(now))
        .map(|frame| {
            let (header, body) = frame::decode(&frame).unwrap();
            assert_eq!(header.kind, Kind::Fail);
            WireError::decode(&body).unwrap().kind
        })
        .collect();
    assert_eq!(kinds, [ErrorKind::UnknownRequest, ErrorKind::InvalidBody]);
    pair.server.last_opened = 2;
    let stream = pair.server.open(&stat()).unwrap();
    assert_eq!(pair.deliver_to_runner(), [Event::Opened(stream, stat())]);
}

#[test]
fn broken_bookkeeping_closes_with_a_code() {
    let data = |stream, sequence, length: usize| {
        Header { sequence, ..Header::new(Kind::Data, StreamId(stream)) }.frame(&vec![0; length])
    };
    let code = |frames: &[Bytes]| {
        let mut pair = Pair::new();
        pair.open_read();
        let closed = frames.iter().map(|frame| pair.server.receive(frame, pair.now)).find_map(Result::err);
        closed.map(|close| close.code)
    };
    assert_eq!(code(&[data(1, 0, 5), data(1, 5, 5)]), None);
    assert_eq!(code(&[data(1, 1, 5)]), Some(CloseCode::SequenceGap));
    assert_eq!(code(&[data(2, 0, 5)]), Some(CloseCode::Protocol));
    assert_eq!(code(&[data(0, 0, 5)]), Some(CloseCode::Protocol));
    let full = MAX_DATA_BYTES;
    let flood: Vec<_> = (0..5).map(|n| data(1, (n * full) as u64, full)).collect();
    assert_eq!(code(&flood), Some(CloseCode::CreditOverrun));
    assert_eq!(code(&[Header::new(Kind::Open, StreamId(9)).frame(&[])]), Some(CloseCode::Protocol));
}

#[test]
fn credit_cannot_overflow() {
    let mut pair = Pair::new();
    let stream = pair.open_read();
    let credit = Header { sequence: u64::MAX, ..Header::new(Kind::Credit, stream) }.frame(&[]);
    assert!(pair.runner.receive(&credit, pair.now).is_err());
}

#[test]
fn offset_behind_a_huge_gap_cannot_overflow() {
    let mut pair = Pair::new();
    let stream = pair.open_read();
    let gap = Header::new(Kind::Gap, stream).frame(&u64::MAX.to_le_bytes());
    pair.server.receive(&gap, pair.now).unwrap();
    let data = Header { sequence: u64::MAX, ..Header::new(Kind::Data, stream) }.frame(b"x");
    assert_eq!(pair.server.receive(&data, pair.now).unwrap_err().code, CloseCode::CreditOverrun);
}

#[test]
fn too_many_requests_are_busy_and_far_too_many_close() {
    let mut pair = Pair::new();
    for _ in 0..MAX_DATA_STREAMS {
        pair.open_read();
    }
    assert_eq!(pair.server.open(&read_file()).unwrap_err().kind, ErrorKind::Busy);
    assert!(pair.server.open(&stat()).is_ok(), "requests without data still pass");

    let mut runner = Session::new(Side::Executor, pair.now);
    let unread = (1..10_000).find_map(|id| {
        let open = Header { type_number: 999, ..Header::new(Kind::Open, StreamId(id)) }.frame(&[]);
        runner.receive(&open, pair.now).err()
    });
    assert_eq!(unread.map(|close| close.code), Some(CloseCode::Flooded));
}

#[test]
fn late_frames_on_a_gone_stream_are_dropped() {
    let mut pair = Pair::new();
    let stream = pair.open_read();
    pair.runner.message(stream, &FileRead { bytes: 0 }.into(), true).unwrap();
    pair.server.data(stream, Channel::Main, DataBuf::zeroed(10));
    pair.server.cancel(stream);
    let crossing: Vec<_> = std::iter::from_fn(|| pair.server.poll_transmit(pair.now)).collect();
    assert_eq!(pair.deliver_to_server().len(), 1);
    for frame in crossing {
        assert_eq!(pair.runner.receive(&frame, pair.now), Ok(None));
    }
    pair.server.consumed(stream, 10);
    assert_eq!(pair.deliver_to_runner(), []);
}

#[test]
fn new_streams_get_less_credit_when_the_budget_is_used() {
    let mut pair = Pair::new();
    let windows: Vec<_> = (0..MAX_DATA_STREAMS)
        .map(|_| {
            let stream = pair.open_read();
            pair.runner.writable(stream) as u32
        })
        .collect();
    assert_eq!(windows[0], STREAM_CREDIT_BYTES);
    assert_eq!(windows[MAX_DATA_STREAMS - 1], MIN_STREAM_CREDIT_BYTES);
}

#[test]
fn the_first_streams_may_have_more_under_way_and_all_stay_within_the_budget() {
    let mut pair = Pair::new();
    let windows: Vec<_> = (0..MAX_DATA_STREAMS)
        .map(|_| {
            let stream = pair.server.open_with(&read_file(), u32::MAX).unwrap();
            pair.deliver_to_runner();
            assert_eq!(pair.runner.writable(stream), pair.server.window(stream));
            pair.server.window(stream) as u32
        })
        .collect();
    assert_eq!(windows[0], MAX_STREAM_CREDIT_BYTES);
    assert!(windows.is_sorted_by(|one, next| one >= next), "{windows:?}");
    assert!(windows.contains(&STREAM_CREDIT_BYTES), "{windows:?}");
    let least = MAX_DATA_STREAMS as u64 * u64::from(MIN_STREAM_CREDIT_BYTES);
    assert!(windows.iter().copied().map(u64::from).sum::<u64>() <= SESSION_BUDGET_BYTES + least);
}

#[test]
fn an_attached_stream_goes_on_at_the_offsets_of_both_sides() {
    let mut pair = Pair::new();
    let attach = Attach { id: ExecId([7; 16]), offset: 1000, output: true };
    let stream = pair.server.open(&attach.into()).unwrap();
    pair.deliver_to_runner();
    pair.runner.set_input_offset(stream, 50);
    pair.runner.message(stream, &Attached { input_bytes: 50 }.into(), false).unwrap();
    pair.runner.gap(stream, Channel::Main, 24);
    let kept = pair.runner.data(stream, Channel::Stdout, DataBuf::copy_from(b"later"));
    assert_eq!(&kept[..], b"later", "the sender keeps what it sent, to send it again");
    let events = pair.deliver_to_server();
    assert_eq!(events[1], Event::Gap(stream, Channel::Main, 24));
    assert_eq!(events[2], Event::Data(stream, Channel::Stdout, Bytes::from_static(b"later")));
    pair.server.set_input_offset(stream, 50);
    pair.server.data(stream, Channel::Main, DataBuf::copy_from(b"input"));
    let input = pair.deliver_to_runner();
    assert_eq!(input, [Event::Data(stream, Channel::Main, Bytes::from_static(b"input"))]);
}

#[test]
fn input_that_goes_on_elsewhere_than_agreed_closes_the_link() {
    let mut pair = Pair::new();
    let attach = Attach { id: ExecId([7; 16]), offset: 0, output: true };
    let stream = pair.server.open(&attach.into()).unwrap();
    pair.deliver_to_runner();
    pair.runner.set_input_offset(stream, 50);
    pair.server.data(stream, Channel::Main, DataBuf::copy_from(b"x"));
    let frame = pair.server.poll_transmit(pair.now).unwrap();
    assert_eq!(pair.runner.receive(&frame, pair.now).unwrap_err().code, CloseCode::SequenceGap);
}

#[test]
fn session_messages_need_no_stream() {
    let mut pair = Pair::new();
    let message: Message = ExecTreeGone { exec_id: ExecId([7; 16]) }.into();
    pair.runner.message(StreamId::SESSION, &message, false).unwrap();
    assert_eq!(pair.deliver_to_server(), [Event::Message { stream: StreamId::SESSION, message, fin: false }]);
}

#[test]
fn silence_is_pinged_and_then_dead() {
    let mut pair = Pair::new();
    assert_eq!(pair.server.next_timeout(), pair.now + HEARTBEAT_INTERVAL);
    pair.now += HEARTBEAT_INTERVAL;
    pair.server.handle_timeout(pair.now).unwrap();
    assert_eq!(pair.deliver_to_runner(), []);
    assert_eq!(pair.deliver_to_server(), [], "the pong is swallowed, and counts");
    assert_eq!(pair.server.next_timeout(), pair.now + HEARTBEAT_INTERVAL);
    pair.now += HEARTBEAT_TIMEOUT;
    assert_eq!(pair.server.handle_timeout(pair.now).unwrap_err().code, CloseCode::Dead);
}

#[test]
fn ping_flood_queues_one_pong() {
    let mut pair = Pair::new();
    for sequence in 0..1000 {
        let ping = Header { sequence, ..Header::new(Kind::Ping, StreamId::SESSION) }.frame(&[]);
        pair.runner.receive(&ping, pair.now).unwrap();
    }
    assert_eq!(std::iter::from_fn(|| pair.runner.poll_transmit(pair.now)).count(), 1);
}

#[test]
fn close_codes_map_both_ways() {
    for (code, number) in CloseCode::NUMBERS {
        assert_eq!((CloseCode::from_number(*number), code.number()), (*code, *number));
        let close = Close::new(*code, "why");
        let mut pair = Pair::new();
        let event = pair.server.receive(&close.to_frame(), pair.now + Duration::from_millis(1));
        assert_eq!(event, Ok(Some(Event::Closed(close))));
    }
}

#[test]
fn a_goodbye_may_ask_for_a_pause_that_has_a_limit() {
    let received = |close: &Close| {
        let mut pair = Pair::new();
        match pair.runner.receive(&close.to_frame(), pair.now) {
            Ok(Some(Event::Closed(close))) => close.pause,
            other => panic!("{other:?}"),
        }
    };
    let asked = |seconds| Close::come_back_after("later", Duration::from_secs(seconds));
    assert_eq!(received(&asked(7)), Duration::from_secs(7));
    assert_eq!(received(&asked(0)), Duration::ZERO);
    assert_eq!(received(&asked(u64::MAX)), MAX_RETURN_PAUSE);
    let promised = |seconds| Close::back_within("later", Duration::from_secs(seconds));
    assert_eq!(received(&promised(70)), Duration::from_secs(70));
    assert_eq!(received(&promised(u64::MAX)), MAX_RETURN_PROMISE);
    let endless = Close { pause: Duration::MAX, ..asked(0) };
    assert_eq!(received(&endless), MAX_RETURN_PROMISE, "a peer may write anything");
    for (code, _) in CloseCode::NUMBERS.iter().filter(|(code, _)| *code != CloseCode::GoingAway) {
        let close = Close { pause: Duration::from_secs(5), ..Close::new(*code, "why") };
        assert_eq!(received(&close), Duration::ZERO, "{code:?}");
    }
}

/// One step of a random conversation on a few streams.
#[derive(Debug, Clone)]
enum Step {
    Write { stream: usize, length: usize },
    Drain { stream: usize, length: usize },
    ToServer { frames: usize },
    ToRunner { frames: usize },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..3usize, 1..MAX_DATA_BYTES).prop_map(|(stream, length)| Step::Write { stream, length }),
        (0..3usize, 1..200_000usize).prop_map(|(stream, length)| Step::Drain { stream, length }),
        (1..8usize).prop_map(|frames| Step::ToServer { frames }),
        (1..8usize).prop_map(|frames| Step::ToRunner { frames }),
    ]
}

proptest! {
    /// Credit is never exceeded, nothing is lost, duplicated or reordered: `receive` checks every offset.
    #[test]
    fn random_conversations_keep_every_byte_in_order(steps in prop::collection::vec(step(), 1..300)) {
        let mut pair = Pair::new();
        let streams = [pair.open_read(), pair.open_read(), pair.open_read()];
        let (mut written, mut received, mut undrained) = ([0u64; 3], [0u64; 3], [0usize; 3]);
        for step in steps {
            match step {
                Step::Write { stream, length } => {
                    let length = length.min(pair.runner.writable(streams[stream]));
                    let mut bytes = DataBuf::zeroed(length);
                    for (at, byte) in bytes.as_mut_slice().iter_mut().enumerate() {
                        *byte = (written[stream] + at as u64) as u8;
                    }
                    written[stream] += length as u64;
                    pair.runner.data(streams[stream], Channel::Main, bytes);
                }
                Step::Drain { stream, length } => {
                    let length = length.min(undrained[stream]);
                    undrained[stream] -= length;
                    pair.server.consumed(streams[stream], length);
                }
                Step::ToServer { frames } => {
                    for frame in std::iter::from_fn(|| pair.runner.poll_transmit(pair.now)).take(frames).collect::<Vec<_>>() {
                        let Some(Event::Data(id, _, bytes)) = pair.server.receive(&frame, pair.now).unwrap() else { continue };
                        let stream = streams.iter().position(|&other| other == id).unwrap();
                        for (at, byte) in bytes.iter().enumerate() {
                            prop_assert_eq!(*byte, (received[stream] + at as u64) as u8);
                        }
                        received[stream] += bytes.len() as u64;
                        undrained[stream] += bytes.len();
                        prop_assert!(undrained[stream] <= STREAM_CREDIT_BYTES as usize);
                    }
                }
                Step::ToRunner { frames } => {
                    for frame in std::iter::from_fn(|| pair.server.poll_transmit(pair.now)).take(frames).collect::<Vec<_>>() {
                        pair.runner.receive(&frame, pair.now).unwrap();
                    }
                }
            }
        }
        deliver_data(&mut pair, &streams, &mut received);
        prop_assert_eq!(received, written);
    }

    #[test]
    fn no_frame_panics_either_side(frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 1..50)) {
        let mut pair = Pair::new();
        pair.open_read();
        for mut bytes in frames {
            // Mostly valid kinds, so that more than the header's check is reached.
            if let Some(first) = bytes.first_mut() {
                *first = Kind::ALL[*first as usize % Kind::ALL.len()] as u8;
            }
            let frame = Bytes::from(bytes);
            let _ = pair.server.receive(&frame, pair.now);
            let _ = pair.runner.receive(&frame, pair.now);
        }
        let _ = std::iter::from_fn(|| pair.runner.poll_transmit(pair.now)).count();
    }
}

fn deliver_data(pair: &mut Pair, streams: &[StreamId; 3], received: &mut [u64; 3]) {
    for event in pair.deliver_to_server() {
        if let Event::Data(id, _, bytes) = event {
            let stream = streams.iter().position(|&other| other == id).unwrap();
            received[stream] += bytes.len() as u64;
        }
    }
}

//! Two sessions that both follow the rules: nothing may be lost, duplicated or reordered, and no link may close.

use std::collections::{BTreeMap, VecDeque};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use bytes::Bytes;
use proto::limits::{MAX_DATA_BYTES, MAX_REQUESTS, STREAM_CREDIT_BYTES};
use proto::message::{Attached, Done, ExecStarted};
use proto::{
    Channel, DataBuf, ErrorKind, Event, ExecId, Message, Request, Session, Side, StreamId, WireError,
};

use super::request;

const SERVER: usize = 0;
const RUNNER: usize = 1;

/// The offset at which a resumed exec's standard input continues, in bytes.
const INPUT_OFFSET: u64 = 5_000;

/// The longest step of time: less than the timeout of a link, more than the interval of pings.
const STEP: Duration = Duration::from_secs(11);

/// The period of the content in bytes: a prime, so that no frame or window has the same length.
const PERIOD_BYTES: u64 = 65_521;

/// A sequence of operations: each is a byte for the action, a byte for the stream, a byte for the amount.
pub fn session(data: &[u8]) {
    let mut pair = Pair::new();
    for operation in data.chunks_exact(3) {
        pair.act(operation[0], operation[1], u64::from(operation[2]));
    }
    pair.finish();
}

/// Data of one stream in one direction.
#[derive(Debug, Default)]
struct Flow {
    /// Offset of the next byte its sender queues.
    queued: u64,
    /// Offset of the next byte its receiver expects.
    arrived: u64,
    /// Data that arrived and was not drained.
    undrained: u64,
    /// Data, without gaps, that was queued and not drained: never more than the credit.
    under_way: u64,
    /// Channels whose end the receiver has seen.
    ended: Vec<Channel>,
    ends_queued: usize,
}

#[derive(Debug)]
struct Stream {
    request: Request,
    /// The data sent by each side.
    flows: [Flow; 2],
    /// True if the server's data may be dropped: a resumed stream waits for its offset.
    input_is_placed: bool,
    cancelled: bool,
    answered: bool,
}

struct Pair {
    now: Instant,
    ends: [Session; 2],
    /// Frames in flight to each side.
    travelling: [VecDeque<Bytes>; 2],
    streams: BTreeMap<StreamId, Stream>,
    acks: [u64; 2],
}

impl Pair {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            now,
            ends: [Session::new(Side::Originator, now), Session::new(Side::Executor, now)],
            travelling: Default::default(),
            streams: BTreeMap::new(),
            acks: [0; 2],
        }
    }

    fn act(&mut self, operation: u8, which: u8, amount: u64) {
        let side = usize::from(operation & 1);
        match operation >> 1 & 15 {
            0 | 1 => self.open(which, amount),
            2..=4 => self.send(side, which, amount),
            5 => self.gap_or_end(side, which, amount),
            6 => self.drain(side, which, amount),
            7 => self.give_up(which, amount),
            8 => self.answer(which, amount),
            9 => self.pass_time(),
            10 => {
                self.ends[SERVER].acknowledge(ExecId([which; 16]));
                self.acks[SERVER] += 1;
            }
            11 | 12 => (0..=amount % 8).for_each(|_| self.transmit(side)),
            _ => (0..=amount % 8).for_each(|_| self.deliver(side)),
        }
    }

    fn nth(&self, which: u8) -> Option<StreamId> {
        let index = usize::from(which) % self.streams.len().max(1);
        self.streams.keys().nth(index).copied()
    }

    fn open(&mut self, which: u8, amount: u64) {
        let request = request(which, amount * 1000);
        let Ok(id) = self.ends[SERVER].open(&request) else { return };
        assert!(self.streams.len() < MAX_REQUESTS);
        let mut flows: [Flow; 2] = Default::default();
        (flows[RUNNER].queued, flows[RUNNER].arrived) = (request.first_offset(), request.first_offset());
        let input_is_placed = !matches!(request, Request::Attach(_));
        let stream = Stream { request, flows, input_is_placed, cancelled: false, answered: false };
        self.streams.insert(id, stream);
    }

    fn send(&mut self, side: usize, which: u8, amount: u64) {
        let Some(id) = self.nth(which) else { return };
        let stream = self.streams.get_mut(&id).expect("nth names a stream");
        let may = stream.request.carries_data()
            && !stream.answered
            && (side == RUNNER || stream.input_is_placed && !stream.cancelled);
        let room = self.ends[side].writable(id).min(MAX_DATA_BYTES);
        let length = usize::try_from(amount * amount).expect("a u8 squared").min(room);
        if !may || length == 0 {
            return;
        }
        let flow = &mut stream.flows[side];
        self.ends[side].data(id, Channel::Main, DataBuf::copy_from(content(flow.queued, length)));
        flow.queued += length as u64;
        flow.under_way += length as u64;
        assert!(flow.under_way <= u64::from(STREAM_CREDIT_BYTES), "more under way than credit");
    }

    fn gap_or_end(&mut self, side: usize, which: u8, amount: u64) {
        let Some(id) = self.nth(which) else { return };
        let stream = self.streams.get_mut(&id).expect("nth names a stream");
        if !self.ends[side].is_open(id)
            || stream.answered
            || !stream.input_is_placed
            || !stream.request.carries_data()
        {
            return;
        }
        if amount.is_multiple_of(2) {
            self.ends[side].end(id, Channel::Stderr);
            stream.flows[side].ends_queued += 1;
        } else {
            self.ends[side].gap(id, Channel::Main, amount);
            stream.flows[side].queued += amount;
        }
    }

    /// The consumer at `side` takes the data that arrived from the other side.
    fn drain(&mut self, side: usize, which: u8, amount: u64) {
        let Some(id) = self.nth(which) else { return };
        let flow = &mut self.streams.get_mut(&id).expect("nth names a stream").flows[1 - side];
        let bytes = flow.undrained.min(amount * amount * 4);
        flow.undrained -= bytes;
        flow.under_way -= bytes;
        self.ends[side].consumed(id, usize::try_from(bytes).expect("less than the credit"));
    }

    fn give_up(&mut self, which: u8, amount: u64) {
        let Some(id) = self.nth(which) else { return };
        self.streams.get_mut(&id).expect("nth names a stream").cancelled = true;
        if amount.is_multiple_of(2) { self.ends[SERVER].cancel(id) } else { self.ends[SERVER].leave(id) }
    }

    fn answer(&mut self, which: u8, amount: u64) {
        let Some(id) = self.nth(which) else { return };
        let stream = self.streams.get_mut(&id).expect("nth names a stream");
        if !self.ends[RUNNER].is_open(id) || stream.answered {
            return;
        }
        stream.answered = !amount.is_multiple_of(3);
        let runner = &mut self.ends[RUNNER];
        match amount % 3 {
            0 => runner.message(id, &ExecStarted { pid: 1 }.into(), false).expect("it is small"),
            1 => runner.message(id, &Done {}.into(), true).expect("it is small"),
            _ => runner.fail(id, &WireError::new(ErrorKind::Io, "no luck")),
        }
    }

    /// Time passes, and frames in flight arrive: no side may be found dead.
    fn pass_time(&mut self) {
        self.now += STEP;
        for side in [SERVER, RUNNER] {
            self.ends[side].handle_timeout(self.now).expect("the peer was heard of a moment ago");
        }
        self.settle();
    }

    fn transmit(&mut self, side: usize) {
        if let Some(frame) = self.ends[side].poll_transmit(self.now) {
            self.travelling[1 - side].push_back(frame);
        }
    }

    fn deliver(&mut self, side: usize) {
        let Some(frame) = self.travelling[side].pop_front() else { return };
        let event = self.ends[side].receive(&frame, self.now).expect("the peer keeps the rules");
        if let Some(event) = event {
            self.note(side, event);
        }
    }

    fn note(&mut self, side: usize, event: Event) {
        match event {
            Event::Opened(id, request) => {
                assert_eq!(request, self.streams[&id].request);
                if let Request::Attach(_) = request {
                    self.ends[RUNNER].set_input_offset(id, INPUT_OFFSET);
                    let attached = Attached { input_bytes: INPUT_OFFSET };
                    self.ends[RUNNER].message(id, &attached.into(), false).expect("it is small");
                }
            }
            Event::Message { stream: id, message: Message::Attached(attached), .. } => {
                self.ends[SERVER].set_input_offset(id, attached.input_bytes);
                let stream = self.streams.get_mut(&id).expect("only streams that were opened answer");
                let flow = &mut stream.flows[SERVER];
                (flow.queued, flow.arrived) = (attached.input_bytes, attached.input_bytes);
                stream.input_is_placed = true;
            }
            Event::Message { stream: id, fin: true, .. } | Event::Failed(id, _) => self.is_answered(id),
            Event::Data(id, _, bytes) => {
                let flow = self.flow_to(side, id);
                let is_as_sent = bytes == content(flow.arrived, bytes.len());
                assert!(is_as_sent, "other bytes than were sent at {}", flow.arrived);
                flow.arrived += bytes.len() as u64;
                flow.undrained += bytes.len() as u64;
            }
            Event::Gap(id, _, bytes) => self.flow_to(side, id).arrived += bytes,
            Event::End(id, channel) => self.flow_to(side, id).ended.push(channel),
            Event::Acknowledged(_) => self.acks[RUNNER] += 1,
            Event::Message { .. } | Event::Cancelled(_) | Event::Left(_) | Event::Writable(..) => {}
            Event::Closed(close) => panic!("neither side may close: {close:?}"),
        }
    }

    /// Checks that everything sent before the answer has arrived, unless the server gave the stream up.
    fn is_answered(&mut self, id: StreamId) {
        let stream = self.streams.remove(&id).expect("a stream is answered once");
        assert!(stream.answered, "an answer that was never given");
        let flow = &stream.flows[RUNNER];
        assert_eq!((flow.arrived, flow.ended.len()), (flow.queued, flow.ends_queued));
        assert!(!self.ends[SERVER].is_open(id) && !self.ends[RUNNER].is_open(id));
    }

    fn flow_to(&mut self, side: usize, id: StreamId) -> &mut Flow {
        &mut self.streams.get_mut(&id).expect("data of a stream that is open").flows[1 - side]
    }

    /// Delivers every frame.
    fn settle(&mut self) {
        loop {
            (0..64).for_each(|_| [SERVER, RUNNER].into_iter().for_each(|side| self.transmit(side)));
            if self.travelling.iter().all(VecDeque::is_empty) {
                return;
            }
            for side in [SERVER, RUNNER] {
                while !self.travelling[side].is_empty() {
                    self.deliver(side);
                }
            }
        }
    }

    /// Delivers and answers everything, and checks that nothing is left.
    fn finish(&mut self) {
        self.settle();
        assert_eq!(self.acks[SERVER], self.acks[RUNNER]);
        for (id, stream) in &mut self.streams {
            let input = &stream.flows[SERVER];
            if !stream.cancelled && stream.input_is_placed {
                assert_eq!((input.arrived, input.ended.len()), (input.queued, input.ends_queued));
            }
            stream.answered = true;
            self.ends[RUNNER].message(*id, &Done {}.into(), true).expect("it is small");
        }
        self.settle();
        assert!(self.streams.is_empty(), "streams without an answer: {:?}", self.streams);
        assert_eq!(self.ends.each_mut().map(|end| end.drain().len()), [0, 0]);
    }
}

/// The content at an offset: a slice of one table, as cheap as a copy.
fn content(offset: u64, length: usize) -> &'static [u8] {
    static TABLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let numbers = 0..PERIOD_BYTES + MAX_DATA_BYTES as u64;
        numbers.map(|at| ((at % PERIOD_BYTES).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
    });
    let start = usize::try_from(offset % PERIOD_BYTES).expect("less than the period");
    &TABLE[start..start + length]
}

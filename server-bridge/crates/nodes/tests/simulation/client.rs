//! Clients, which connect to any node, lose their connections, and check everything that they receive.

use std::sync::Arc;
use std::time::Duration;

use store::{ChatId, ExecId, UserId};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::clockwork::progress;
use crate::house::{ALL, Ask, Call, Exec, Frame, House};
use crate::job::{Script, channel_of, left_of_channel};
use crate::random::Random;
use crate::schedule::tell;

/// The maximum number of frames that are queued for a client.
const WAITING: usize = 8;
/// How long a client waits without a frame before it connects elsewhere.
const SILENCE: Duration = Duration::from_secs(25);
/// The longest pause before a client reconnects. Most pauses are within the grace period of a command without a client.
const PAUSE: Duration = Duration::from_secs(3);
/// The longest pause of some clients, long enough that their commands are ended.
const LONG_PAUSE: Duration = Duration::from_secs(30);
/// The longest pause once all faults have ended.
const CALM_PAUSE: Duration = Duration::from_millis(300);

/// The outcome of a command as its client knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// The client received the end of the command.
    Exit { code: Option<i32>, is_cancelled: bool, has_bytes: u64, gap_bytes: u64 },
    /// The command goes on without a client.
    Detached,
    /// The command failed, with an error of this kind.
    Failed(String),
}

/// A client's record of its messages: the texts that were acknowledged, and those that were refused.
#[derive(Debug, Default)]
pub(crate) struct Posted {
    pub(crate) acknowledged: Vec<String>,
    pub(crate) refused: Vec<String>,
}

pub(crate) struct Client {
    pub(crate) house: House,
    pub(crate) urls: Vec<String>,
    pub(crate) user: UserId,
    pub(crate) random: Random,
    /// Cancelled when the client stops losing its connections on purpose.
    pub(crate) calm: CancellationToken,
}

impl Client {
    fn url(&mut self) -> String {
        self.urls[self.random.place(self.urls.len())].clone()
    }

    async fn pause(&mut self, below: Duration) {
        let time = self.random.time(below);
        tokio::select! {
            () = sleep(time) => {}
            () = self.calm.cancelled() => sleep(time.min(CALM_PAUSE)).await,
        }
    }

    /// Runs a command to its end, over as many connections as it needs.
    pub(crate) async fn run(mut self, id: ExecId, place: String, script: Script, is_detached: bool) -> Known {
        let acks = self.random.is_one_in(2);
        let begin = Duration::from_secs(8);
        self.pause(begin).await;
        let (ended, ends) = (CancellationToken::new(), self.random.is_one_in(8));
        let mut reading = Reading { script, acks, offset: 0, gap_bytes: 0 };
        loop {
            let (sender, frames) = mpsc::channel(WAITING);
            let (has, gone) = (watch::Sender::new(reading.offset), CancellationToken::new());
            let exec = Exec {
                id: id.clone(),
                place: place.clone(),
                line: script.line(),
                is_detached,
                acks,
                offset: reading.offset,
                has: has.subscribe(),
                ended: ended.clone(),
                gone: gone.clone(),
            };
            let ask = Ask::Exec(Arc::new(exec));
            let call = Call::Ask { user: self.user, ask, answer: sender, from: None };
            let url = self.url();
            if self.house.call(&url, call) {
                let _leaves = gone.drop_guard();
                if ends && self.random.is_one_in(2) {
                    ended.cancel();
                }
                let known = self.read(&mut reading, &has, frames).await;
                match known {
                    // The client asks again, because nothing began or another home continues the command.
                    Some(Known::Failed(kind)) if is_passing(&kind) => {
                        tell(format!("the client of {id} hears from {url}: {kind}"));
                    }
                    Some(known) => return known,
                    None => tell(format!("the client of {id} leaves {url}")),
                }
            }
            let is_long = self.random.is_one_in(5);
            self.pause(if is_long { LONG_PAUSE } else { PAUSE }).await;
        }
    }

    /// Reads one connection to its end; `None` if the command has not ended with it.
    async fn read(
        &mut self,
        reading: &mut Reading,
        has: &watch::Sender<u64>,
        mut frames: mpsc::Receiver<Frame>,
    ) -> Option<Known> {
        let mut left = if self.calm.is_cancelled() || !self.random.is_one_in(3) {
            u64::MAX
        } else {
            self.random.below(30)
        };
        while let Ok(Some(frame)) = timeout(SILENCE, frames.recv()).await {
            progress();
            left = left.checked_sub(1)?;
            match frame {
                Frame::Started => {}
                Frame::Data { is_stderr, bytes } => reading.take(is_stderr, &bytes),
                Frame::Gap(bytes) => reading.miss(bytes),
                Frame::Exit { code, is_cancelled } => {
                    has.send_replace(ALL);
                    let Reading { offset, gap_bytes, .. } = *reading;
                    return Some(Known::Exit { code, is_cancelled, has_bytes: offset, gap_bytes });
                }
                Frame::Detached => return Some(Known::Detached),
                Frame::Error(kind) => return Some(Known::Failed(kind)),
                Frame::Posted | Frame::Texts(_) | Frame::NotHere => panic!("{frame:?}"),
            }
            has.send_replace(reading.offset);
            if self.random.is_one_in(8) {
                self.pause(Duration::from_millis(300)).await;
            }
        }
        None
    }

    /// Posts messages one after another; each acknowledged message is read from another node at once.
    pub(crate) async fn post(mut self, chat: ChatId, messages: u64, name: String) -> Posted {
        let mut posted = Posted::default();
        for number in 0..messages {
            let rest = Duration::from_secs(5);
            self.pause(rest).await;
            let text = format!("{name} {number}");
            let ask = Ask::Post { chat: chat.clone(), text: text.clone() };
            match self.ask(ask).await {
                Some(Frame::Posted) => {
                    posted.acknowledged.push(text.clone());
                    let texts = self.ask(Ask::Read { chat: chat.clone() }).await;
                    if let Some(Frame::Texts(texts)) = texts {
                        assert!(texts.contains(&text), "{text} was acknowledged and is not read: {texts:?}");
                    }
                }
                Some(Frame::Error(kind)) if kind == "fenced" => posted.refused.push(text),
                // The outcome is unknown, as with a lost connection.
                Some(Frame::Error(_)) | None => {}
                Some(other) => panic!("{other:?}"),
            }
        }
        posted
    }

    async fn ask(&mut self, ask: Ask) -> Option<Frame> {
        let (answer, mut frames) = mpsc::channel(WAITING);
        let call = Call::Ask { user: self.user, ask, answer, from: None };
        let url = self.url();
        if !self.house.call(&url, call) {
            return None;
        }
        let frame = timeout(SILENCE, frames.recv()).await.ok().flatten();
        progress();
        frame
    }
}

/// Returns true if the same request may succeed a little later.
fn is_passing(kind: &str) -> bool {
    ["unavailable", "offline", "later", "detached", "busy", "internal"].contains(&kind)
}

/// A client's view of its command's output.
struct Reading {
    script: Script,
    acks: bool,
    offset: u64,
    gap_bytes: u64,
}

impl Reading {
    fn take(&mut self, is_stderr: bool, bytes: &[u8]) {
        let length = bytes.len() as u64;
        let expected = self.script.bytes(self.offset, length);
        assert!(*bytes == expected, "{length} wrong bytes at {} of {:?}", self.offset, self.script);
        assert_eq!(is_stderr, channel_of(self.offset) == proto::Channel::Stderr, "at {}", self.offset);
        assert!(length <= left_of_channel(self.offset), "bytes of both channels at {}", self.offset);
        self.offset += length;
    }

    fn miss(&mut self, bytes: u64) {
        assert!(!self.acks, "{bytes} bytes were dropped that were not acknowledged, at {}", self.offset);
        self.offset += bytes;
        self.gap_bytes += bytes;
    }
}

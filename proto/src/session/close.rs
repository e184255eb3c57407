//! The end of a link: the reason, as a code for programs and a text for people, and when to come back.

use std::time::Duration;

use bytes::Bytes;

use crate::frame::{Header, Kind};
use crate::ids::StreamId;
use crate::limits::{MAX_RETURN_PAUSE, MAX_RETURN_PROMISE};

/// The reason why a link is closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Close {
    /// The reason, as a code for programs.
    pub code: CloseCode,
    /// The reason, as a text for people.
    pub reason: String,
    /// In a goodbye: how long a server asks its runner to wait, so that many runners do not come back at once; or the
    /// time within which a runner intends to be back. Such a runner has begun none of the requests that it did not
    /// answer. Zero with any other code, and if the peer does not send it.
    pub pause: Duration,
}

/// The codes of a CLOSE frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CloseCode {
    /// The peer stops in an orderly way; reconnect.
    GoingAway,
    /// Another connection of this runner took over; do not reconnect.
    Replaced,
    /// The runner was revoked; do not reconnect.
    Revoked,
    /// A frame could not be understood.
    Protocol,
    /// An offset does not follow the last one.
    SequenceGap,
    /// More data than was granted.
    CreditOverrun,
    /// Far more requests than are allowed in flight.
    Flooded,
    /// Nothing arrived for 30 s.
    Dead,
    /// A code of a later version.
    Other(u16),
}

impl CloseCode {
    pub(super) const NUMBERS: &[(CloseCode, u16)] = &[
        (CloseCode::GoingAway, 1),
        (CloseCode::Replaced, 2),
        (CloseCode::Revoked, 3),
        (CloseCode::Protocol, 10),
        (CloseCode::SequenceGap, 11),
        (CloseCode::CreditOverrun, 12),
        (CloseCode::Flooded, 13),
        (CloseCode::Dead, 14),
    ];

    /// The number on the wire.
    pub fn number(self) -> u16 {
        match self {
            CloseCode::Other(number) => number,
            known => Self::NUMBERS.iter().find(|(code, _)| *code == known).map_or(0, |(_, number)| *number),
        }
    }

    /// The code of a number from the wire.
    pub fn from_number(number: u16) -> Self {
        Self::NUMBERS
            .iter()
            .find(|(_, known)| *known == number)
            .map_or(Self::Other(number), |(code, _)| *code)
    }
}

impl Close {
    /// A close with a reason for people.
    pub fn new(code: CloseCode, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into(), pause: Duration::ZERO }
    }

    /// A goodbye that asks the peer to come back after this time, at most [`MAX_RETURN_PAUSE`].
    pub fn come_back_after(reason: impl Into<String>, pause: Duration) -> Self {
        Self { pause: pause.min(MAX_RETURN_PAUSE), ..Self::new(CloseCode::GoingAway, reason) }
    }

    /// The goodbye of a runner that intends to be back within this time, at most [`MAX_RETURN_PROMISE`]: it did not begin the
    /// requests that it did not answer, so they may be sent to its next process.
    pub fn back_within(reason: impl Into<String>, time: Duration) -> Self {
        Self { pause: time.min(MAX_RETURN_PROMISE), ..Self::new(CloseCode::GoingAway, reason) }
    }

    /// Reads a CLOSE frame. A pause longer than [`MAX_RETURN_PROMISE`] counts as that one.
    pub fn from_frame(header: &Header, body: &[u8]) -> Self {
        let reason = String::from_utf8_lossy(body);
        match CloseCode::from_number(header.type_number) {
            CloseCode::GoingAway => Self::back_within(reason, Duration::from_millis(header.sequence)),
            code => Self::new(code, reason),
        }
    }

    /// The CLOSE frame; the last one of a link.
    pub fn to_frame(&self) -> Bytes {
        let end =
            (0..=self.reason.len().min(1024)).rev().find(|&at| self.reason.is_char_boundary(at)).unwrap_or(0);
        let header = Header {
            type_number: self.code.number(),
            sequence: u64::try_from(self.pause.as_millis()).unwrap_or(u64::MAX),
            ..Header::new(Kind::Close, StreamId::SESSION)
        };
        header.frame(&self.reason.as_bytes()[..end])
    }
}

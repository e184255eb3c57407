//! The receiving half of the session: the meaning of each arriving frame, and its rules.

use std::time::Instant;

use bytes::Bytes;

use super::stream::Stream;
use super::{CANCEL_LEAVE, Close, CloseCode, Event, Session, Side};
use crate::error::WireError;
use crate::frame::{self, Header, Kind};
use crate::ids::{ExecId, StreamId};
use crate::limits::{MAX_REFUSED_STREAMS, MAX_REQUESTS, STREAM_CREDIT_BYTES};
use crate::message::Message;
use crate::request::Request;

impl Session {
    /// Processes one frame. An error means that the link must be closed with it.
    pub fn receive(&mut self, bytes: &Bytes, now: Instant) -> Result<Option<Event>, Close> {
        let (header, body) =
            frame::decode(bytes).map_err(|error| Close::new(CloseCode::Protocol, error.to_string()))?;
        self.heartbeat.received(now);
        match header.kind {
            Kind::Open => self.receive_open(header, &body),
            Kind::Message => self.receive_message(header, &body),
            Kind::Fail => self.receive_fail(header, &body),
            Kind::Data | Kind::End | Kind::Gap => self.receive_data(header, body),
            Kind::Credit => self.receive_credit(header),
            Kind::Cancel => {
                let id = header.stream;
                let event =
                    if header.type_number == CANCEL_LEAVE { Event::Left(id) } else { Event::Cancelled(id) };
                Ok(self.streams.contains_key(&id).then_some(event))
            }
            Kind::Ack => {
                let id = body[..].try_into().map_err(|_| broken("an ack must have 16 bytes"))?;
                Ok(Some(Event::Acknowledged(ExecId(id))))
            }
            Kind::Ping => {
                self.heartbeat.answer(header.sequence);
                Ok(None)
            }
            Kind::Pong => Ok(None),
            Kind::Close => Ok(Some(Event::Closed(Close::from_frame(&header, &body)))),
        }
    }

    fn receive_open(&mut self, header: Header, body: &[u8]) -> Result<Option<Event>, Close> {
        let id = header.stream;
        if self.side == Side::Originator {
            return Err(broken("only the server opens streams"));
        }
        if id.0 <= self.last_opened {
            return Err(broken("a stream number was used twice"));
        }
        self.last_opened = id.0;
        let refusal = match Request::decode(header.type_number, body) {
            Ok(request) => match self.check_room(&request) {
                Ok(()) => {
                    let credit = u32::try_from(header.sequence).unwrap_or(u32::MAX);
                    let first = request.first_offset();
                    let carries_data = request.carries_data();
                    self.insert(id, Stream::new(carries_data, credit, STREAM_CREDIT_BYTES, first, true));
                    return Ok(Some(Event::Opened(id, request)));
                }
                Err(busy) => busy,
            },
            Err(error) => error,
        };
        if self.streams.len() >= MAX_REQUESTS + MAX_REFUSED_STREAMS {
            return Err(Close::new(CloseCode::Flooded, "far more requests than are allowed in flight"));
        }
        self.insert(id, Stream::new(false, 0, 0, 0, true));
        self.fail(id, &refusal);
        Ok(None)
    }

    fn receive_message(&mut self, header: Header, body: &[u8]) -> Result<Option<Event>, Close> {
        let id = header.stream;
        if !self.answer_is_expected(id)? {
            return Ok(None);
        }
        let fin = header.is_fin();
        let event = match Message::decode(header.type_number, body) {
            Ok(message) => Event::Message { stream: id, message, fin },
            Err(_) if id == StreamId::SESSION => return Ok(None),
            Err(error) => {
                self.cancel(id);
                if !fin {
                    return Ok(None);
                }
                Event::Failed(id, error)
            }
        };
        if fin {
            self.remove(id);
        }
        Ok(Some(event))
    }

    fn receive_fail(&mut self, header: Header, body: &[u8]) -> Result<Option<Event>, Close> {
        let id = header.stream;
        if id == StreamId::SESSION || !self.answer_is_expected(id)? {
            return Ok(None);
        }
        self.remove(id);
        let error = WireError::decode(body).unwrap_or_else(|error| error);
        Ok(Some(Event::Failed(id, error)))
    }

    fn receive_data(&mut self, header: Header, body: Bytes) -> Result<Option<Event>, Close> {
        let id = header.stream;
        let channel = header.channel().ok_or_else(|| broken("no such channel"))?;
        self.check_was_opened(id)?;
        let Some(stream) = self.streams.get_mut(&id) else { return Ok(None) };
        if header.sequence != stream.received_offset() {
            let text = format!("offset {} where {} was expected", header.sequence, stream.received_offset());
            return Err(Close::new(CloseCode::SequenceGap, text));
        }
        match header.kind {
            Kind::End => Ok(Some(Event::End(id, channel))),
            Kind::Gap => {
                let bytes = body[..].try_into().map_err(|_| broken("a gap must have 8 bytes"))?;
                let dropped = u64::from_le_bytes(bytes);
                stream.received_gap(dropped).map_err(broken)?;
                Ok(Some(Event::Gap(id, channel, dropped)))
            }
            _ => {
                if !stream.received(body.len() as u64) {
                    return Err(Close::new(CloseCode::CreditOverrun, "more data than was granted"));
                }
                Ok(Some(Event::Data(id, channel, body)))
            }
        }
    }

    fn receive_credit(&mut self, header: Header) -> Result<Option<Event>, Close> {
        let id = header.stream;
        self.check_was_opened(id)?;
        let Some(stream) = self.streams.get_mut(&id) else { return Ok(None) };
        stream.grant(header.sequence).map_err(broken)?;
        self.wake(id);
        Ok(Some(Event::Writable(id, header.sequence)))
    }

    /// True if a message or failure on this stream is to be acted on; an error if it cannot be valid.
    fn answer_is_expected(&self, id: StreamId) -> Result<bool, Close> {
        if self.side == Side::Executor {
            return Err(broken("only the runner answers"));
        }
        if id == StreamId::SESSION {
            return Ok(true);
        }
        self.check_was_opened(id)?;
        Ok(self.streams.contains_key(&id))
    }

    fn check_was_opened(&self, id: StreamId) -> Result<(), Close> {
        if id == StreamId::SESSION || id.0 > self.last_opened {
            return Err(broken("a stream that was never opened"));
        }
        Ok(())
    }
}

fn broken(reason: &str) -> Close {
    Close::new(CloseCode::Protocol, reason)
}

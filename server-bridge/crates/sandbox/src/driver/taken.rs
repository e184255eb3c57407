//! The part of a stream that its reader took: another link need not send it again.

use proto::Message;

use crate::driver::stream::StreamEvent;

/// The part of a stream that a handle took so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// The offset of the next byte: all channels and gaps together, from the beginning of the stream's content.
    pub(super) offset: u64,
    /// How many bytes of data the handle took.
    pub(super) data_bytes: u64,
    /// True if the handle took [`Message::FileOpened`].
    pub(super) opened: bool,
    /// True if the handle took [`Message::ExecStarted`].
    pub(super) started: bool,
    /// True if the handle took [`Message::ExecExited`].
    pub(super) exited: bool,
    /// True if the reader was last informed that the link is down.
    pub(super) interrupted: bool,
    /// True if the handle took the last event.
    pub(super) answer: bool,
}

impl Taken {
    pub(super) fn note(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::Data(_, bytes) => {
                self.offset += bytes.len() as u64;
                self.data_bytes += bytes.len() as u64;
            }
            StreamEvent::Gap(_, bytes) => self.offset = self.offset.saturating_add(*bytes),
            StreamEvent::Message(Message::FileOpened(_)) => self.opened = true,
            StreamEvent::Message(Message::ExecStarted(_)) => self.started = true,
            StreamEvent::Message(Message::ExecExited(_)) => self.exited = true,
            StreamEvent::Message(_) => {}
            StreamEvent::Interrupted => self.interrupted = true,
            StreamEvent::Resumed => self.interrupted = false,
            StreamEvent::Answer(_) | StreamEvent::Failed(_) => self.answer = true,
        }
    }
}

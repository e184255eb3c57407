//! Catching up for a client that was too slow for its events: it reads everything again.

use std::collections::BTreeSet;

use api::chat::{MessagePage, MessageView};

use crate::failure::Failure;
use crate::http::Client;
use crate::limits::CATCH_UP_MESSAGES;
use crate::routes::Page;

/// The messages whose text may be shown live: those of which no event was missed.
#[derive(Default)]
pub(super) struct Live {
    has_missed: bool,
    /// Messages that began after events were missed.
    whole: BTreeSet<i64>,
}

impl Live {
    /// Records that some events were missed.
    pub(super) fn miss(&mut self) {
        self.has_missed = true;
        self.whole.clear();
    }

    /// Records an event of a message: if it has no text yet, all of its text is still to come.
    pub(super) fn told(&mut self, message: &MessageView) {
        if message.text.is_empty() {
            self.whole.insert(message.id);
        }
    }

    /// True if no part of a message's text was missed, so that new parts can be shown. Otherwise, the text is shown once it is complete.
    pub(super) fn is_whole(&self, id: i64) -> bool {
        !self.has_missed || self.whole.contains(&id)
    }
}

/// Reads the current messages of a chat, from a given one on, page by page.
pub(super) struct Pages<'a> {
    client: &'a mut Client,
    chat: &'a str,
    after: Option<i64>,
    limit: u32,
}

impl<'a> Pages<'a> {
    pub(super) fn from(client: &'a mut Client, chat: &'a str, first: i64) -> Self {
        Self { client, chat, after: Some(first - 1), limit: CATCH_UP_MESSAGES }
    }

    /// The next messages; `None` after the last.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<MessageView>>, Failure> {
        let Some(after) = self.after else { return Ok(None) };
        let page = loop {
            match self.client.messages(self.chat, Page::After(after), self.limit).await {
                Err(failure) if failure.kind == "too_large" && self.limit > 1 => self.limit /= 2,
                page => break page?,
            }
        };
        let MessagePage { messages, more } = page;
        self.after = messages.last().map(|message| message.id).filter(|_| more);
        Ok(Some(messages))
    }
}

/// The error when the connection to the server is lost during an answer.
pub(super) fn lost(failure: Failure, chat: &str) -> Failure {
    let failure = failure.into_not_run();
    if failure.kind != "lost" {
        return failure;
    }
    let message = format!(
        "{}; what was done so far is kept, and `sandbridge chat --resume {chat}` continues the chat",
        failure.message
    );
    Failure { message, ..failure }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_began_behind_the_gap_is_shown_as_it_comes() {
        let mut live = Live::default();
        assert!(live.is_whole(1));
        let message = |id: i64, text: &str| -> MessageView {
            MessageView {
                text: text.to_owned(),
                ..serde_json::from_str(&format!(r#"{{"id": {id}}}"#)).unwrap()
            }
        };
        live.told(&message(1, ""));
        live.miss();
        assert!(!live.is_whole(1), "parts of it may be missing");
        live.told(&message(1, "half"));
        live.told(&message(2, ""));
        assert!(!live.is_whole(1) && live.is_whole(2));
        live.told(&message(1, ""));
        assert!(live.is_whole(1), "it began after that");
        live.miss();
        assert!(!live.is_whole(2));
    }
}

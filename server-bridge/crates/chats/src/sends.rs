//! Messages that a client may have to send again: each id is handled once.
//!
//! A client that got no answer cannot know whether its message arrived. It sends the message again under the same id and gets the answer
//! to the first one, even after a restart of the server, because the id and the message are recorded in one step.

use api::tui::ClientId;
use serde::{Deserialize, Serialize};
use store::{Author, Chat, ChatId, KnownSend, Message, MessageId, User};

use crate::house::House;
use crate::limits::SEND_INPUT_KEPT_BYTES;
use crate::{Posted, Result};

/// A client's message, with its id.
#[derive(Clone, Copy, Debug)]
pub struct NewPost<'a> {
    /// The text: a message, a slash command, or `!` and a shell command.
    pub text: &'a str,
    /// The message's id, chosen by the client, 64 bytes at most. The same id in the same chat is the same message.
    pub send_id: Option<&'a str>,
    /// The paths of files that were attached to this chat for the message, 16 at most; the text may then be empty.
    pub attachments: &'a [String],
    /// The author of the text. A text that is not the user's own needs a `send_id`.
    pub author: Author,
    /// The terminal in which the text was written, if it was.
    pub client: Option<ClientId>,
}

/// The immediate result of a message; everything else follows as [`crate::ChatEvent`]s. It is the part of [`Posted`] that a repetition gets, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// The user's message and the answer, in their current state.
    pub messages: Vec<Message>,
    /// The conversation that the message created, for the client to switch to.
    pub chat: Option<Chat>,
    /// The reason, for programs, if the message had no effect.
    pub error: Option<String>,
    /// A text for the client to put back into its input.
    pub input: Option<String>,
}

/// The stored part of an answer; the messages themselves are read again.
#[derive(Debug, Default, Serialize, Deserialize)]
struct AnswerDocument {
    messages: Vec<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chat: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Cut to 4 KiB: the returned text is also in the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input: Option<String>,
}

/// Stores the result. A failure is only logged, because the message was processed, and a repetition still gets its messages.
pub(crate) async fn remember(service: &House, user: &User, chat: &ChatId, send_id: &str, posted: &Posted) {
    let document = AnswerDocument {
        messages: posted.messages.iter().map(|message| message.id.0).collect(),
        chat: posted.chat.as_ref().map(|chat| chat.id.to_string()),
        error: posted.error.map(str::to_owned),
        input: posted
            .input
            .as_deref()
            .map(|text| text[..text.floor_char_boundary(SEND_INPUT_KEPT_BYTES)].to_owned()),
    };
    let json = serde_json::to_string(&document).expect("numbers and texts are always JSON");
    if let Err(error) = service.store.answer_send(user.id, chat, send_id, &json).await {
        tracing::error!(%error, "cannot record the result of a message");
    }
}

/// The answer to a repeated message.
pub(crate) async fn recall(service: &House, user: &User, known: KnownSend) -> Result<Answered> {
    let document = known.answer_json.as_deref().and_then(|json| serde_json::from_str(json).ok());
    let Some(AnswerDocument { messages: ids, chat, error, input }) = document else {
        return Ok(Answered { messages: vec![known.message], ..Answered::default() });
    };
    let mut messages = Vec::new();
    for id in ids {
        match service.store.message(user.id, MessageId(id)).await {
            Ok(message) => messages.push(message),
            Err(store::Error::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let chat = match chat.as_deref().map(ChatId::parse) {
        // The chat may have been deleted.
        Some(Ok(id)) => service.store.chat(user.id, &id).await.ok(),
        Some(Err(_)) | None => None,
    };
    Ok(Answered { messages, chat, error, input })
}

impl From<Posted> for Answered {
    fn from(posted: Posted) -> Self {
        let Posted { messages, chat, error, input } = posted;
        Self { messages, chat, error: error.map(str::to_owned), input }
    }
}

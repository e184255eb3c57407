//! Messages that a client may have to send again: what is said under one id is done once.
//!
//! A client that heard no answer cannot know whether its message arrived. It says it again under the same id, and has the
//! answer to the first one: across a server's restart too, since the id stands on record with the message, in one step.

use serde::{Deserialize, Serialize};
use store::{Chat, ChatId, KnownSend, Message, MessageId, User};

use crate::house::House;
use crate::limits::SEND_INPUT_KEPT_BYTES;
use crate::{Posted, Result};

/// What a client said, and under which id.
#[derive(Clone, Copy, Debug)]
pub struct Saying<'a> {
    /// A message, a slash command, or `!` and a shell command.
    pub text: &'a str,
    /// Chosen by the client, of 64 bytes at most; the same one again in the same chat is the same message.
    pub send_id: Option<&'a str>,
    /// The paths of what was attached to this chat for it, 16 at most; the text may be empty then.
    pub attachments: &'a [String],
}

/// What is known at once after something was said; the rest comes as [`crate::ChatEvent`]s. See [`Posted`], of which this is
/// what a repetition is told too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// The user's message and what answered it, as they are by now.
    pub messages: Vec<Message>,
    /// The conversation that the message made, to be switched to.
    pub chat: Option<Chat>,
    /// Where nothing came of the message: why, for programs.
    pub error: Option<String>,
    /// What a client may put back into its input.
    pub input: Option<String>,
}

/// What is kept of an answer: the messages themselves are read again.
#[derive(Debug, Default, Serialize, Deserialize)]
struct AnswerDocument {
    messages: Vec<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chat: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Cut beyond 4 KiB: what is given back stands in the conversation, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input: Option<String>,
}

/// Remembers what came of it. A failure is logged only: it was done, and a repetition is told its message.
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
        tracing::error!(%error, "cannot record what became of a message");
    }
}

/// What a repetition is told.
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
        // It may be deleted by now.
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

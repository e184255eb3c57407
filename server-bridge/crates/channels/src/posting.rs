//! Posts a person's messages to their chat, each exactly once.
//!
//! The server records a message before posting it. After a crash, it posts the same text under the same id, and the chat recognizes the
//! id.

use std::sync::Arc;

use api::card::CardReply;
use chats::{Answered, Author, NewPost, Surface};
use platforms::Styled;
use platforms::event::Message;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use store::{ChatId, MessageId, MessageRole, NewAnswer, User, hex};

use crate::answers::parts;
use crate::error::Result;
use crate::house::{Inner, to_json};
use crate::incoming::{Handled, Incoming};
use crate::words::with_quotation;

/// The lines that `/help` shows in addition to the chat's own commands.
const HELP: &str = "/settings  choose this chat's runner, model and approval mode here\n/send FILE  send a file from this chat's workspace to this conversation\n/group on  answer in this group; /group off ends that\n/group use NAME  show the log of a group of people and agents here, and post messages from here to it\n/notices on  get the server's notices here (only for administrators); /notices off stops them";

/// A message to post.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Post {
    text: String,
    #[serde(default)]
    attachments: Vec<String>,
    /// The card that the message answers: the chat message that shows the card, and the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    card: Option<(i64, CardReply)>,
}

impl Post {
    /// True if a model answers the message, so that it may have to wait for the chat's queue.
    fn is_for_model(&self) -> bool {
        !self.text.trim_start().starts_with(['!', '/'])
    }
}

impl Inner {
    /// Posts a message of a person.
    pub(crate) async fn post(
        self: &Arc<Self>,
        incoming: &Incoming<'_>,
        user: &User,
        message: &Message,
    ) -> Result<Handled> {
        let Incoming { live, row, event, is_behind } = incoming;
        let mut post =
            Post { text: with_quotation(&message.text, message.quoted.as_ref()), ..Post::default() };
        if *is_behind && post.is_for_model() {
            return Ok(Handled::Later);
        }
        let chat = self.store.channel_chat(live.account.id, &event.conversation.id, user.id).await?;
        if !message.media.is_empty() && post.is_for_model() {
            let (paths, failures) = self.store_media(&*live.platform, (user, &chat), &message.media).await;
            post.attachments = paths;
            for failure in failures {
                post.text.push_str(&format!("\n\n{failure}"));
            }
        }
        self.store.begin_event(row.id, user.id, &chat, &to_json(&post)).await?;
        self.post_once(incoming, user, &chat, &post).await
    }

    /// Posts the answer to a card as the person's message, to the chat of the card.
    pub(crate) async fn post_card(
        self: &Arc<Self>,
        incoming: &Incoming<'_>,
        user: &User,
        chat: &ChatId,
        text: String,
        (message, reply): (MessageId, CardReply),
    ) -> Result<Handled> {
        if incoming.is_behind {
            return Ok(Handled::Later);
        }
        let post = Post { text, card: Some((message.0, reply)), ..Post::default() };
        self.store.begin_event(incoming.row.id, user.id, chat, &to_json(&post)).await?;
        self.post_once(incoming, user, chat, &post).await
    }

    /// Continues with a message that an earlier try began to post.
    pub(crate) async fn post_again(self: &Arc<Self>, incoming: &Incoming<'_>) -> Result<Handled> {
        let Incoming { row, is_behind, .. } = incoming;
        let post = row.post_json.as_deref().and_then(|json| serde_json::from_str::<Post>(json).ok());
        // No chat is found if the user deleted it, and the message with it.
        let (Some(post), Some(chat), Some(user)) = (post, &row.chat, row.user) else {
            return Ok(Handled::silent());
        };
        if *is_behind && post.is_for_model() {
            return Ok(Handled::Later);
        }
        // No link is found if it was removed in the meantime.
        let linked = self.linked(incoming).await?.filter(|linked| linked.id == user);
        let Some(user) = linked else { return Ok(Handled::silent()) };
        self.post_once(incoming, &user, chat, &post).await
    }

    async fn post_once(
        self: &Arc<Self>,
        incoming: &Incoming<'_>,
        user: &User,
        chat: &ChatId,
        post: &Post,
    ) -> Result<Handled> {
        let Incoming { live, row, event, .. } = incoming;
        let account = &live.account;
        let send_id = hex(&Sha256::digest(format!("channel/{}/{}", account.id, row.platform_id)));
        let new_post = NewPost {
            text: &post.text,
            send_id: Some(&send_id),
            attachments: &post.attachments,
            author: Author::Owner,
            client: None,
        };
        let said = match &post.card {
            Some((message, reply)) => {
                let surface = Surface(&account.kind);
                self.chats.answer_card(user, chat, MessageId(*message), reply, surface).await
            }
            None => self.chats.say(user, chat, new_post).await,
        };
        let answered = match said {
            Ok(answered) => answered,
            Err(error) if matches!(error.kind(), "busy" | "unavailable") => return Ok(Handled::Later),
            Err(chats::Error::Store(error)) if !error.is_callers() => return Err(error.into()),
            Err(error) => {
                if error.kind() == "internal" {
                    tracing::error!(%error, "a message of a channel could not be posted");
                }
                return Ok(incoming.say(Some(user), self.chats.language(user.id), &error.message()));
            }
        };
        if let Some(new) = &answered.chat {
            self.store.set_channel_chat(account.id, &event.conversation.id, user.id, &new.id).await?;
        }
        let (mut answers, mut said) = (Vec::new(), Vec::new());
        for answer in self.answers_to(user, chat, &answered).await? {
            match answer.role {
                MessageRole::Notice => said.push(answer.text),
                MessageRole::Exec | MessageRole::Assistant if answers.is_empty() => answers.push(NewAnswer {
                    conversation: event.conversation.id.clone(),
                    is_group: event.conversation.is_group,
                    reply_json: event.reply.to_string(),
                    user: user.id,
                    message: answer.id,
                }),
                MessageRole::Exec | MessageRole::Assistant | MessageRole::User => {}
            }
        }
        if post.text.trim() == "/help" {
            said.push(self.chats.language(user.id).translated(HELP).into_owned());
        }
        let payloads = match said.is_empty() {
            true => Vec::new(),
            false => parts(&*live.platform, &Styled::plain(&said.join("\n\n")), &self.rest(user.id, chat)),
        };
        Ok(Handled::Done(answers, incoming.rows(Some(user), payloads)))
    }

    /// Returns the messages that answer a posted message: those returned when it was posted, or, if an earlier server process posted it, those on
    /// record.
    pub(crate) async fn answers_to(
        &self,
        user: &User,
        chat: &ChatId,
        answered: &Answered,
    ) -> Result<Vec<store::Message>> {
        let Some((said, answers)) = answered.messages.split_first() else { return Ok(Vec::new()) };
        if !answers.is_empty() {
            return Ok(answers.to_vec());
        }
        if let Some(shown) = self.store.answer_to(user.id, said.id).await? {
            return Ok(vec![self.store.message(user.id, shown).await?]);
        }
        let (next, _) = self.store.messages_after(user.id, chat, said.id, 1).await?;
        let is_answer =
            |message: &store::Message| matches!(message.role, MessageRole::Exec | MessageRole::Notice);
        Ok(next.into_iter().filter(is_answer).collect())
    }
}

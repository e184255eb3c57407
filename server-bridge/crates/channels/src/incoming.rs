//! Handles an event, according to its sender and its content.
//!
//! ```text
//!   a group? ─▶ a mention ─▶ may write? ─▶ a code? ─▶ linked? ─▶ the group is on? ─▶ an answer? ─▶ /send ─▶ posted
//!                                                        └─▶ bound to a group of people and agents (`bound`)
//! ```
//! A person who is not linked reaches no chat and no model. In a direct conversation, they get one neutral line an hour; in a group, they get no
//! answer.

use std::sync::Arc;

use api::language::Language;
use platforms::Styled;
use platforms::event::{Event, Message, What};
use store::{ChannelEvent, ChannelLane, InboxState, NewAnswer, NewOutgoing, Person, Redeemed, User};

use crate::answers::{Target, parts};
use crate::codes::Code;
use crate::document::Document;
use crate::error::Result;
use crate::house::Inner;
use crate::house::Live;
use crate::limits::CODES_MAX;
use crate::outgoing::Payload;

/// The reply to a person who is not linked.
const STRANGER: &str = "This bot answers only people who are linked with it. If you have an account on its Sandbridge server, get a code there and send it here.";

/// The outcome of handling an event.
pub(crate) enum Handled {
    /// The event is handled: these answers are awaited, and these messages are sent.
    Done(Vec<NewAnswer>, Vec<NewOutgoing>),
    /// The chat's queue is full; the event is tried again later.
    Later,
}

impl Handled {
    /// The event is handled without a reply.
    pub(crate) fn silent() -> Self {
        Self::Done(Vec::new(), Vec::new())
    }
}

/// An event that is being handled.
pub(crate) struct Incoming<'a> {
    pub(crate) live: &'a Live,
    pub(crate) row: &'a ChannelEvent,
    pub(crate) event: &'a Event,
    /// True if an earlier message of the same person is waiting for the chat's queue, which messages for the model must not overtake.
    pub(crate) is_behind: bool,
}

impl Incoming<'_> {
    /// Returns the target of an answer to the event.
    pub(crate) fn target(&self, user: Option<&User>) -> Target {
        Target {
            conversation: self.event.conversation.id.clone(),
            is_group: self.event.conversation.is_group,
            reply_json: self.event.reply.to_string(),
            user: user.map(|user| user.id),
        }
    }

    /// Creates an immediate answer, translated into the language.
    pub(crate) fn say(&self, user: Option<&User>, language: Language, text: &str) -> Handled {
        let text = language.translated(text);
        let payloads = parts(&*self.live.platform, &Styled::plain(&text), "…");
        Handled::Done(Vec::new(), self.rows(user, payloads))
    }

    /// Creates the rows of an immediate answer.
    pub(crate) fn rows(&self, user: Option<&User>, payloads: Vec<Payload>) -> Vec<NewOutgoing> {
        self.target(user).rows(self.live.account.id, &format!("said/{}", self.row.id), payloads)
    }
}

impl Inner {
    /// Handles all waiting events of one person in one conversation.
    pub(crate) async fn work_on(self: &Arc<Self>, lane: &ChannelLane) -> Result<()> {
        let (mut after, mut is_behind) = (0, false);
        loop {
            let Some(live) = self.live(lane.account_id) else { return Ok(()) };
            let Some(row) = self.store.next_event(lane, after).await? else { return Ok(()) };
            after = row.id;
            let handled = match serde_json::from_str::<Event>(&row.event_json) {
                Ok(event) => {
                    let incoming = Incoming { live: &live, row: &row, event: &event, is_behind };
                    self.handle(&incoming).await?
                }
                // A newer version of the server stored this event in a form that this version does not know.
                Err(_) => Handled::silent(),
            };
            match handled {
                Handled::Done(answers, outgoing) => {
                    self.store.finish_event(&live.account, row.id, &answers, &outgoing).await?;
                    if !answers.is_empty() || !outgoing.is_empty() {
                        self.wake.notify_one();
                    }
                }
                Handled::Later => is_behind = true,
            }
        }
    }

    async fn handle(self: &Arc<Self>, incoming: &Incoming<'_>) -> Result<Handled> {
        let Incoming { live, row, event, .. } = incoming;
        if row.state == InboxState::Begun {
            return self.post_again(incoming).await;
        }
        let conversation = &event.conversation.id;
        match &event.what {
            What::Message(message) => self.hear(incoming, message).await,
            What::Press(press) => self.pressed(incoming, press).await,
            What::Removed => {
                self.close(live, conversation).await?;
                Ok(Handled::silent())
            }
            What::Moved { to } => {
                self.store.move_conversation(&live.account, conversation, to).await?;
                Ok(Handled::silent())
            }
        }
    }

    async fn hear(self: &Arc<Self>, incoming: &Incoming<'_>, message: &Message) -> Result<Handled> {
        let Incoming { live, event, .. } = incoming;
        let (account, is_group) = (&live.account, event.conversation.is_group);
        let code = Code::of(&message.text);
        if is_group {
            let codes = Code::all(&message.text, CODES_MAX);
            for code in &codes {
                // Other members of the group have read the code.
                self.store.void_code(account, &code.hash()).await?;
            }
            if !codes.is_empty() || message.is_edited || !message.mentions_us {
                return Ok(Handled::silent());
            }
        }
        if !Document::of(account).allows(&event.sender.id) {
            return Ok(Handled::silent());
        }
        if let Some(code) = code {
            return self.redeem(incoming, &code).await;
        }
        let Some(user) = self.linked(incoming).await? else {
            if !is_group && self.store.tells_stranger(account, &event.sender.id).await? {
                return Ok(incoming.say(None, Language::English, STRANGER));
            }
            return Ok(Handled::silent());
        };
        let text = message.text.trim();
        let say = |text: &str| Ok(incoming.say(Some(&user), self.chats.language(user.id), text));
        if let Some(wish) = after_word(text, "/group") {
            return self.set_group(incoming, &user, wish).await;
        }
        if is_group
            && let Some(binding) = self.store.channel_binding(account.id, &event.conversation.id).await?
        {
            return self.hear_bound(incoming, &user, message, binding).await;
        }
        if is_group && !self.store.is_channel_group(account.id, &event.conversation.id).await? {
            return Ok(Handled::silent());
        }
        if let Some(wish) = after_word(text, "/notices") {
            return self.hear_notices(incoming, &user, wish).await;
        }
        if let Some(answered) = self.answered(incoming, &user, message).await? {
            return Ok(answered);
        }
        if text == "/settings" {
            return self.show_settings(incoming, &user).await;
        }
        if let Some(path) = after_word(text, "/send") {
            let chat = self.store.channel_chat(account.id, &event.conversation.id, user.id).await?;
            if path.is_empty() {
                return say("Write the file's name after the command, as in /send report.pdf");
            }
            let payload = Payload::File { chat: chat.to_string(), path: path.to_owned() };
            return Ok(Handled::Done(Vec::new(), incoming.rows(Some(&user), vec![payload])));
        }
        if text.is_empty() && message.media.is_empty() {
            return Ok(Handled::silent());
        }
        self.post(incoming, &user, message).await
    }

    /// Returns the user that a sender is linked with.
    pub(crate) async fn linked(&self, incoming: &Incoming<'_>) -> Result<Option<User>> {
        let Incoming { live, event, .. } = incoming;
        match self.store.linked_user(&live.account, &event.sender.id).await? {
            Some(user) => Ok(self.store.user_by_id(user).await?),
            None => Ok(None),
        }
    }

    async fn redeem(&self, incoming: &Incoming<'_>, code: &Code) -> Result<Handled> {
        let Incoming { live, event, .. } = incoming;
        let person =
            Person { id: &event.sender.id, name: &event.sender.name, conversation: &event.conversation.id };
        let redeemed = self.store.redeem_code(&live.account, person, (code.prefix(), &code.hash())).await?;
        Ok(match redeemed {
            Redeemed::Linked(user) => {
                let user = self.store.user_by_id(user).await?;
                let name = user.as_ref().map(|user| user.name.clone());
                let target = format!("{} as {}", live.account.name, event.sender.id);
                self.audit(name.as_deref(), "channel.link", &target, "ok").await;
                let language = user.as_ref().map_or(Language::English, |user| self.chats.language(user.id));
                let name = name.unwrap_or_default();
                let text = format!(
                    "You are linked as {name}. What you write here goes to your own chat; /help lists the commands."
                );
                incoming.say(user.as_ref(), language, &text)
            }
            Redeemed::Taken => {
                let text = "You are already linked with another user. Remove that link first, then get a new code from the server.";
                incoming.say(None, Language::English, text)
            }
            Redeemed::Wrong => {
                let text =
                    "This code is wrong, was already used, or has expired. Get a new one from the server.";
                incoming.say(None, Language::English, text)
            }
            Redeemed::TooMany => Handled::silent(),
        })
    }

    /// Deletes the record of a conversation that the bot was removed from.
    pub(crate) async fn close(&self, live: &Live, conversation: &str) -> Result<()> {
        let bound = self.store.channel_binding(live.account.id, conversation).await?;
        self.store.close_conversation(&live.account, conversation).await?;
        if let Some(bound) = bound {
            self.note_end(&live.account, &bound, &live.account.owner).await;
        }
        Ok(())
    }

    async fn set_group(&self, incoming: &Incoming<'_>, user: &User, wish: &str) -> Result<Handled> {
        let Incoming { live, event, .. } = incoming;
        let (account, conversation) = (&live.account, &event.conversation);
        if conversation.is_group
            && account.user == user.id
            && let Some(name) = after_word(wish, "use")
        {
            return self.bind(incoming, user, name).await;
        }
        let text = match (conversation.is_group, account.user == user.id, wish) {
            (false, ..) => "This works in groups only.",
            (true, false, _) => "Only the owner of this bot can switch groups on and off.",
            (true, true, "on" | "off") => {
                let is_on = wish == "on";
                let bound = self.store.channel_binding(account.id, &conversation.id).await?;
                self.store.set_channel_group(account, &conversation.id, is_on).await?;
                if let Some(bound) = bound {
                    self.note_end(account, &bound, &user.name).await;
                }
                let target = format!("{} in {}", account.name, conversation.id);
                self.audit(Some(&user.name), "channel.group", &target, wish).await;
                match is_on {
                    true => {
                        "This group is on: I answer members who are linked and mention me, each in their own chat. All members can read the answers."
                    }
                    false => "This group is off.",
                }
            }
            (true, true, _) => "Write /group on, /group off, or /group use with the title of a group.",
        };
        // The reply is recorded without a user, because messages for users are not sent to a group that is turned off.
        Ok(incoming.say(None, self.chats.language(user.id), text))
    }
}

/// Returns the text after a command's word; `None` if the text is another command.
pub(crate) fn after_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(word)?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim())
}

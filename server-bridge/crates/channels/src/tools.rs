//! The tool `Message`, with which an agent sends a text to its user's messengers and nowhere else.

use std::sync::Arc;

use agent::PortError;
use agent::approval::Access;
use agent::tool::look::{Ground, Looked, part};
use agent::tool::{Failure, ForSubAgents, Live, Outcome, Rules, ToolContext, Typed, TypedTool};
use api::words::ChannelState;
use chats::ChatService;
use platforms::{Platform, Styled};
use schemars::JsonSchema;
use serde::Deserialize;
use store::{User, hex};

use crate::answers::{Target, parts};
use crate::error::{Error, Result};
use crate::house::Inner;
use crate::limits::{MESSAGE_MAX_BYTES, WAITING_MAX};
use crate::service::Channels;

/// A message to the user's own messengers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Message {
    /// The text of the message, in Markdown.
    text: String,
    /// The name of the channel. Without it, the message goes to every channel that the user is linked with.
    #[serde(default)]
    channel: String,
}

/// The names of the channels that a message was meant for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SentTo {
    /// Connected ones, which send it at once.
    pub(crate) now: Vec<String>,
    /// Those that send it once they are connected again.
    pub(crate) later: Vec<String>,
    /// Those on which too many messages already wait, so that this one was not accepted.
    pub(crate) full: Vec<String>,
}

impl SentTo {
    /// Describes for the model where the message is sent.
    fn words(&self) -> String {
        let part = |names: &Vec<String>, words: &str| {
            (!names.is_empty()).then(|| words.replace("NAMES", &names.join(", ")))
        };
        let parts = [
            part(&self.now, "the message is being sent to NAMES"),
            part(&self.later, "the message waits until NAMES can be reached again; do not send it again"),
            part(
                &self.full,
                "the message was not sent to NAMES, because too many messages already wait there",
            ),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

impl Channels {
    /// Offers the tool to the agents of these chats.
    pub fn offer_tools(&self, chats: &ChatService) {
        chats.tools().put(Typed::<Message>::new(self.clone()));
    }

    /// Sends a text to a user's own messengers; returns the channels used.
    pub(crate) async fn message(&self, user: &User, text: &str, channel: &str) -> Result<SentTo> {
        let inner = &self.0;
        if text.trim().is_empty() || text.len() > MESSAGE_MAX_BYTES {
            return Err(Error::invalid(format!("the text must have 1 to {MESSAGE_MAX_BYTES} bytes")));
        }
        let links = inner.store.channel_links(user.id, false).await?;
        let is_named = |name: &str| channel.is_empty() || name == channel;
        let source = format!("tool/{}", hex(&rand::random::<[u8; 16]>()));
        let mut sent = SentTo::default();
        for link in links.iter().filter(|link| is_named(&link.account)) {
            let Some(platform) = inner.renderer(link.account_id).await? else { continue };
            if inner.store.outbox_waiting(link.account_id, user.id).await? >= WAITING_MAX {
                sent.full.push(link.account.clone());
                continue;
            }
            let target = Target::unasked(&link.conversation, false, Some(user.id));
            let payloads = parts(&*platform, &Styled::markdown(text), "…");
            let rows = target.rows(link.account_id, &format!("{source}/{}", link.id), payloads);
            // This node is the user's home, but maybe not that of the account's owner. The node that has the account finds the rows when it next looks.
            inner.store.add_outgoing(link.account_id, user.id, &rows).await?;
            let is_connected =
                inner.status(link.account_id).is_some_and(|status| status.state == ChannelState::Connected);
            let names = if is_connected { &mut sent.now } else { &mut sent.later };
            names.push(link.account.clone());
        }
        if !sent.now.is_empty() || !sent.later.is_empty() {
            inner.wake.notify_one();
            return Ok(sent);
        }
        if !sent.full.is_empty() {
            let text = format!(
                "too many messages are already waiting to be sent on {}; the messenger may be down",
                sent.full.join(", ")
            );
            return Err(Error::refused("busy", text));
        }
        let text = match links.is_empty() {
            true => {
                "the user is not linked with any channel; they can link one in Settings → Channels or with `sandbridge channel link`"
                    .to_owned()
            }
            false => {
                let names: Vec<&str> = links.iter().map(|link| link.account.as_str()).collect();
                let which = if channel.is_empty() { "" } else { " of this name" };
                format!(
                    "the user has no connected channel{which} at the moment; they are linked with {}",
                    names.join(", ")
                )
            }
        };
        Err(Error::refused("not_found", text))
    }
}

impl Inner {
    /// The platform that renders messages of an account; `None` if the account is off or cannot be used. The account may work at another node, while
    /// the homes of its owner and of a linked user are not one yet.
    async fn renderer(&self, account: i64) -> Result<Option<Arc<dyn Platform>>> {
        if let Some(live) = self.live(account) {
            return Ok(live.is_usable.then_some(live.platform));
        }
        match self.store.channel_by_id(account).await?.filter(|account| account.is_enabled) {
            Some(account) => Ok(self.platform_of(&account).await?.ok()),
            None => Ok(None),
        }
    }
}

impl TypedTool for Message {
    type Services = Channels;

    const NAME: &'static str = "Message";
    const DESCRIPTION: &'static str = "Sends a message to the user, and to nobody else, on the messengers that they linked, such as Telegram. \
Use it when the user wants to hear something while they are away from this chat, for example at the end of long work or in a scheduled run. \
Do not repeat what you answer here.";
    const RULES: Rules = Rules::of(Access::Read).for_sub_agents(ForSubAgents::Never).without_machine();

    fn hint(&self) -> &str {
        &self.channel
    }

    async fn look(&self, _ground: Option<&Ground>) -> Result<Looked, Failure> {
        Ok(Looked::words("sends a message to you".to_owned(), vec![part("text", &self.text)]))
    }

    async fn run(
        &self,
        channels: &Channels,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        match channels.message(context.user, &self.text, &self.channel).await {
            Ok(sent) => Ok(Outcome::done(sent.words())),
            Err(error) if error.kind() == "internal" => Err(PortError::Failed(error.to_string()).into()),
            Err(error) => Err(Failure::Message(error.message())),
        }
    }
}

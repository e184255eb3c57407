//! Channels: accounts on messengers, through which people reach their chats.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::{ChannelLoginState, ChannelState};

/// A value that an account on a messenger needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelSetup {
    /// The value's key, such as `token`.
    pub key: String,
    /// The value's name for people.
    #[serde(serialize_with = "crate::language::text")]
    pub label: String,
    /// How to obtain it from the messenger.
    #[serde(serialize_with = "crate::language::text")]
    pub help: String,
    /// True if it is stored encrypted, and never shown again.
    pub is_secret: bool,
    /// The value that is used if none is given; null if one is required.
    #[serde(default)]
    #[schema(required)]
    pub default: Option<String>,
}

/// A messenger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelKind {
    /// The messenger's name in documents and commands, such as `telegram`.
    pub name: String,
    /// The messenger's name for people, such as `Telegram`.
    pub title: String,
    /// The values that an account needs, in the order in which they are obtained.
    pub setup: Vec<ChannelSetup>,
}

/// An account to create, or its new settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelPut {
    /// The messenger, such as `telegram`.
    pub kind: String,
    /// The values that it needs. An omitted secret stays as it is; an empty value removes the stored one.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// The people who may write, by the messenger's ids; they must also be linked. If empty, everyone who is linked may write.
    #[serde(default)]
    pub allow: Vec<String>,
    /// True to connect it.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// True if every user may link to it; only an administrator may set that.
    #[serde(default)]
    pub shared: bool,
}

fn yes() -> bool {
    true
}

/// An account on a messenger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelView {
    /// The account's name, unique among its owner's.
    pub name: String,
    /// The messenger, such as `telegram`.
    pub kind: String,
    /// The name of the account's owner.
    pub owner: String,
    /// True if the account belongs to the caller, who may then change it.
    pub is_own: bool,
    /// True if every user may link to it.
    pub shared: bool,
    /// True if it is to be connected.
    pub enabled: bool,
    /// The state of the connection.
    pub state: ChannelState,
    /// The name under which it is connected, as the messenger shows it; empty if it has not been connected yet.
    pub connected_as: String,
    /// Since when it is in this state, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub since: Option<i64>,
    /// When the messenger last sent something, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub last_traffic: Option<i64>,
    /// Why the connection last failed; empty if it never did.
    #[serde(serialize_with = "crate::language::text")]
    pub last_error: String,
    /// Why messages may have been missed since the server's start; empty if none were.
    #[serde(serialize_with = "crate::language::text")]
    pub gap: String,
    /// The number of messages that wait to be sent.
    pub waiting: i64,
    /// The number of messages that could not be sent in the last 8 days.
    pub failed: i64,
    /// The number of messages of the last 8 days that may have arrived twice, because the messenger did not confirm whether it accepted them.
    pub unsure: i64,
    /// For the owner: the values that are not secret.
    #[serde(default)]
    #[schema(required)]
    pub values: BTreeMap<String, String>,
    /// For the owner: the keys of the secrets that are set.
    #[serde(default)]
    #[schema(required)]
    pub secrets: Vec<String>,
    /// For the owner: the people who may write; everyone who is linked if it is empty.
    #[serde(default)]
    #[schema(required)]
    pub allow: Vec<String>,
    /// For the owner: the path of the address for deliveries, for messengers that deliver by HTTP.
    #[serde(default)]
    #[schema(required)]
    pub delivery_path: Option<String>,
}

/// A person on a messenger who is linked to a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelLinkView {
    /// The id, by which the link is removed.
    pub id: i64,
    /// The name of the channel.
    pub channel: String,
    /// The messenger, such as `telegram`.
    pub kind: String,
    /// The name of the linked user.
    pub user: String,
    /// The person's id on the messenger.
    pub person: String,
    /// The name that the messenger shows.
    pub person_name: String,
    /// When they were linked, in Unix milliseconds.
    pub created_at: i64,
    /// True if the server's notices for administrators are sent to this link.
    #[serde(default)]
    #[schema(required)]
    pub notices: bool,
}

/// A conversation on a messenger that is bound to a group of people and agents: everyone in it reads the group's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelBindingView {
    /// The id. A conversation that is bound again gets a new one.
    pub id: String,
    /// The name of the channel.
    pub channel: String,
    /// The messenger, such as `telegram`.
    pub kind: String,
    /// The messenger's name for people, such as `Telegram`.
    pub messenger: String,
    /// The conversation's id on the messenger.
    pub conversation: String,
    /// The user who bound it, who owns the channel.
    pub bound_by: String,
    /// Since when it belongs to the group, in Unix milliseconds.
    pub since: i64,
    /// True if the caller may end the binding.
    pub may_end: bool,
}

/// The setting that sends the server's notices to a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelNotices {
    /// True to send them to this link, and to no other of the user's links.
    pub enabled: bool,
}

/// The accounts that a user may link to, and the links.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelList {
    /// The messengers that accounts can be made on.
    pub kinds: Vec<ChannelKind>,
    /// The accounts, by name: the user's own, and those that administrators share.
    pub channels: Vec<ChannelView>,
    /// The user's own links, and the links of others to the user's accounts.
    pub links: Vec<ChannelLinkView>,
}

/// A code that links a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelCode {
    /// The text that the person sends to the account in a direct message.
    pub code: String,
    /// The time until which it can be used, once, in Unix milliseconds.
    pub expires_at: i64,
    /// The name under which the account is connected; empty if it is not.
    pub connected_as: String,
}

/// The result of testing an account with its messenger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelTested {
    /// True if the messenger knows the account.
    pub ok: bool,
    /// The account's name there.
    pub connected_as: String,
    /// Why it does not work, and what to do.
    #[serde(serialize_with = "crate::language::text")]
    pub error: String,
}

/// The request that begins a login to the service of a channel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelLoginStart {
    /// The address to which the browser is sent back: one of this machine (`http://127.0.0.1:PORT/…`, `http://localhost:PORT/…`), or
    /// this server's own. The service's app must list it.
    pub redirect_uri: String,
}

/// The channel that a completed login belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelLoggedIn {
    /// The channel's name.
    pub channel: String,
}

/// A channel whose service the caller can log in to, so that the caller's agents use the service's tools with the caller's token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelLoginView {
    /// The channel's name.
    pub channel: String,
    /// The name of the channel's owner.
    pub owner: String,
    /// The address of the service.
    pub address: String,
    /// The state of the caller's login.
    pub state: ChannelLoginState,
    /// When the caller logged in, in Unix milliseconds; null if they are not logged in.
    #[serde(default)]
    #[schema(required)]
    pub since: Option<i64>,
}

/// The caller's logins to the services of channels. A user has one login at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelLoginList {
    /// The channels whose services have logins.
    pub logins: Vec<ChannelLoginView>,
    /// The tools that agents of a user who is logged in can use, by their names in the service's own package.
    pub tools: Vec<String>,
}

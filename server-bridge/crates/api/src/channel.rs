//! Channels: accounts on messengers, through which people reach their chats.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::{ChannelLoginState, ChannelState};

/// A value that an account on a messenger needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelSetup {
    /// Its key, such as `token`.
    pub key: String,
    /// What people call it.
    #[serde(serialize_with = "crate::language::text")]
    pub label: String,
    /// How to get it on the messenger's side.
    #[serde(serialize_with = "crate::language::text")]
    pub help: String,
    /// True if it is sealed, and never shown again.
    pub is_secret: bool,
    /// What it is if it is left out; null if it is needed.
    #[serde(default)]
    #[schema(required)]
    pub default: Option<String>,
}

/// A messenger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelKind {
    /// Its name in documents and commands, such as `telegram`.
    pub name: String,
    /// Its name for people, such as `Telegram`.
    pub title: String,
    /// What an account needs, in the order in which it is got.
    pub setup: Vec<ChannelSetup>,
}

/// An account to make, or its new settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelPut {
    /// The messenger.
    pub kind: String,
    /// The values that it needs. A secret that is left out stays; an empty value is removed.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// The messenger's ids of the people who may write, who must also be linked; empty for everyone who is linked.
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
    /// Its name, unique among its owner's.
    pub name: String,
    /// The messenger.
    pub kind: String,
    /// Its owner's name.
    pub owner: String,
    /// True if it is the caller's own, and they may change it.
    pub is_own: bool,
    /// True if every user may link to it.
    pub shared: bool,
    /// True if it is to be connected.
    pub enabled: bool,
    /// How it is.
    pub state: ChannelState,
    /// The name under which it is connected, as the messenger shows it; empty if it was not connected yet.
    pub connected_as: String,
    /// Since when it is in this state, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub since: Option<i64>,
    /// When something last came from the messenger, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub last_traffic: Option<i64>,
    /// Why it was last not connected; empty if it never was.
    #[serde(serialize_with = "crate::language::text")]
    pub last_error: String,
    /// Why messages may have been missed since the server's start; empty if none were.
    #[serde(serialize_with = "crate::language::text")]
    pub gap: String,
    /// Messages that are to be sent.
    pub waiting: i64,
    /// Messages that could not be sent in the last 8 days.
    pub failed: i64,
    /// Messages of the last 8 days that may have arrived twice, because the messenger did not say if it took them.
    pub unsure: i64,
    /// For the owner: the values that are no secrets.
    #[serde(default)]
    #[schema(required)]
    pub values: BTreeMap<String, String>,
    /// For the owner: the keys of the secrets that it has.
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

/// A person on a messenger who is a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelLinkView {
    /// The id.
    pub id: i64,
    /// The account's name.
    pub channel: String,
    /// The messenger.
    pub kind: String,
    /// The user's name.
    pub user: String,
    /// The messenger's id of the person.
    pub person: String,
    /// The name that the messenger shows.
    pub person_name: String,
    /// When they were linked, in Unix milliseconds.
    pub created_at: i64,
    /// True if the server's notices for administrators go there.
    #[serde(default)]
    #[schema(required)]
    pub notices: bool,
}

/// The server's notices at a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelNotices {
    /// True to have them go there, and to no other of the user's links.
    pub enabled: bool,
}

/// The accounts that a user may link to, and the links.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelList {
    /// The messengers that accounts can be made on.
    pub kinds: Vec<ChannelKind>,
    /// The accounts, by name: the user's own, and those that administrators share.
    pub channels: Vec<ChannelView>,
    /// The user's links, and those of others with the user's accounts.
    pub links: Vec<ChannelLinkView>,
}

/// A code that links a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelCode {
    /// What the person sends in a direct message to the account.
    pub code: String,
    /// Until when it can be used, in Unix milliseconds: once.
    pub expires_at: i64,
    /// The name under which the account is connected; empty if it is not.
    pub connected_as: String,
}

/// What the messenger said when the account was tried.
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

/// A login to the service of a channel that is about to begin.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelLoginStart {
    /// The address to which the browser is sent back: one of this machine (`http://127.0.0.1:PORT/…`, `http://localhost:PORT/…`), or
    /// this server's own. The service's app must list it.
    pub redirect_uri: String,
}

/// The channel that a login was for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelLoggedIn {
    /// The channel's name.
    pub channel: String,
}

/// A channel whose service the caller can log in to, so that their agents use its tools with their own token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelLoginView {
    /// The channel's name.
    pub channel: String,
    /// The name of the channel's owner.
    pub owner: String,
    /// The service's address.
    pub address: String,
    /// The caller's login.
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

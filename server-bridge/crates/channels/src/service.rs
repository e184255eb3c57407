//! Lists, changes and tests accounts on messengers and the links with them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use agent::hooks::{Hook, HookedTurn, Place, Words};
use api::channel::{ChannelCode, ChannelList, ChannelPut, ChannelTested, ChannelView};
use chats::ChatService;
use futures_util::future::BoxFuture;
use platforms::Failure;
use serde_json::Value;
use store::{ChannelAccount, ChannelDraft, Store, User, UserId};
use tokio::time::timeout;

use crate::codes::Code;
use crate::document::{Document, check_allow, check_change, check_listening, kind, platform, sorted};
use crate::error::{Error, Result};
use crate::house::{Inner, Surroundings, to_json};
use crate::inbox::AccountInbox;
use crate::limits::{CODE_LIFETIME_MS, SEND_TIMEOUT};
use crate::logs::GroupLogs;
use crate::views;

/// The channels of all users. Cheap to clone; all clones share the same state.
#[derive(Clone)]
pub struct Channels(pub(crate) Arc<Inner>);

impl Channels {
    /// Creates the channels of these chats. No account is connected before [`Channels::start`].
    pub fn new(chats: &ChatService, store: &Store, around: Surroundings) -> Self {
        Self(Arc::new(Inner::new(chats, store, around)))
    }

    /// Connects all enabled accounts, and continues the work that an earlier server left.
    pub fn start(&self) {
        self.0.listen();
        self.0.begin_work();
        self.0.begin_watch();
        self.0.begin_drafts();
    }

    /// Sets the interface to groups. Until then no conversation can be bound to one.
    pub fn show_groups(&self, groups: Arc<dyn GroupLogs>) {
        // A second call is ignored.
        let _ = self.0.logs.set(groups);
    }

    /// Wakes the work task, because this node has become, or is no longer, the home of a user, or because something in a group changed.
    pub fn look(&self) {
        self.0.wake.notify_one();
    }

    /// Returns the owner of an account; `None` if there is no such account.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn owner(&self, account: i64) -> Result<Option<UserId>> {
        Ok(self.0.store.channel_by_id(account).await?.map(|account| account.user))
    }

    /// Ends all connections. Unfinished work stays on record, and the next server process continues it.
    pub async fn shutdown(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
        self.0.lock_subscription().take();
    }

    /// Lists the accounts that a user may link to, and the user's links.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn list(&self, user: &User) -> Result<ChannelList> {
        let inner = &self.0;
        let mut channels = Vec::new();
        for account in inner.store.channels(user.id).await? {
            channels.push(inner.view(user, &account).await?);
        }
        let links = inner.store.channel_links(user.id, true).await?;
        Ok(ChannelList {
            kinds: inner.around.kinds.iter().map(views::kind).collect(),
            channels,
            links: links.into_iter().map(views::link).collect(),
        })
    }

    /// Creates an account, or changes the one with this name, and connects it.
    ///
    /// # Errors
    /// [`Error::Refused`], which states what to change; [`Error::Store`].
    pub async fn put(&self, user: &User, name: &str, put: ChannelPut) -> Result<ChannelView> {
        let inner = &self.0;
        store::Name::parse(name)?;
        if put.shared && !user.admin {
            return Err(Error::refused(
                "forbidden",
                "only an administrator's account can be shared with every user; save it without sharing",
            ));
        }
        let kind = kind(inner.around.kinds, &put.kind)?;
        check_allow(&put.allow)?;
        let known = inner.store.channel(user.id, name).await.ok().filter(|known| known.user == user.id);
        let kept = match &known {
            Some(known) if known.kind == put.kind => inner.secrets(known).await?,
            _ => BTreeMap::new(),
        };
        let (values, secrets) = sorted(kind, &put.values, &kept)?;
        check_listening(user, &values)?;
        if let Some(known) = &known {
            check_change(kind, (&Document::of(known).values, &values), &kept, &put.values)?;
        }
        let document = Document { values, allow: put.allow };
        // The platform is created here only to check the values; its errors contain no secrets.
        platform(kind, &document, &secrets, &inner.around.reach).map_err(Error::invalid)?;
        let document_json = to_json(&document);
        let secrets_json = to_json(&secrets);
        let draft = ChannelDraft {
            name,
            kind: kind.name,
            document_json: &document_json,
            secrets_json: Some(&secrets_json),
            is_enabled: put.enabled,
            is_shared: put.shared,
        };
        let account = inner.store.put_channel(user.id, draft).await?;
        inner.audit(Some(&user.name), "channel.set", &format!("{name} ({})", kind.name), "ok").await;
        inner.sync().await?;
        inner.view(user, &account).await
    }

    /// Removes an account with its links and its waiting messages; the chats stay.
    ///
    /// # Errors
    /// [`Error::Refused`] if the user has no account with this name.
    pub async fn remove(&self, user: &User, name: &str) -> Result<()> {
        if self.0.store.remove_channel(user.id, name).await?.is_none() {
            return Err(Error::refused("not_found", format!("you do not own a channel named {name:?}")));
        }
        self.0.audit(Some(&user.name), "channel.remove", name, "ok").await;
        self.0.sync().await
    }

    /// Asks the messenger for the account's name, which checks its credentials.
    ///
    /// # Errors
    /// [`Error::Store`] for an account that the user may not link to.
    pub async fn test(&self, user: &User, name: &str) -> Result<ChannelTested> {
        let account = self.0.store.channel(user.id, name).await?;
        let made = self.0.platform_of(&account).await?;
        let asked = match made {
            Ok(platform) => match timeout(SEND_TIMEOUT, platform.probe()).await {
                Ok(asked) => asked.map_err(|failure| failure.to_string()),
                Err(_) => Err("the platform did not answer in time".to_owned()),
            },
            Err(why) => Err(why),
        };
        let outcome = if asked.is_ok() { "ok" } else { "failed" };
        self.0.audit(Some(&user.name), "channel.test", name, outcome).await;
        Ok(match asked {
            Ok(connected_as) => ChannelTested { ok: true, connected_as, error: String::new() },
            Err(error) => ChannelTested { ok: false, connected_as: String::new(), error },
        })
    }

    /// Creates a code that links the person who sends it with this user. The code can be used once within 10 minutes; an earlier code becomes
    /// invalid.
    ///
    /// # Errors
    /// [`Error::Store`] for an account that the user may not link to.
    pub async fn code(&self, user: &User, name: &str) -> Result<ChannelCode> {
        let account = self.0.store.channel(user.id, name).await?;
        let code = Code::random();
        let expires_at = self.0.store.now_ms() + CODE_LIFETIME_MS;
        self.0.store.put_link_code(account.id, user.id, (code.prefix(), &code.hash()), expires_at).await?;
        self.0.audit(Some(&user.name), "channel.code", name, "ok").await;
        let connected_as = self.0.status(account.id).map(|status| status.connected_as).unwrap_or_default();
        Ok(ChannelCode { code: code.to_string(), expires_at, connected_as })
    }

    /// Removes one of the user's own links, or a link with an account that the user owns.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such link.
    pub async fn unlink(&self, user: &User, link: i64) -> Result<()> {
        if !self.0.store.remove_channel_link(user.id, link).await? {
            return Err(Error::refused("not_found", format!("you have no link {link}")));
        }
        self.0.audit(Some(&user.name), "channel.unlink", &link.to_string(), "ok").await;
        Ok(())
    }

    /// Returns true if an account is connected from here and accepts deliveries to its own address.
    pub fn takes_deliveries(&self, account: i64) -> bool {
        self.0.live(account).is_some_and(|live| live.platform.takes_deliveries())
    }

    /// Handles a delivery to an account's own address, for messengers that deliver by HTTP; returns the body of the response.
    ///
    /// # Errors
    /// [`Error::Refused`]: `not_found` for an account that is not connected, `unauthorized` for a wrong signature, `invalid`, and
    /// `unavailable` if nothing was committed.
    pub async fn deliver(&self, account: i64, headers: &[(String, String)], body: &[u8]) -> Result<Value> {
        let Some(live) = self.0.live(account) else {
            return Err(Error::refused("not_found", "there is no channel at this address"));
        };
        let inbox = AccountInbox::new(&self.0, &live);
        let answer = live.platform.delivered(headers, body, &inbox).await;
        answer.map_err(|failure| {
            let kind = match failure {
                Failure::Account(_) => "unauthorized",
                Failure::Message(_) | Failure::Closed(_) | Failure::Expired => "invalid",
                Failure::Unknown(_) | Failure::Away(_) | Failure::TooFast { .. } => "unavailable",
            };
            Error::refused(kind, failure.to_string())
        })
    }
}

impl Inner {
    async fn view(&self, user: &User, account: &ChannelAccount) -> Result<ChannelView> {
        let is_own = account.user == user.id;
        let secrets = if is_own { self.secrets(account).await? } else { BTreeMap::new() };
        let counts = self.store.outbox_counts(account.id).await?;
        let delivers = views::delivers(self.around.kinds, account);
        Ok(views::account(account, is_own, &secrets, counts, self.status(account.id), delivers))
    }
}

/// Wakes the work task when a turn has ended: the answer is complete, and the chat can take further messages.
impl Hook for Channels {
    fn at<'a>(&'a self, _turn: HookedTurn<'a>, place: Place<'a>) -> BoxFuture<'a, Words> {
        if matches!(place, Place::TurnEnds { .. }) && self.0.has_any.load(Ordering::Relaxed) {
            self.0.wake.notify_one();
        }
        Box::pin(async { Words::default() })
    }
}

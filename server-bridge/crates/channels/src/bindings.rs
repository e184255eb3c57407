//! Lists the bindings of conversations to a group of people and agents for the group's members, and ends bindings.
//!
//! Only the owner of a channel can bind its conversations. A binding can be ended by that owner, and by every owner of the group.

use api::channel::ChannelBindingView;
use platforms::Styled;
use store::{ChannelAccount, ChannelBinding, User};

use crate::answers::{Target, parts};
use crate::error::{Error, Result};
use crate::house::Inner;
use crate::service::Channels;
use crate::views;

impl Channels {
    /// Lists the conversations that are bound to a group, the oldest binding first.
    ///
    /// # Errors
    /// [`Error::Store`] for a group that the user is not in.
    pub async fn bindings(&self, user: &User, group: i64) -> Result<Vec<ChannelBindingView>> {
        let Some(logs) = self.0.logs() else { return Ok(Vec::new()) };
        let is_owner = logs.may_show(user, group).await?;
        let kinds = self.0.around.kinds;
        let found = self.0.bindings_of(group).await?;
        let view = |(binding, account): &(ChannelBinding, ChannelAccount)| {
            views::binding(kinds, account, binding, is_owner || account.user == user.id)
        };
        Ok(found.iter().map(view).collect())
    }

    /// Ends the binding of a conversation to a group. Entries of the group's log that have not been sent yet are not sent to the conversation any
    /// more.
    ///
    /// # Errors
    /// [`Error::Refused`] if the conversation is not bound to the group, or if the user neither bound it nor is an owner of the group;
    /// [`Error::Store`] for a group that the user is not in.
    pub async fn unbind(&self, user: &User, group: i64, id: &str) -> Result<()> {
        let missing = || {
            let why = "this conversation is not bound to the group, or no longer is; reload the list";
            Error::refused("not_found", why)
        };
        let Some(logs) = self.0.logs() else { return Err(missing()) };
        let of_group = self.0.bindings_of(group).await?;
        let found = of_group.into_iter().find(|(binding, _)| views::binding_id(binding) == id);
        let is_own = found.as_ref().is_some_and(|(_, account)| account.user == user.id);
        if !is_own {
            logs.shown(user, group).await?;
        }
        let (binding, account) = found.ok_or_else(missing)?;
        let text = format!("This conversation no longer belongs to its group: {} ended that.", user.name);
        let has_ended = self.0.end_binding(&account, &binding, &user.name, &text).await?;
        if has_ended { Ok(()) } else { Err(missing()) }
    }
}

impl Inner {
    /// Returns the bindings of a group, each with its account.
    async fn bindings_of(&self, group: i64) -> Result<Vec<(ChannelBinding, ChannelAccount)>> {
        let mut found = Vec::new();
        for binding in self.store.bindings_of_group(group).await? {
            // If the account was removed in the meantime, so were its bindings.
            if let Some(account) = self.store.channel_by_id(binding.account_id).await? {
                found.push((binding, account));
            }
        }
        Ok(found)
    }

    /// Ends a binding, on a person's request or because of a change in their rights, and reports this in the conversation and in the log.
    /// Returns false if the binding had ended before.
    pub(crate) async fn end_binding(
        &self,
        account: &ChannelAccount,
        binding: &ChannelBinding,
        by: &str,
        text: &str,
    ) -> Result<bool> {
        let text = self.chats.language(account.user).translated(text);
        let rows = match self.platform_of(account).await? {
            Ok(platform) => {
                let payloads = parts(&*platform, &Styled::plain(&text), "…");
                let source = format!("unbound/{}", binding.mark);
                Target::unasked(&binding.conversation, true, None).rows(account.id, &source, payloads)
            }
            // Without a usable platform, nothing can be sent to the conversation.
            Err(_) => Vec::new(),
        };
        if !self.store.unbind_conversation(binding, &rows).await? {
            return Ok(false);
        }
        self.note_end(account, binding, by).await;
        self.wake.notify_one();
        Ok(true)
    }

    /// Records that a binding has ended, and reports this in the log. A failure is only logged, because the binding has already ended.
    pub(crate) async fn note_end(&self, account: &ChannelAccount, binding: &ChannelBinding, by: &str) {
        let target = format!("{} in {}: group {}", account.name, binding.conversation, binding.group);
        self.audit(Some(by), "channel.group.unbind", &target, "ok").await;
        let Some(logs) = self.logs() else { return };
        let text = format!("This log is no longer shown on {} (channel {}).", account.kind, account.name);
        if let Err(error) = logs.note(binding.group, &text).await {
            tracing::info!(%error, group = binding.group, "an entry about the end of a binding could not be added to a group's log");
        }
    }
}

//! Accounts as clients see them.

use std::collections::BTreeMap;

use api::channel::{ChannelBindingView, ChannelKind, ChannelLinkView, ChannelSetup, ChannelView};
use api::words::ChannelState;
use platforms::Kind;
use sha2::{Digest as _, Sha256};
use store::{ChannelAccount, ChannelBinding, ChannelLink, OutboxCounts, hex};

use crate::document::Document;
use crate::house::Status;
use crate::limits::BINDING_ID_DIGITS;

/// The prefix of the paths that messengers deliver to.
pub(crate) const DELIVERIES: &str = "/api/v1/channel-deliveries/";

/// Creates the view of a kind of messenger.
pub(crate) fn kind(kind: &Kind) -> ChannelKind {
    let setup = |setup: &platforms::Setup| ChannelSetup {
        key: setup.key.to_owned(),
        label: setup.label.to_owned(),
        help: setup.help.to_owned(),
        is_secret: setup.is_secret,
        default: setup.default.map(str::to_owned),
    };
    ChannelKind {
        name: kind.name.to_owned(),
        title: kind.title.to_owned(),
        setup: kind.setup.iter().map(setup).collect(),
    }
}

/// Returns true if this version knows the account's messenger, so that deliveries for the account can be accepted.
pub(crate) fn delivers(kinds: &[Kind], account: &ChannelAccount) -> bool {
    kinds.iter().any(|kind| kind.name == account.kind)
}

/// Creates the view of an account; only its owner sees its settings.
pub(crate) fn account(
    account: &ChannelAccount,
    is_own: bool,
    secrets: &BTreeMap<String, String>,
    counts: OutboxCounts,
    status: Option<Status>,
    delivers: bool,
) -> ChannelView {
    let document = if is_own { Document::of(account) } else { Document::default() };
    let is_known = status.is_some();
    let status = status.unwrap_or_default();
    let state = match (account.is_enabled, is_known) {
        (false, _) => ChannelState::Off,
        (true, false) => ChannelState::Connecting,
        (true, true) => status.state.clone(),
    };
    ChannelView {
        name: account.name.clone(),
        kind: account.kind.clone(),
        owner: account.owner.clone(),
        is_own,
        shared: account.is_shared,
        enabled: account.is_enabled,
        state,
        connected_as: status.connected_as,
        since: status.since_ms,
        last_traffic: status.last_traffic_ms,
        last_error: if is_own { status.last_error } else { String::new() },
        gap: status.gap,
        waiting: counts.waiting,
        failed: counts.failed,
        unsure: counts.unsure,
        values: document.values,
        secrets: secrets.keys().cloned().collect(),
        allow: document.allow,
        delivery_path: (is_own && delivers).then(|| format!("{DELIVERIES}{}", account.id)),
    }
}

/// Creates the view of a link.
pub(crate) fn link(link: ChannelLink) -> ChannelLinkView {
    ChannelLinkView {
        id: link.id,
        channel: link.account,
        kind: link.kind,
        user: link.user_name,
        person: link.person,
        person_name: link.person_name,
        created_at: link.created_at_ms,
        notices: link.notices_since_ms.is_some(),
    }
}

/// The id of a binding for clients. The id does not reveal the mark, because a client that knew the mark could keep its messages from being shown.
pub(crate) fn binding_id(binding: &ChannelBinding) -> String {
    let mut id = hex(&Sha256::digest(&binding.mark));
    id.truncate(BINDING_ID_DIGITS);
    id
}

/// Creates the view of a conversation that is bound to a group.
pub(crate) fn binding(
    kinds: &[Kind],
    account: &ChannelAccount,
    binding: &ChannelBinding,
    may_end: bool,
) -> ChannelBindingView {
    let known = kinds.iter().find(|kind| kind.name == account.kind);
    ChannelBindingView {
        id: binding_id(binding),
        channel: account.name.clone(),
        kind: account.kind.clone(),
        messenger: known.map_or(account.kind.as_str(), |kind| kind.title).to_owned(),
        conversation: binding.conversation.clone(),
        bound_by: account.owner.clone(),
        since: binding.created_at_ms,
        may_end,
    }
}

#[cfg(test)]
mod tests {
    use api::language::Language;

    #[test]
    fn what_an_account_needs_is_told_in_chinese_too() {
        let is_name = |label: &str| {
            ["App ID", "AppID", "App Secret", "AppSecret", "Client ID", "Client Secret"].contains(&label)
        };
        for kind in platforms::KINDS {
            for setup in kind.setup {
                let chinese = Language::Chinese.translated(setup.help);
                assert_ne!(chinese, setup.help, "{}", kind.name);
                let chinese = Language::Chinese.translated(setup.label);
                assert!(is_name(setup.label) || chinese != setup.label, "{}: {}", kind.name, setup.label);
            }
        }
    }
}

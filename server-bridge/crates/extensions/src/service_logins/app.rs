//! The app that a user logs in with: that of a Feishu channel which the user may use.

use std::collections::HashSet;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use store::{ChannelAccount, UserId};

use super::Inner;

/// The messenger whose channels have apps.
const KIND: &str = "feishu";
/// The default address, for channels whose settings contain none.
const DOMAIN: &str = "https://open.feishu.cn";

/// The app of a channel.
#[derive(Clone, Debug)]
pub(super) struct App {
    pub(super) account: ChannelAccount,
    /// The service's address, without a slash at its end.
    pub(super) domain: String,
    pub(super) client_id: String,
}

impl App {
    fn of(account: ChannelAccount) -> Option<Self> {
        let document: Value = serde_json::from_str(&account.document_json).unwrap_or_default();
        let value = |key: &str| document["values"][key].as_str().filter(|text| !text.is_empty());
        let client_id = value("app_id")?.to_owned();
        let domain = value("domain").unwrap_or(DOMAIN).trim_end_matches('/').to_owned();
        (account.kind == KIND).then_some(Self { account, domain, client_id })
    }

    /// The hash that a login is bound to: its token is sent to no other address, and refreshed with no other app.
    pub(super) fn hash(&self) -> String {
        let identity = json!([KIND, self.account.id, self.domain, self.client_id]);
        store::hex(&Sha256::digest(identity.to_string()))
    }
}

impl Inner {
    /// The apps that a user may log in with, one per channel name: the user's own before a shared one.
    pub(super) async fn apps(&self, user: UserId) -> store::Result<Vec<App>> {
        let mut names = HashSet::new();
        let mut accounts = self.store.channels(user).await?;
        accounts.retain(|account| names.insert(account.name.clone()));
        Ok(accounts.into_iter().filter_map(App::of).collect())
    }

    /// The secret of an app; `None` if it can no longer be read.
    pub(super) async fn secret(&self, app: &App) -> store::Result<Option<String>> {
        let secrets = self.store.channel_secrets(&app.account).await?;
        let secrets: Value = secrets.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        Ok(secrets["app_secret"].as_str().map(str::to_owned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(kind: &str, values: Value) -> ChannelAccount {
        ChannelAccount {
            id: 7,
            user: UserId(1),
            owner: "ada".to_owned(),
            name: "lark".to_owned(),
            kind: kind.to_owned(),
            document_json: json!({"values": values}).to_string(),
            is_enabled: true,
            is_shared: false,
            revision: 1,
            created_at_ms: 0,
        }
    }

    #[test]
    fn a_login_is_bound_to_the_channel_its_address_and_its_app() {
        let of = |values| App::of(account("feishu", values)).unwrap();
        let app = of(json!({"app_id": "cli_1"}));
        assert_eq!((app.domain.as_str(), app.client_id.as_str()), ("https://open.feishu.cn", "cli_1"));
        assert_eq!(app.hash(), of(json!({"app_id": "cli_1", "domain": "https://open.feishu.cn/"})).hash());
        for other in
            [json!({"app_id": "cli_2"}), json!({"app_id": "cli_1", "domain": "https://open.larksuite.com"})]
        {
            assert_ne!(app.hash(), of(other).hash());
        }
        assert!(App::of(account("slack", json!({"app_id": "cli_1"}))).is_none());
        assert!(App::of(account("feishu", json!({}))).is_none());
    }
}

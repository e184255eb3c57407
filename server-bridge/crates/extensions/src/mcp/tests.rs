//! Servers with addresses, as users define them, with a store in memory.

use ::tests::{Page, Pages};
use api::mcp::McpServerEntry;
use sandbox::RouterConfig;
use store::Name;

use super::*;

/// The servers of a user who has no machine. Requests may go to these hosts.
pub(super) async fn known(reachable: &[&str]) -> (McpServers, User) {
    // Another test may already have installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let store = Store::open_in_memory().await.unwrap();
    let user = store.add_user(&Name::parse("ada").unwrap(), "correct horse", false).await.unwrap();
    let router = SandboxRouter::new(RouterConfig::default());
    let ledger = Ledger::new(store.clone(), router.clone());
    let reachable: Vec<String> = reachable.iter().map(|host| (*host).to_owned()).collect();
    let plugins = Plugins::new(ledger.clone(), store.clone(), &reachable);
    // The administrator has no document.
    let home = PathBuf::from("/nonexistent");
    (McpServers::new(ledger, store, router, home, &reachable, plugins), user)
}

/// A definition of a server at an address, with this token.
fn with_token(url: String) -> McpServerEntry {
    McpServerEntry {
        url: Some(url),
        headers: [("Authorization".to_owned(), "Bearer s3cret".to_owned())].into(),
        ..McpServerEntry::default()
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_no_token_goes_elsewhere() {
    let elsewhere = Pages::start(|_| Page::Echo);
    let (servers, user) = known(&["127.0.0.1"]).await;
    for status in [301, 302, 303, 307, 308] {
        let there = format!("http://127.0.0.1:{}/mcp", elsewhere.port());
        let moved = Pages::start(move |_| Page::MovedBy(status, there.clone()));
        let entry = with_token(format!("http://127.0.0.1:{}/mcp", moved.port()));
        servers.put(&user, "far", &entry).await.unwrap();
        let refused = servers.check(&user, "far", None).await.unwrap_err().to_string();
        assert!(refused.contains(&status.to_string()) && !refused.contains("s3cret"), "{refused}");
        assert!(moved.asked().iter().all(|asked| asked.contains("s3cret")) && !moved.asked().is_empty());
    }
    assert_eq!(elsewhere.asked(), Vec::<String>::new());
    servers.shutdown().await;
}

#[tokio::test]
async fn the_tokens_of_a_users_own_servers_are_known_and_nothing_else_of_them() {
    let (servers, user) = known(&[]).await;
    let pairs = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let program = McpServerEntry {
        command: Some("git-server".to_owned()),
        env: pairs(&[("GIT_TOKEN", "t0ken-of-the-user"), ("MODE", "production-2024"), ("SECRET", "reboot")]),
        ..McpServerEntry::default()
    };
    let far = McpServerEntry {
        url: Some("https://a.example/mcp".to_owned()),
        headers: pairs(&[("Authorization", "Bearer s3cret-of-the-user"), ("Accept-Language", "en-GB")]),
        ..McpServerEntry::default()
    };
    servers.put(&user, "git", &program).await.unwrap();
    servers.put(&user, "far", &far).await.unwrap();
    let mut tokens = servers.own_tokens(user.id).await.unwrap();
    tokens.sort();
    assert_eq!(tokens, ["s3cret-of-the-user", "t0ken-of-the-user"]);
    servers.shutdown().await;
}

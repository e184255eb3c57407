use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use ::tests::{Page, Pages};
use guard::{Reach, Talker};
use serde_json::{Value, json};
use store::Name;

use super::*;

/// A login provider, with the server that it belongs to at `/mcp`.
struct Provider {
    pages: Pages,
    base: String,
}

impl Provider {
    /// A provider whose documents are changed by this function: first the server's document, then the provider's. The access tokens `a1`,
    /// `a2` and so on are issued with the refresh tokens `r1`, `r2` and so on.
    fn start(change: impl Fn(&mut Value, &mut Value) + Send + Sync + 'static) -> Self {
        // Known once the provider listens.
        let base: Arc<OnceLock<String>> = Arc::default();
        let (known, issued) = (Arc::clone(&base), AtomicU64::new(0));
        let pages = Pages::start(move |path| {
            let base = known.get().expect("nothing is asked before");
            let mut resource = json!({"resource": format!("{base}/mcp"), "authorization_servers": [base]});
            let mut provider = json!({
                "issuer": base,
                "authorization_endpoint": format!("{base}/authorize"),
                "token_endpoint": format!("{base}/token"),
                "registration_endpoint": format!("{base}/register"),
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
            });
            change(&mut resource, &mut provider);
            let answer = match path {
                "/.well-known/oauth-protected-resource/mcp" => resource,
                "/.well-known/oauth-authorization-server" => provider,
                "/register" => json!({"client_id": "sandbridge", "redirect_uris": [BACK]}),
                "/token" => {
                    let number = issued.fetch_add(1, Ordering::Relaxed) + 1;
                    let (access, refresh) = (format!("a{number}"), format!("r{number}"));
                    json!({"access_token": access, "token_type": "Bearer", "expires_in": 3600, "refresh_token": refresh})
                }
                _ => return Page::Status(404),
            };
            Page::Is("application/json", answer.to_string().into_bytes())
        });
        let url = format!("http://127.0.0.1:{}", pages.port());
        base.set(url.clone()).expect("it is set once");
        Self { pages, base: url }
    }

    /// The refresh tokens that were sent, in order.
    fn refreshed(&self) -> Vec<String> {
        let sent =
            |request: &String| parameter(&format!("http://x/?{}", request.lines().last()?), "refresh_token");
        self.pages.asked().iter().filter_map(sent).collect()
    }
}

/// The address to which the provider sends the browser back.
const BACK: &str = "http://127.0.0.1:9/callback";

/// A user who logs in to a provider's server.
struct World {
    store: Store,
    way: Way,
    logins: Logins,
    who: Who,
    url: String,
}

impl World {
    async fn new(provider: &Provider) -> Self {
        // Another test may already have installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let store = Store::open_in_memory().await.unwrap();
        let user = store.add_user(&Name::parse("ada").unwrap(), "correct horse", false).await.unwrap().id;
        let way = Way::Server(Talker::new(Reach::public(&["127.0.0.1".to_owned()])));
        let who = Who { user, server: "far".to_owned(), hash: "h".to_owned() };
        Self { store, way, logins: Logins::default(), who, url: format!("{}/mcp", provider.base) }
    }

    /// A whole login, as a browser makes it.
    async fn log_in(&self) -> Result<(), String> {
        let Self { store, way, logins, who, url } = self;
        let start = Start { redirect_uri: BACK, client_id: None, client_secret: None };
        let page = logins.begin(store, way, who, url, &start).await?;
        let state = parameter(&page, "state").expect("it has a state");
        logins.end(store, who.user, &format!("{BACK}?code=c&state={state}")).await.map(drop)
    }

    /// A client of one more connection.
    async fn client(&self) -> LoggedIn<reqwest::Client> {
        let Self { store, way, logins, who, url } = self;
        let Way::Server(talker) = way else { panic!("it is reached from here") };
        let (http, _) = talker.client(url).unwrap();
        logins.client(store, way, who, url, http, None).await.unwrap()
    }
}

#[tokio::test]
async fn a_refresh_token_that_changes_each_time_is_used_once_by_all_that_wait() {
    let provider = Provider::start(|_, _| {});
    let world = World::new(&provider).await;
    world.log_in().await.unwrap();
    let (one, other) = (world.client().await, world.client().await);
    assert_eq!(one.token().await.unwrap().as_deref(), Some("a1"));
    for round in 1..=3 {
        // The server refused the token of both clients at the same time.
        let (old, new) = (format!("a{round}"), format!("a{}", round + 1));
        let both = tokio::join!(one.renewed(&old, Some("Bearer")), other.renewed(&old, Some("Bearer")));
        assert_eq!((both.0.unwrap().unwrap(), both.1.unwrap().unwrap()), (new.clone(), new.clone()));
        assert_eq!(other.token().await.unwrap(), Some(new));
        let sent: Vec<String> = (1..=round).map(|number| format!("r{number}")).collect();
        assert_eq!(provider.refreshed(), sent, "each refresh token is sent once");
    }
}

/// A change of the documents of a resource and of its provider.
type Change = fn(&mut Value, &mut Value);

#[tokio::test]
async fn metadata_that_leads_into_the_servers_own_network_ends_the_login_unasked() {
    const INSIDE: &str = "http://169.254.169.254/latest/meta-data";
    let log_in = async |change: Change| {
        let provider = Provider::start(change);
        let world = World::new(&provider).await;
        let refused = world.log_in().await.unwrap_err();
        let granted = world.store.oauth_grant(world.who.user, "far", "h").await.unwrap();
        assert_eq!(granted, None);
        refused
    };
    let own = "own network";
    let changes: [(Change, &str); 5] = [
        (|resource, _| resource["authorization_servers"] = json!([INSIDE]), "none published usable metadata"),
        (|resource, _| resource["authorization_servers"] = json!(["http://vault.internal"]), own),
        (|_, provider| provider["registration_endpoint"] = json!(INSIDE), own),
        (|_, provider| provider["token_endpoint"] = json!(INSIDE), own),
        (|_, provider| provider["token_endpoint"] = json!("http://localhost:9/token"), own),
    ];
    for (change, why) in changes {
        let refused = log_in(change).await;
        assert!(refused.contains(why), "{why}: {refused}");
    }
}

#[tokio::test]
async fn a_challenge_that_leads_into_the_servers_own_network_is_not_followed() {
    let provider = Provider::start(|_, _| {});
    let world = World::new(&provider).await;
    for metadata in ["http://169.254.169.254/x", "http://[::ffff:169.254.169.254]/x"] {
        let challenge = format!("Bearer resource_metadata=\"{metadata}\"");
        world.logins.challenged(&world.who, &challenge);
        // Then the server's own metadata about its provider counts.
        world.log_in().await.unwrap();
    }
    world.logins.challenged(&world.who, "Bearer resource_metadata=\"http://vault.internal/x\"");
    let refused = world.log_in().await.unwrap_err();
    assert!(refused.contains("own network"), "{refused}");
}

//! Lists of resources, resources that are watched, and changes of lists.

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::*;
use crate::limits::{MCP_PAGES, MCP_RESOURCES, MCP_RESOURCES_BYTES};

#[tokio::test(start_paused = true)]
async fn a_list_of_resources_is_bounded_and_needs_no_templates() {
    let fits = MCP_RESOURCES_BYTES / (64 * 1024);
    for (of_page, about, at_most) in
        [(1, String::new(), MCP_PAGES), (600, String::new(), MCP_RESOURCES), (4, "x".repeat(64 * 1024), fits)]
    {
        let (connection, mut server) = connected().await;
        // It never answers another request.
        let endless = tokio::spawn(async move {
            for page in 0.. {
                let asked = server.hear("resources/list").await;
                let resource =
                    |at| json!({"uri": format!("a://{page}/{at}"), "name": "a", "description": about});
                let resources: Vec<Value> = (0..of_page).map(resource).collect();
                server.answer(&asked, json!({"resources": resources, "nextCursor": "more"})).await;
            }
        });
        let found = connection.resources(PATIENCE).await.unwrap();
        assert!(found.are_more && found.templates.is_empty());
        assert!((1..=at_most).contains(&found.resources.len()), "{of_page}: {}", found.resources.len());
        assert!(!connection.is_over(), "other calls may end");
        endless.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn every_page_of_templates_is_read() {
    let (connection, mut server) = connected().await;
    let lists = async {
        let asked = server.hear("resources/list").await;
        server.answer(&asked, json!({"resources": [{"uri": "a://b", "name": "b"}]})).await;
        for (uri, next) in [("a://{c}", json!("more")), ("a://{d}", Value::Null)] {
            let asked = server.hear("resources/templates/list").await;
            let templates = json!([{"uriTemplate": uri, "name": "t"}]);
            server.answer(&asked, json!({"resourceTemplates": templates, "nextCursor": next})).await;
        }
    };
    let (found, ()) = tokio::join!(connection.resources(PATIENCE), lists);
    let found = found.unwrap();
    assert!(!found.are_more);
    let shown = crate::mcp::content::listed(&found).text;
    let at = |part: &str| shown.find(part).unwrap_or_else(|| panic!("{part}: {shown}"));
    assert!(at("a://{c}") < at("a://{d}") && at("a://{d}") < at("a://b"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn a_server_of_the_newer_era_is_asked_to_report_changed_lists_and_again_when_it_ends() {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (theirs_in, out) = split(theirs);
    let mut server = Server { lines: BufReader::new(theirs_in).lines(), out };
    let agreed = json!({"toolsListChanged": true});
    let began = async {
        let begun = server.hear("server/discover").await;
        let mut info = discovered();
        info["capabilities"] = json!({"tools": {"listChanged": true}, "prompts": {}});
        server.answer(&begun, info).await;
        let listens = server.hear("subscriptions/listen").await;
        assert_eq!(listens["params"]["notifications"], agreed, "{listens}");
        listens
    };
    let tasks = TaskTracker::new();
    let connection = async {
        let made = connect(split(ours), Era::Discover, None, ProgramStatus::default()).await;
        let mut connection = made.unwrap();
        connection.listeners = Listeners::new(tasks.clone(), CancellationToken::new());
        connection.hear_of_lists();
        connection
    };
    let (connection, listens) = tokio::join!(connection, began);
    assert!(connection.take_stale(), "it was never listed");
    for method in ["subscriptions/acknowledged", "tools/list_changed"] {
        assert!(!connection.take_stale(), "{method}");
        let mut params = json!({"_meta": {"io.modelcontextprotocol/subscriptionId": listens["id"]}});
        if method.ends_with("acknowledged") {
            params["notifications"] = agreed.clone();
        }
        let told = json!({"jsonrpc": "2.0", "method": format!("notifications/{method}"), "params": params});
        assert!(server.say(told).await);
        // The clock stands still until everything was handled.
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(connection.take_stale());
    // The server ends the stream.
    server.answer(&listens, json!({})).await;
    let again = server.hear("subscriptions/listen").await;
    assert!(again["id"] != listens["id"] && connection.take_stale(), "{again}");
    drop(connection);
    tasks.close();
    tasks.wait().await;
}

#[tokio::test(start_paused = true)]
async fn a_resource_is_watched_again_once_the_session_is_another_one() {
    let (connection, mut server) = connected().await;
    let watches = async |server: &mut Server| {
        let asked = server.hear("resources/subscribe").await;
        assert_eq!(asked["params"]["uri"], "a://b", "{asked}");
        server.answer(&asked, json!({})).await;
    };
    let (begun, ()) = tokio::join!(connection.watch("a://b", PATIENCE), watches(&mut server));
    begun.unwrap();
    assert!(connection.take_stale() && !connection.take_stale());
    assert!(connection.watched.news().is_empty());

    connection.is_renewed.store(true, Ordering::Relaxed);
    assert!(connection.take_stale() && !connection.take_stale());
    assert_eq!(connection.watched.news(), ["a://b"], "it may have changed");
    let called = call(&connection, PATIENCE);
    watches(&mut server).await;
    let asked = server.hear("tools/call").await;
    server.answer(&asked, json!({"content": []})).await;
    assert!(called.await.unwrap().is_ok());
    assert!(connection.watched.lost().is_empty());

    // To watch it once more does so too.
    connection.is_renewed.store(true, Ordering::Relaxed);
    let (begun, ()) = tokio::join!(connection.watch("a://b", PATIENCE), watches(&mut server));
    begun.unwrap();
    assert!(connection.watched.lost().is_empty());

    // A server that never begins to delays a call, which does not fail.
    connection.is_renewed.store(true, Ordering::Relaxed);
    let called = call(&connection, PATIENCE);
    let asked = server.hear("tools/call").await;
    server.answer(&asked, json!({"content": []})).await;
    assert!(called.await.unwrap().is_ok());
    assert_eq!(connection.watched.lost(), ["a://b"]);
}

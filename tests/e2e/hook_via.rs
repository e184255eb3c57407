//! An http hook in a network that only a runner reaches.

use serde_json::{Value, json};
use tests::{Asked, Network, Page, Pages, Reply};

use crate::http_via::Private;
use crate::world::World;

/// A model that runs a command, and then ends its answer.
fn touches(asked: &Asked) -> Reply {
    match asked.results().len() {
        0 => Reply::Call(vec![("Shell", json!({"command": "touch mark"}))]),
        _ => Reply::Say("that is all".to_owned()),
    }
}

impl World {
    /// Sets a hook of its user, which posts calls of Shell; returns the program's output.
    fn posts(&self, hook: Value) -> tests::Output {
        let document = json!({"hooks": {"PreToolUse": [{"matcher": "Shell", "hooks": [hook]}]}});
        self.alice.with_stdin(&["hook", "set", "-"], document.to_string().as_bytes())
    }
}

#[test]
fn an_http_hook_reaches_a_service_of_a_machines_own_network() {
    let network = Network::new();
    let answer = json!({"decision": "block", "reason": "the service says no"}).to_string().into_bytes();
    let service = network.inside(|| {
        Pages::start(move |path| match path {
            "/moved" => Page::Moved("/check".to_owned()),
            _ => Page::Is("application/json", answer.clone()),
        })
    });
    let origin = format!("http://127.0.0.1:{}", service.port());
    let url = format!("{origin}/check");
    // The server may connect to this address too, but nothing listens there on the server's side.
    let world = World::with(touches, &["--fetch-allow", "127.0.0.1"]);
    let private = Private::new(world, network, &format!("127.0.0.1:{}", service.port()));
    let world = &private.world;
    assert_eq!(world.alice.run(&["use", "laptop"]).code, 0);
    let hook = |path: &str, via: &str| json!({"type": "http", "url": format!("{origin}{path}"), "via": via, "onFailure": "deny"});
    assert_eq!(world.posts(hook("/check", "inner")).code, 0);
    let list = world.alice.json(&["hook", "list", "--json"]);
    assert_eq!(list["hooks"][0]["action"], format!("{url} via inner"));
    world.chat("full");
    assert!(world.last_result().contains("the service says no"), "{}", world.last_result());
    let asked = service.asked();
    assert!(asked[0].starts_with("POST /check") && asked[0].contains("touch mark"), "{asked:?}");
    assert_eq!(private.audit(), [("inner".to_owned(), format!("POST {origin}"), "200".to_owned())]);
    // A redirect is not followed, and each failure is told and counts as `onFailure` says.
    for (path, via, why) in [
        ("/moved", "inner", "302"),
        ("/check", "laptop", "--http-allow"),
        ("/check", "nobody", "no runner named nobody"),
    ] {
        assert_eq!(world.posts(hook(path, via)).code, 0);
        world.chat("full");
        assert!(world.last_result().contains(why), "{via}{path}: {}", world.last_result());
    }
    assert_eq!(service.asked().len(), 2, "the redirect, and no request after it");
    assert!(!world.path("mark").exists());
    let refused = world.posts(hook("/check", "auto"));
    assert!(refused.code != 0 && refused.stderr.contains("runner list"), "{refused:?}");
}

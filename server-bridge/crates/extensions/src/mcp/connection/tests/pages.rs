//! Calls that are refused until their user has opened pages (error -32042).

use rmcp::model::ElicitationAction;

use super::*;

/// A user who accepts everything; the messages of what was asked.
#[derive(Clone, Default)]
struct Accepts(Arc<Mutex<Vec<String>>>);

impl Listener for Accepts {
    fn on(&mut self, event: Event) -> BoxFuture<'_, ()> {
        if let Event::Asks(asked, answer) = event {
            let asked = serde_json::to_value(asked).unwrap();
            self.0.lock().unwrap().push(asked["message"].as_str().unwrap().to_owned());
            answer.send(ElicitResult::new(ElicitationAction::Accept)).unwrap();
        }
        Box::pin(std::future::ready(()))
    }
}

impl Server {
    /// Refuses a call until its user has done these things.
    async fn wants(&mut self, call: &Value, elicitations: &[&Value]) {
        let error =
            json!({"code": -32042, "message": "Log in first.", "data": {"elicitations": elicitations}});
        assert!(self.say(json!({"jsonrpc": "2.0", "id": call["id"], "error": error})).await);
    }
}

fn page() -> Value {
    json!({"mode": "url", "message": "Log in", "url": "https://a.example/login", "elicitationId": "1"})
}

#[tokio::test(start_paused = true)]
async fn pages_are_opened_before_the_call_is_repeated() {
    let (connection, mut server) = connected().await;
    let user = Accepts::default();
    let called = call_by(user.clone(), &connection, PATIENCE);
    let refused = server.hear("tools/call").await;
    server.wants(&refused, &[&page()]).await;
    let again = server.hear("tools/call").await;
    server.answer(&again, json!({"content": []})).await;
    assert!(called.await.unwrap().is_ok());
    assert_eq!(*user.0.lock().unwrap(), ["Log in"]);
}

#[tokio::test(start_paused = true)]
async fn forms_are_not_asked_for_a_call_that_is_refused_until_pages_are_open() {
    let schema = json!({"type": "object", "properties": {"password": {"type": "string"}}});
    let form = json!({"mode": "form", "message": "Your password?", "requestedSchema": schema});
    // Without a mode, a request is one for a form.
    let unmarked = json!({"message": "Your password?", "requestedSchema": schema});
    for wanted in [vec![&form], vec![&unmarked], vec![&page(), &form]] {
        let (connection, mut server) = connected().await;
        let user = Accepts::default();
        let called = call_by(user.clone(), &connection, PATIENCE);
        let refused = server.hear("tools/call").await;
        server.wants(&refused, &wanted).await;
        let why = called.await.unwrap().unwrap_err();
        assert!(why.contains("something other than pages"), "{why}");
        assert_eq!(*user.0.lock().unwrap(), [] as [&str; 0]);
    }
}

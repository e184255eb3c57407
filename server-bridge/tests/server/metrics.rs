//! The page of metrics for Prometheus.

use reqwest::{Client, Method};

use crate::support::{TestClient, TestServer, program};

/// Requests the metrics page as this client; returns the status and the text.
async fn scrape(server: &TestServer, client: &TestClient) -> (u16, String) {
    let response = Client::new().get(server.url("/metrics")).bearer_auth(&client.token).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

#[tokio::test]
async fn only_administrators_and_programs_with_their_keys_see_the_metrics() {
    let server = TestServer::start().await;
    let (admin, bob) = (server.admin("admin").await, server.user("bob").await);
    let answer = Client::new().get(server.url("/metrics")).send().await.unwrap();
    assert_eq!(answer.status(), 401);
    assert!(!answer.text().await.unwrap().contains("sandbridge_"));
    for (client, status) in [
        (&admin, 200),
        (&program(&admin, "scrape", "read").await, 200),
        (&program(&admin, "all", "full").await, 200),
        (&program(&admin, "ci", "exec").await, 403),
        (&bob, 403),
        (&program(&bob, "scrape", "read").await, 403),
        (&TestClient { token: "sbs_made_up".to_owned(), http: Client::new(), base: String::new() }, 401),
    ] {
        let (answered, page) = scrape(&server, client).await;
        assert_eq!(answered, status, "{page}");
        assert_eq!(page.contains("sandbridge_http_requests_total"), status == 200, "{page}");
    }
    server.stop().await;
}

#[tokio::test]
async fn the_metrics_count_requests_and_runners() {
    let server = TestServer::start().await;
    let admin = server.admin("alice").await;
    let _runner = admin.connect_runner("laptop").await;
    let (_, page) = scrape(&server, &admin).await;
    assert!(
        page.contains(r#"sandbridge_http_requests_total{method="POST",route="/api/v1/login",status="200"}"#),
        "{page}"
    );
    let connected = page.lines().find_map(|line| line.strip_prefix("sandbridge_runners_connected "));
    assert!(connected.unwrap().parse::<f64>().unwrap() >= 1.0);
    server.stop().await;
}

#[tokio::test]
async fn paths_that_a_client_makes_up_are_counted_as_other() {
    let server = TestServer::start().await;
    let http = Client::new();
    for number in 0..3 {
        let method = Method::from_bytes(format!("MADEUP{number}").as_bytes()).unwrap();
        for path in ["/api/v1/me", "/api/v1/nothing-made-up", "/made-up", "/ws/made-up?made-up=1"] {
            http.request(method.clone(), server.url(path)).send().await.unwrap();
            http.get(server.url(path)).send().await.unwrap();
        }
    }
    let admin = server.admin("admin").await;
    let (_, page) = scrape(&server, &admin).await;
    assert!(!page.contains("MADEUP") && !page.contains("made-up"), "{page}");
    for series in [
        r#"method="other",route="/api/v1/me",status="405""#,
        r#"method="GET",route="/api/v1/me",status="401""#,
        r#"method="GET",route="/ws/{user}",status="400""#,
    ] {
        assert!(page.contains(series), "{series} is not in {page}");
    }
    server.stop().await;
}

//! The page for Prometheus.

use reqwest::{Client, Method};

use crate::support::TestServer;

#[tokio::test]
async fn what_a_client_makes_up_is_counted_as_other() {
    let server = TestServer::start().await;
    let http = Client::new();
    for number in 0..3 {
        let method = Method::from_bytes(format!("MADEUP{number}").as_bytes()).unwrap();
        for path in ["/api/v1/me", "/api/v1/nothing-made-up", "/made-up", "/ws/made-up?made-up=1"] {
            http.request(method.clone(), server.url(path)).send().await.unwrap();
            http.get(server.url(path)).send().await.unwrap();
        }
    }
    let page = http.get(server.url("/metrics")).send().await.unwrap().text().await.unwrap();
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

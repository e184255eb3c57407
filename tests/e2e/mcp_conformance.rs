//! The official conformance suite of the Model Context Protocol, client side: a running server is the client, as its user uses it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tests::http::Client;
use tests::{Asked, Machine, Reply, ScriptedModel, Server};

/// The scenarios of both revisions.
const COMMON: &[&str] = &[
    "tools_call",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
];

/// Runs scenarios of a revision; each must pass.
fn run(revision: &str, scenarios: &[&str]) {
    // The model calls what the message says, one after the other.
    let model = ScriptedModel::start(|asked: &Asked| {
        let calls: Vec<(String, Value)> = serde_json::from_str(&asked.last_of_user()).unwrap_or_default();
        match calls.get(asked.results().len()) {
            Some((tool, arguments)) => Reply::Call(vec![(tool.clone().leak(), arguments.clone())]),
            None => Reply::Say("done".to_owned()),
        }
    });
    let options = ["--docker", "off", "--fetch-allow", "localhost", "--fetch-allow", "127.0.0.1"];
    let server = Server::start_with(&[&options[..], &model.options("openai")].concat());
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, "alice");
    let mcp = Path::new(env!("CARGO_MANIFEST_DIR")).join("mcp");
    let suite: PathBuf = mcp.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let mut failed = Vec::new();
    for scenario in scenarios {
        let output = Command::new("timeout")
            .arg("60")
            .arg(mcp.join("node_modules/node/bin/node"))
            .arg(&suite)
            .args([
                "client",
                "--command",
                "node mcp/conformance-client.mjs",
                "--timeout",
                "60000",
                "--verbose",
            ])
            .args(["--spec-version", revision, "--scenario", scenario])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("SANDBRIDGE_API", format!("{}/api/v1", server.url()))
            .env("SANDBRIDGE_TOKEN", client.token())
            .output()
            .unwrap();
        if !output.status.success() {
            failed.push(format!(
                "{scenario}:\n{}\n{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            ));
        }
    }
    assert!(failed.is_empty(), "{} of {} fail\n{}", failed.len(), scenarios.len(), failed.join("\n---\n"));
}

#[test]
fn revision_2025_11_25() {
    let own = ["initialize", "elicitation-sep1034-client-defaults", "sse-retry"];
    run("2025-11-25", &[COMMON, &own].concat());
}

#[test]
fn revision_2026_07_28() {
    run(
        "2026-07-28",
        &[
            COMMON,
            &[
                "request-metadata",
                "auth/resource-mismatch",
                "auth/offline-access-scope",
                "auth/offline-access-not-supported",
                "auth/authorization-server-migration",
                "auth/iss-supported",
                "auth/iss-not-advertised",
                "auth/iss-supported-missing",
                "auth/iss-wrong-issuer",
                "auth/iss-unexpected",
                "auth/iss-normalized",
                "auth/metadata-issuer-mismatch",
                "sep-2322-client-request-state",
                "http-standard-headers",
                "http-custom-headers",
                "http-invalid-tool-headers",
                "json-schema-ref-no-deref",
            ],
        ]
        .concat(),
    );
}

#[test]
fn skills() {
    let checked = ["no-prefetch", "verify-digest", "verify-size", "verify-frontmatter"];
    let scenarios = checked.map(|what| format!("sep-2640-client-{what}"));
    run("2026-07-28", &scenarios.each_ref().map(String::as_str));
}

#[test]
fn clients_with_credentials_of_their_own() {
    run("2026-07-28", &["auth/client-credentials-jwt", "auth/client-credentials-basic"]);
}

//! The client side of the official conformance suite of the Model Context Protocol; the client is a running server, as a user uses it.

use std::path::Path;
use std::process::{Command, Output};

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

/// A server whose model makes the calls that a message names, and a user with a machine who runs parts of the suite.
struct World {
    client: Client,
    _model: ScriptedModel,
    server: Server,
    _machine: Machine,
}

impl World {
    fn start() -> Self {
        // The calls that the message names, one after the other.
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
        let machine = Machine::start(&server, &alice, "laptop");
        let client = Client::login(&server, "alice");
        Self { client, _model: model, server, _machine: machine }
    }

    /// Runs a part of the suite; `scenarios` are those in which the suite's client takes part.
    fn run(&self, part: &[&str], scenarios: &[&str]) -> Output {
        let mcp = Path::new(env!("CARGO_MANIFEST_DIR")).join("mcp");
        Command::new("timeout")
            .arg("180")
            .arg(mcp.join("node_modules/node/bin/node"))
            .arg(mcp.join("node_modules/@modelcontextprotocol/conformance/dist/index.js"))
            .args(["client", "--command", "node mcp/conformance-client.mjs", "--timeout", "120000"])
            .arg("--verbose")
            .args(part)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("SANDBRIDGE_API", format!("{}/api/v1", self.server.url()))
            .env("SANDBRIDGE_TOKEN", self.client.token())
            .env("SCENARIOS", scenarios.join(" "))
            .output()
            .unwrap()
    }
}

/// Runs these scenarios, out of those that a revision requires and those of its extensions; each must pass.
fn required(revision: &str, scenarios: &[&str]) {
    // All scenarios run in one process, because starting the suite takes longer than a scenario.
    let output = World::start().run(&["--requirements", revision], scenarios);
    let said = String::from_utf8_lossy(&output.stdout);
    let failed: Vec<_> = scenarios.iter().filter(|scenario| !passes(&said, scenario)).collect();
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(failed.is_empty(), "{} of {} fail: {failed:?}\n{said}\n{why}", failed.len(), scenarios.len());
}

/// True if the summary has a line like `✓ tools_call: 1 passed, 0 failed`. The suite also lets a scenario without any check pass.
fn passes(said: &str, scenario: &str) -> bool {
    let line = said.lines().find_map(|line| line.strip_prefix(&format!("✓ {scenario}: ")));
    line.is_some_and(|line| !line.starts_with("0 passed"))
}

#[test]
fn revision_2025_11_25() {
    let own = ["initialize", "elicitation-sep1034-client-defaults", "sse-retry"];
    required("2025-11-25", &[COMMON, &own].concat());
}

#[test]
fn revision_2026_07_28_and_clients_with_credentials_of_their_own() {
    let own = [
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
        "auth/client-credentials-jwt",
        "auth/client-credentials-basic",
    ];
    required("2026-07-28", &[COMMON, &own].concat());
}

#[test]
fn skills() {
    let world = World::start();
    // These scenarios belong to no set, so the suite runs them one by one.
    for checked in ["no-prefetch", "verify-digest", "verify-size", "verify-frontmatter"] {
        let scenario = format!("sep-2640-client-{checked}");
        let output = world.run(&["--spec-version", "2026-07-28", "--scenario", &scenario], &[&scenario]);
        let [said, why] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
        assert!(output.status.success(), "{scenario}\n{said}\n{why}");
    }
}

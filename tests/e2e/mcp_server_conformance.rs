//! The official conformance suite of the Model Context Protocol for servers, run against this server's own endpoint.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tests::{Machine, Server, process};

/// The reason for scenarios that call tools of the suite, which the endpoint does not have.
const OWN_TOOLS: &str = "calls a tool that only a server made for the suite has";
/// Features that the endpoint does not offer, and does not declare.
const NO_PROMPTS: &str = "prompts are not offered";
const NO_RESOURCES: &str = "resources are not offered";
const NO_COMPLETION: &str = "completion is not offered";
const NO_LOGGING: &str = "log messages are not offered";
const NO_INPUT: &str = "tools send no requests to the client";

/// The scenarios for features that the endpoint does not declare, each with the reason.
const UNCLAIMED: &[(&str, &str)] = &[
    ("logging-set-level", NO_LOGGING),
    ("completion-complete", NO_COMPLETION),
    ("tools-call-simple-text", OWN_TOOLS),
    ("tools-call-image", OWN_TOOLS),
    ("tools-call-audio", OWN_TOOLS),
    ("tools-call-embedded-resource", OWN_TOOLS),
    ("tools-call-mixed-content", OWN_TOOLS),
    ("tools-call-with-logging", OWN_TOOLS),
    ("tools-call-error", OWN_TOOLS),
    ("tools-call-with-progress", OWN_TOOLS),
    ("tools-call-sampling", OWN_TOOLS),
    ("tools-call-elicitation", OWN_TOOLS),
    ("json-schema-2020-12", OWN_TOOLS),
    ("elicitation-sep1034-defaults", OWN_TOOLS),
    ("elicitation-sep1330-enums", OWN_TOOLS),
    ("http-custom-header-server-validation", OWN_TOOLS),
    ("resources-list", NO_RESOURCES),
    ("resources-read-text", NO_RESOURCES),
    ("resources-read-binary", NO_RESOURCES),
    ("resources-templates-read", NO_RESOURCES),
    ("resources-subscribe", NO_RESOURCES),
    ("resources-unsubscribe", NO_RESOURCES),
    ("prompts-list", NO_PROMPTS),
    ("prompts-get-simple", NO_PROMPTS),
    ("prompts-get-with-args", NO_PROMPTS),
    ("prompts-get-embedded-resource", NO_PROMPTS),
    ("prompts-get-with-image", NO_PROMPTS),
    ("input-required-result-basic-elicitation", NO_INPUT),
    ("input-required-result-basic-sampling", NO_INPUT),
    ("input-required-result-basic-list-roots", NO_INPUT),
    ("input-required-result-request-state", NO_INPUT),
    ("input-required-result-multiple-input-requests", NO_INPUT),
    ("input-required-result-multi-round", NO_INPUT),
    ("input-required-result-non-tool-request", NO_INPUT),
    ("input-required-result-result-type", NO_INPUT),
    ("input-required-result-tampered-state", NO_INPUT),
    ("input-required-result-capability-check", NO_INPUT),
];

/// The checks in other scenarios that need a feature that the endpoint does not declare, each with the reason.
const UNCLAIMED_CHECKS: &[(&str, &str)] = &[
    ("sep-2575-server-rejects-undeclared-capability", OWN_TOOLS),
    ("sep-2575-missing-capability-http-400", OWN_TOOLS),
    ("sep-2575-http-server-no-independent-requests-on-stream", OWN_TOOLS),
    ("sep-2575-server-no-log-without-loglevel", OWN_TOOLS),
    ("sep-2549-prompts-list-caching-hints", NO_PROMPTS),
    ("sep-2549-resources-list-caching-hints", NO_RESOURCES),
    ("sep-2549-resources-templates-list-caching-hints", NO_RESOURCES),
];

/// A proxy that adds the key, since the suite cannot send one.
struct Keyed(Child, String);

impl Keyed {
    fn start(server: &Server, key: &str) -> Self {
        let mut child = Command::new("node")
            .arg(mcp().join("keyed.mjs"))
            .env("TARGET", server.url())
            .env("KEY", key)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().strip_prefix("listening ").unwrap();
        let url = format!("http://127.0.0.1:{port}/mcp");
        Self(child, url)
    }
}

impl Drop for Keyed {
    fn drop(&mut self) {
        process::terminate(&mut self.0);
    }
}

fn mcp() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("mcp")
}

/// The command of the suite, without arguments.
fn suite() -> Command {
    let mut command = Command::new("timeout");
    command.arg("120").arg(mcp().join("node_modules/node/bin/node"));
    command.arg(mcp().join("node_modules/@modelcontextprotocol/conformance/dist/index.js"));
    command
}

/// The suite's scenarios for servers of this revision. It has other scenarios for extensions, none of which the
/// endpoint declares.
fn scenarios(revision: &str) -> Vec<String> {
    let listed = suite().arg("list").output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let of_servers = listed.split("\n\n").next().unwrap();
    let known = of_servers.lines().filter_map(|line| line.strip_prefix("  - ")?.split_once(" ["));
    let of_revision = known
        .filter(|(_, revisions)| revisions.trim_end_matches(']').split(',').any(|known| known == revision));
    of_revision.map(|(name, _)| name.to_owned()).collect()
}

fn run(revision: &str) {
    let server = Server::start_with(&["--docker", "off"]);
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let key = alice.json(&["key", "add", "suite", "--scope", "exec", "--json"]);
    let keyed = Keyed::start(&server, key["key"].as_str().unwrap());
    let folder = tempfile::tempdir().unwrap();
    // All scenarios run in one process, because starting the suite takes longer than a scenario.
    let output = suite()
        .args(["server", "--url", &keyed.1, "--suite", "all", "--spec-version", revision, "--output-dir"])
        .arg(folder.path())
        .output()
        .unwrap();
    let said = || String::from_utf8_lossy(&output.stdout).into_owned();
    let (mut wrong, mut unclaimed) = (Vec::new(), BTreeSet::new());
    for scenario in scenarios(revision) {
        let Some(checks) = checks(folder.path(), &scenario) else {
            wrong.push(format!("{scenario} did not end\n{}", said()));
            continue;
        };
        let with = |status: &str| checks.iter().filter(|check| check["status"] == status).collect::<Vec<_>>();
        let failed = with("FAILURE");
        if is_among(UNCLAIMED, &scenario) {
            // A scenario that passes although its feature is not declared must not stay in the list.
            if failed.is_empty() && !with("SUCCESS").is_empty() {
                wrong.push(format!("{scenario} passes"));
            }
            unclaimed.insert(scenario);
        } else if !failed.iter().all(|check| is_among(UNCLAIMED_CHECKS, check["id"].as_str().unwrap())) {
            wrong.push(format!("{scenario}: {failed:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{} scenarios are not as expected\n{}", wrong.len(), wrong.join("\n---\n"));
    assert!(!unclaimed.is_empty(), "the suite has none of these scenario names");
}

fn is_among(list: &[(&str, &str)], name: &str) -> bool {
    list.iter().any(|(known, _)| *known == name)
}

/// The results of a scenario, from a folder whose name is `server-SCENARIO-TIME`; `None` if there is none.
fn checks(results: &Path, scenario: &str) -> Option<Vec<Value>> {
    let prefix = format!("server-{scenario}-2");
    let mut folders = std::fs::read_dir(results).unwrap().map(|entry| entry.unwrap());
    let folder = folders.find(|folder| {
        let name = folder.file_name().into_string().unwrap();
        // The time has 24 characters; the length is checked, since another scenario's name may begin with this one.
        name.starts_with(&prefix) && name.len() == prefix.len() + 23
    })?;
    serde_json::from_slice(&std::fs::read(folder.path().join("checks.json")).ok()?).ok()
}

#[test]
fn revision_2025_11_25() {
    run("2025-11-25");
}

#[test]
fn revision_2026_07_28() {
    run("2026-07-28");
}

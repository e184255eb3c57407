//! The files in `server-bridge/deploy/`: the Compose file, its balancer, and the Helm chart. Their configuration is run here with the real programs,
//! but without the container engine and the cluster that would start those programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use s3server::{OWNER, S3Server};
use serde_json::{Value, json};
use tempfile::TempDir;
use tests::{Machine, Output, Server, binaries, eventually};

use crate::peers::{PATIENCE, TAKEN_OVER_WITHIN, free_port, wait_ready};

/// The longest time that a server takes to stop after its drain, in seconds.
const STOP: u64 = 10;
/// Variables whose values are passed to `serve` in files, so that no other user can see them.
const SECRETS: [&str; 1] = ["SANDBRIDGE_ENCRYPTION_KEY"];
/// The environment variables of AWS's tools that the server reads.
const OF_S3: [&str; 4] = ["AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../server-bridge/deploy")
}

fn render(arguments: &[&str]) -> Output {
    let python = binaries::directory().join("../third-party/helm/bin/python");
    assert!(python.exists(), "{} is not there: run the tests through scripts/test", python.display());
    let mut command = Command::new(python);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/render.py");
    command.arg(script).arg(directory()).args(arguments);
    tests::server::run(command, b"")
}

fn compose() -> Value {
    let output = render(&["compose"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    serde_json::from_str(&output.stdout).unwrap()
}

/// Renders the chart's objects with these values and the required one.
fn chart(mut values: Value) -> Vec<Value> {
    values["publicUrl"] = json!("https://bridge.example.org");
    let output = render(&["chart", &values.to_string()]);
    assert_eq!(output.code, 0, "{values}: {}", output.stderr);
    let rendered: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(rendered["findings"], json!([]), "{values}");
    rendered["objects"].as_array().unwrap().clone()
}

fn object<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let found = objects.iter().find(|object| object["kind"] == kind && object["metadata"]["name"] == name);
    found.unwrap_or_else(|| panic!("no {kind} {name}"))
}

/// The variables of a container of the chart; those from a Secret have no value.
fn variables(container: &Value) -> BTreeMap<String, Option<String>> {
    let variable = |entry: &Value| {
        (entry["name"].as_str().unwrap().to_owned(), entry["value"].as_str().map(str::to_owned))
    };
    container["env"].as_array().unwrap().iter().map(variable).collect()
}

/// The flag of `serve` for a variable; flags and variables have the same names.
fn flag(variable: &str) -> String {
    let name =
        variable.strip_prefix("SANDBRIDGE_").unwrap_or_else(|| panic!("{variable} is not the server's"));
    format!("--{}", name.to_lowercase().replace('_', "-"))
}

/// Panics if the server would not read this variable.
fn check_known(variable: &str) {
    if SECRETS.contains(&variable) || OF_S3.contains(&variable) {
        return;
    }
    static HELP: LazyLock<String> = LazyLock::new(|| {
        let mut help = Command::new(binaries::sandbridge());
        help.args(["serve", "--help"]);
        tests::server::run(help, b"").stdout
    });
    let flag = flag(variable);
    assert!(HELP.split_whitespace().any(|word| word == flag), "serve has no {flag}");
}

/// Starts a node with these settings as flags, with addresses of this machine instead of those of containers. Settings for S3 are passed
/// as environment variables.
fn start(database: &str, settings: &BTreeMap<String, String>, replaced: &[(&str, &str)]) -> Server {
    let (mut options, mut of_s3) = (Vec::new(), Vec::new());
    for (variable, value) in settings {
        // The test harness sets these two variables.
        if ["SANDBRIDGE_LISTEN", "SANDBRIDGE_DATABASE"].contains(&variable.as_str()) {
            continue;
        }
        let other = replaced.iter().find(|(name, _)| name == variable).map(|(_, value)| *value);
        if OF_S3.contains(&variable.as_str()) {
            of_s3.push((variable.as_str(), other.unwrap_or(value)));
            continue;
        }
        options.push(match SECRETS.contains(&variable.as_str()) {
            true => flag(variable) + "-file",
            false => flag(variable),
        });
        options.push(other.unwrap_or(value).to_owned());
    }
    let options: Vec<_> = options.iter().map(String::as_str).collect();
    let node = Server::start_on_with(database, &options, &of_s3);
    wait_ready(&node);
    node
}

/// An encryption key of the length that the server requires, in a file.
fn key() -> (TempDir, String) {
    let directory = TempDir::with_prefix("sandbridge-key-").unwrap();
    let file = directory.path().join("key");
    fs::write(&file, "the key of all nodes of this test\n").unwrap();
    let file = file.to_str().unwrap().to_owned();
    (directory, file)
}

/// The nodes of the Compose file, with their variables.
fn compose_nodes(compose: &Value) -> Vec<(String, BTreeMap<String, String>)> {
    let services = compose["services"].as_object().unwrap();
    let nodes =
        services.iter().filter(|(_, service)| service["environment"]["SANDBRIDGE_NODE_URL"].is_string());
    nodes
        .map(|(name, service)| {
            assert_eq!(service["command"], json!(["serve"]));
            let variables = service["environment"].as_object().unwrap().iter();
            let text = |(name, value): (&String, &Value)| (name.clone(), value.as_str().unwrap().to_owned());
            (name.clone(), variables.map(text).collect())
        })
        .collect()
}

/// The number of seconds in a duration like `90s`.
fn seconds(time: &str) -> u64 {
    time.strip_suffix('s').unwrap().parse().unwrap()
}

#[test]
fn the_compose_file_sets_known_variables_and_waits_for_the_drain() {
    let compose = compose();
    let nodes = compose_nodes(&compose);
    assert_eq!(nodes.len(), 3);
    for (name, variables) in &nodes {
        variables.keys().for_each(|variable| check_known(variable));
        let port = variables["SANDBRIDGE_PEER_LISTEN"].rsplit(':').next().unwrap();
        assert_eq!(variables["SANDBRIDGE_NODE_URL"], format!("https://{name}:{port}"));
        let service = &compose["services"][name];
        let grace = seconds(service["stop_grace_period"].as_str().unwrap());
        assert!(grace >= seconds(&variables["SANDBRIDGE_DRAIN"]) + STOP, "{grace} s");
        assert_eq!(service["volumes"], json!([format!("{name}:/data")]), "each node has its own home");
        assert!(compose["volumes"][name].is_object());
        assert!(service["ports"].is_null(), "nodes are reached only through the balancer");
    }
    // The only proxy whose headers are trusted is the balancer.
    let balancer = &compose["services"]["balancer"]["networks"]["nodes"]["ipv4_address"];
    assert_eq!(*balancer, nodes[0].1["SANDBRIDGE_TRUSTED_PROXY"]);
    assert!(compose["services"]["balancer"]["ports"][0].as_str().unwrap().starts_with("127.0.0.1:"));
}

/// HAProxy with the configuration of the Compose file; ended when this is dropped.
struct Balancer {
    process: Child,
    url: String,
    _home: TempDir,
}

impl Balancer {
    fn before(nodes: &[(String, Server)]) -> Self {
        let port = free_port();
        let mut config = fs::read_to_string(directory().join("haproxy.cfg")).unwrap();
        for (name, node) in nodes {
            let (there, here) = (format!("{name}:8080"), node.url().trim_start_matches("http://"));
            assert!(config.contains(&there), "the balancer does not know {name}");
            config = config.replace(&there, here);
        }
        assert_eq!(config.matches("    server ").count(), nodes.len());
        let home = TempDir::with_prefix("sandbridge-balancer-").unwrap();
        let file = home.path().join("haproxy.cfg");
        fs::write(&file, config.replace("bind :8080", &format!("bind 127.0.0.1:{port}"))).unwrap();
        let mut command = Command::new("haproxy");
        command
            .env("PATH", "/usr/local/sbin:/usr/sbin:/usr/local/bin:/usr/bin:/bin")
            .args(["-db", "-f"])
            .arg(&file);
        let process =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { process, url: format!("http://127.0.0.1:{port}"), _home: home }
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn the_compose_nodes_work_through_the_balancer_even_after_one_died() {
    let database = testkit::postgres::database();
    let (_key, key) = key();
    let bucket = S3Server::start(&["data"]);
    let start = |(name, settings): (String, BTreeMap<String, String>)| {
        let peers = format!("127.0.0.1:{}", free_port());
        let replaced = [
            ("SANDBRIDGE_BLOBS", "s3://data"),
            ("AWS_ENDPOINT_URL_S3", &bucket.endpoint()),
            // An empty variable counts as unset.
            ("AWS_REGION", ""),
            ("AWS_ACCESS_KEY_ID", OWNER.0),
            ("AWS_SECRET_ACCESS_KEY", OWNER.1),
            ("SANDBRIDGE_PEER_LISTEN", peers.as_str()),
            ("SANDBRIDGE_NODE_URL", &format!("https://{peers}")),
            ("SANDBRIDGE_ENCRYPTION_KEY", &key),
            ("SANDBRIDGE_PUBLIC_URL", "http://localhost:8080"),
            ("SANDBRIDGE_TRUSTED_PROXY", "127.0.0.1"),
        ];
        (name, start(&database, &settings, &replaced))
    };
    let mut nodes: Vec<_> = compose_nodes(&compose()).into_iter().map(start).collect();
    let balancer = Balancer::before(&nodes);
    let alice = nodes[0].1.person("alice");
    alice.add_runner("at-home");
    eventually("the balancer has a node", PATIENCE, || {
        ureq::get(format!("{}/readyz", balancer.url)).call().is_ok().then_some(())
    });
    let through = alice.at(&balancer.url);
    let _machine = Machine::start_at(&balancer.url, &through, "laptop", &[]);
    eventually("it is online", PATIENCE, || through.is_online("laptop").then_some(()));
    let output =
        through.with_stdin(&["exec", "--stdin", "--on", "laptop", "--", "cat"], b"through the balancer");
    assert_eq!((output.code, output.stdout.as_str()), (0, "through the balancer"), "{output:?}");
    // Kills her home node: the first work for her was done there.
    nodes[0].1.kill();
    let echo = ["exec", "--on", "laptop", "--", "echo", "again"];
    eventually("the others work for her", TAKEN_OVER_WITHIN + Duration::from_secs(15), || {
        (through.run(&echo).stdout == "again\n").then_some(())
    });
}

#[test]
fn the_chart_is_valid_and_fits_the_server_with_every_option() {
    let (_key, key) = key();
    let bucket = S3Server::start(&["data"]);
    for (values, drain) in [
        (json!({}), 60),
        (
            json!({"blobs": {"bucket": "s3://data/bridge", "endpoint": bucket.endpoint(), "region": "eu-central-1"}}),
            60,
        ),
        (json!({"postgres": {"enabled": false}, "drainSeconds": 600, "replicas": 5}), 600),
        (
            json!({
                "trustedProxies": ["10.0.0.0/8", "192.0.2.1"],
                "settings": {"SANDBRIDGE_REQUIRE": "confined"},
                "ingress": {"enabled": true, "className": "nginx", "tlsSecret": "tls", "annotations": {"a/b": "c"}}
            }),
            60,
        ),
    ] {
        let objects = chart(values.clone());
        let nodes = object(&objects, "StatefulSet", "bridge");
        let pod = &nodes["spec"]["template"];
        let container = &pod["spec"]["containers"][0];
        assert_eq!(container["args"], json!(["serve"]));
        let mut settings = variables(container);
        assert_eq!(settings["SANDBRIDGE_ENCRYPTION_KEY"], None, "it comes from the Secret");
        for name in ["POD_NAME", "POSTGRES_PASSWORD"] {
            assert_eq!(settings.remove(name).flatten(), None);
        }
        let has_bucket = settings.contains_key("SANDBRIDGE_BLOBS");
        assert_eq!(has_bucket, values["blobs"].is_object());
        for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
            assert_eq!(settings.get(name), has_bucket.then_some(&None), "it comes from the Secret");
        }
        settings.keys().for_each(|variable| check_known(variable));
        check_probes(container);
        let wait = container["lifecycle"]["preStop"]["sleep"]["seconds"].as_u64().unwrap();
        let grace = pod["spec"]["terminationGracePeriodSeconds"].as_u64().unwrap();
        assert!(grace >= wait + drain + STOP, "{grace} s");
        check_services(&objects, nodes, &settings);
        let own = objects.iter().any(|object| object["metadata"]["name"] == "bridge-postgres");
        assert_eq!(own, values["postgres"]["enabled"] != false);
        let has_ingress = objects.iter().any(|object| object["kind"] == "Ingress");
        assert_eq!(has_ingress, values["ingress"]["enabled"] == true);
        if has_ingress {
            let rule = &object(&objects, "Ingress", "bridge")["spec"]["rules"][0];
            assert_eq!(rule["host"], "bridge.example.org");
        }
        // The server accepts these values, including those of the optional features.
        let peers = format!("127.0.0.1:{}", free_port());
        let node_url = format!("https://{peers}");
        let replaced = [
            ("SANDBRIDGE_PEER_LISTEN", peers.as_str()),
            ("SANDBRIDGE_NODE_URL", &node_url),
            ("SANDBRIDGE_ENCRYPTION_KEY", &key),
            ("AWS_ACCESS_KEY_ID", OWNER.0),
            ("AWS_SECRET_ACCESS_KEY", OWNER.1),
        ];
        let settings = settings.into_iter().map(|(name, value)| (name, value.unwrap_or_default())).collect();
        start(&testkit::postgres::database(), &settings, &replaced);
    }
}

/// Checks that each probe requests a route of the server, at a port that the server has.
fn check_probes(container: &Value) {
    let ports = container["ports"].as_array().unwrap();
    let http = ports.iter().find(|port| port["name"] == "http").unwrap();
    let listen = variables(container)["SANDBRIDGE_LISTEN"].clone().unwrap();
    assert_eq!(listen, format!("0.0.0.0:{}", http["containerPort"]));
    for (probe, path) in
        [("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")]
    {
        assert_eq!(container[probe]["httpGet"], json!({"path": path, "port": "http"}), "{probe}");
    }
}

/// Checks that the Services reach the nodes, and that each node has the name that it announces to the others.
fn check_services(objects: &[Value], nodes: &Value, settings: &BTreeMap<String, Option<String>>) {
    let labels = nodes["spec"]["template"]["metadata"]["labels"].as_object().unwrap();
    let container = &nodes["spec"]["template"]["spec"]["containers"][0];
    let ports = container["ports"].as_array().unwrap();
    for name in ["bridge", "bridge-peers"] {
        let service = &object(objects, "Service", name)["spec"];
        assert!(
            service["selector"]
                .as_object()
                .unwrap()
                .iter()
                .all(|(key, value)| labels.get(key) == Some(value))
        );
        let target = &service["ports"][0]["targetPort"];
        assert!(ports.iter().any(|port| port["name"] == *target), "{target}");
    }
    let peers = &object(objects, "Service", "bridge-peers")["spec"];
    assert_eq!((&peers["clusterIP"], &peers["publishNotReadyAddresses"]), (&json!("None"), &json!(true)));
    assert_eq!(nodes["spec"]["serviceName"], "bridge-peers");
    let port = &peers["ports"][0]["port"];
    assert_eq!(settings["SANDBRIDGE_PEER_LISTEN"], Some(format!("0.0.0.0:{port}")));
    assert_eq!(settings["SANDBRIDGE_NODE_URL"], Some(format!("https://$(POD_NAME).bridge-peers:{port}")));
}

#[test]
fn the_chart_refuses_values_that_cannot_work() {
    for (values, named) in [
        (json!({}), "publicUrl"),
        (json!({"publicUrl": "bridge.example.org"}), "publicUrl"),
        (json!({"publicUrl": "https://bridge.example.org/path"}), "publicUrl"),
        (json!({"publicUrl": "https://b", "drainSeconds": 0}), "drainSeconds"),
        (json!({"publicUrl": "https://b", "drainSeconds": 3601}), "drainSeconds"),
        (json!({"publicUrl": "https://b", "replicas": 0}), "replicas"),
        (json!({"publicUrl": "https://b", "replica": 3}), "replica"),
        (json!({"publicUrl": "https://b", "settings": {"PATH": "/"}}), "PATH"),
        (json!({"publicUrl": "https://b", "blobs": {"bucket": "data"}}), "bucket"),
        (json!({"publicUrl": "https://b", "settings": {"SANDBRIDGE_LOCAL": 1}}), "SANDBRIDGE_LOCAL"),
        (json!({"publicUrl": "https://b", "postgres": {"enabled": "no"}}), "enabled"),
    ] {
        let output = render(&["chart", &values.to_string()]);
        assert!(output.code != 0 && output.stderr.contains(named), "{values}: {output:?}");
    }
}

#[test]
fn the_image_contains_programs_that_the_build_makes() {
    let image = fs::read_to_string(directory().join("Dockerfile")).unwrap();
    let build = fs::read_to_string(directory().join("../../scripts/build")).unwrap();
    let copied = image.lines().find_map(|line| line.strip_prefix("COPY ")).unwrap();
    let files: Vec<_> = copied.split_whitespace().filter(|file| !file.starts_with('/')).collect();
    assert_eq!(files.len(), 4);
    for file in files {
        let file = file.trim_end_matches('*');
        assert!(build.contains(&format!("{file} ")) || build.contains(&format!("/{file}")), "{file}");
    }
}

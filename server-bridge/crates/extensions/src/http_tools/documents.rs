//! The HTTP tools of a user on a machine, from the documents of all layers.
//!
//! Of several tools with the same name, the administrator's is used, or else the user's own, or else the workspace's. A workspace's
//! tool is used only after its user has approved the hash of its document.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent::library::beginning;
use agent::tool::visible;
use api::problem::Problem;
use api::words::{ExtensionLayer, HttpToolState};
use hooks::payload::token_in;
use hooks::strict;
use http_tools::{HttpTool, Mask};
use sandbox::Sandbox;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use store::{Store, UserId};

use super::Inner;
use crate::approvals::{approved, workspace_of};
use crate::documents::managed;
use crate::limits::{HTTP_TOOLS_FILE_BYTES, HTTP_TOOLS_PER_FILE};
use crate::schema;

/// The administrator's file in the server's home directory.
const MANAGED: &str = "http-tools.json";

/// The file of a workspace.
const OF_WORKSPACE: &str = ".sandbridge/http-tools.json";

/// The name of the user's own tools, as shown to people.
const OWN: &str = "your tools";

/// The kind under which approvals of tools are stored.
pub(super) const KIND: &str = "http_tool";

/// A tool that a document defines.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) tool: Arc<HttpTool>,
    /// The hash of its document and, for a workspace's tool, of the workspace.
    pub(super) hash: String,
    pub(super) layer: ExtensionLayer,
    pub(super) origin: &'static str,
    pub(super) state: HttpToolState,
    /// The secrets that may be sent to its host.
    pub(super) secrets: Secrets,
}

/// The values of secrets by their names.
#[derive(Clone, Default)]
pub(super) struct Secrets(pub(super) BTreeMap<String, String>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Secrets({:?})", self.0.keys())
    }
}

/// The tools, and the problems of the documents that define them.
#[derive(Default)]
pub(super) struct Documents {
    pub(super) all: Vec<Known>,
    pub(super) problems: Vec<Problem>,
    /// All secrets, of every tool.
    secrets: Vec<Bound>,
}

/// Secrets as they are stored, each with the server that it is bound to: `{"KEY": {"server": "https://api.example.com", "value": "…"}}`.
#[derive(Clone, Default)]
pub(super) struct Bound(pub(super) BTreeMap<String, (String, String)>);

impl Bound {
    /// Reads stored secrets; entries that are not valid are left out.
    pub(super) fn read(value: &Value) -> Self {
        let secret = |(name, about): (&String, &Value)| {
            let text = |field: &str| about.get(field).and_then(Value::as_str).map(str::to_owned);
            Some((name.clone(), (text("server")?, text("value")?)))
        };
        Self(value.as_object().into_iter().flatten().filter_map(secret).collect())
    }

    pub(super) fn to_json(&self) -> Value {
        self.0
            .iter()
            .map(|(name, (server, value))| (name.clone(), json!({"server": server, "value": value})))
            .collect()
    }

    /// The secrets that a tool uses and that may be sent to its server.
    pub(super) fn for_tool(&self, tool: &HttpTool) -> Secrets {
        let bound_to = tool.bound_to();
        let is_its = |name: &String, server: &str| tool.secrets().contains(name) && server == bound_to;
        let its = self.0.iter().filter(|(name, (server, _))| is_its(name, server));
        Secrets(its.map(|(name, (_, value))| (name.clone(), value.clone())).collect())
    }
}

impl Known {
    /// True if the tool is offered.
    pub(super) fn is_ready(&self) -> bool {
        self.state == HttpToolState::Ready
    }

    /// True if the tool needs its user's approval.
    pub(super) fn needs_approval(&self) -> bool {
        self.layer == ExtensionLayer::Workspace
    }

    /// The secrets that the tool uses and that are not set for its host.
    pub(super) fn missing(&self) -> Vec<String> {
        self.tool.secrets().iter().filter(|name| !self.secrets.0.contains_key(*name)).cloned().collect()
    }
}

impl Documents {
    /// A mask for every secret that a tool's service may know: those that were set for its server, with any tool.
    pub(super) fn mask(&self, tool: &HttpTool) -> Mask {
        let bound = self.secrets.iter().flat_map(|bound| &bound.0);
        let bound_to = tool.bound_to();
        let its = bound.filter(|(_, (server, _))| *server == bound_to);
        Mask::new(its.map(|(name, (_, value))| (name, value)))
    }

    /// The tool that is used under a name.
    pub(super) fn named(&self, name: &str) -> Option<&Known> {
        self.all.iter().find(|known| known.tool.name() == name && known.state != HttpToolState::Shadowed)
    }

    fn add(
        &mut self,
        layer: &ExtensionLayer,
        origin: &'static str,
        document: &Value,
        secrets: &Bound,
        workspace: Option<&str>,
    ) {
        let tool = match read(document) {
            Ok(tool) => tool,
            Err(why) => {
                let name = document.get("name").and_then(Value::as_str).unwrap_or("without a name");
                let text = format!("the tool {} is left out: {why}", visible::line(name));
                self.problems.push(Problem::of(origin, text));
                return;
            }
        };
        if *layer == ExtensionLayer::Workspace && !tool.secrets().is_empty() {
            let text = format!(
                "the tool {} is left out: a workspace's tool can use no secrets; add it to your own tools instead",
                tool.name()
            );
            self.problems.push(Problem::of(origin, text));
            return;
        }
        if self.all.iter().any(|known| known.tool.name() == tool.name() && known.origin == origin) {
            let text = format!("the tool {} is defined twice; the first one is used", tool.name());
            self.problems.push(Problem::of(origin, text));
            return;
        }
        let state = match self.named(tool.name()) {
            Some(_) => HttpToolState::Shadowed,
            None => HttpToolState::Ready,
        };
        let hash = hash_of(document, workspace);
        let secrets = secrets.for_tool(&tool);
        self.all.push(Known { tool: Arc::new(tool), hash, layer: layer.clone(), origin, state, secrets });
    }
}

/// Reads a document of a tool.
///
/// Fails with the reason as text.
pub(super) fn read(document: &Value) -> Result<HttpTool, String> {
    let tool = HttpTool::parse(document).map_err(|problem| problem.to_string())?;
    for name in tool.header_names() {
        guard::header(name, "").map_err(|error| format!("`headers`: {name}: {error}"))?;
    }
    match schema::problem(tool.schema()) {
        Some(problem) => Err(format!("`parameters`: {problem}")),
        None => Ok(tool),
    }
}

/// The hash of a document and of the workspace that it belongs to, so that an approval for one repository does not apply to
/// another.
fn hash_of(document: &Value, workspace: Option<&str>) -> String {
    let content = json!({"document": document, "workspace": workspace});
    store::hex(&Sha256::digest(strict::canonical(&content).as_bytes()))
}

/// The tools and secrets of a file: a list of documents, or an object with `tools` and, if it may have secrets, `secrets`.
fn tools_of(text: &str, may_have_secrets: bool) -> Result<(Vec<Value>, Bound), String> {
    if text.len() as u64 >= HTTP_TOOLS_FILE_BYTES {
        return Err(format!("it is larger than {} KiB", HTTP_TOOLS_FILE_BYTES / 1024));
    }
    let value = strict::parse(text).map_err(|error| format!("it is not valid JSON: {error}"))?;
    let (tools, secrets) = match value {
        Value::Array(tools) => (tools, Bound::default()),
        Value::Object(mut fields) => {
            let secrets = fields.remove("secrets");
            let Some(Value::Array(tools)) = fields.remove("tools") else {
                return Err("it has no list of `tools`".to_owned());
            };
            if let Some(unknown) = fields.keys().next() {
                return Err(format!("there is no field {unknown:?}; the fields are tools and secrets"));
            }
            if secrets.is_some() && !may_have_secrets {
                return Err("a workspace's file cannot contain secrets".to_owned());
            }
            (tools, secrets.as_ref().map(Bound::read).unwrap_or_default())
        }
        _ => return Err("it is neither a list of tools nor an object with `tools`".to_owned()),
    };
    if tools.len() > HTTP_TOOLS_PER_FILE {
        return Err(format!("it defines {} tools; the maximum is {HTTP_TOOLS_PER_FILE}", tools.len()));
    }
    Ok((tools, secrets))
}

/// A user's own tool: its document and its secrets.
pub(super) fn own(tool: &store::HttpTool) -> (Value, Bound) {
    let document = serde_json::from_str(&tool.document_json).unwrap_or_default();
    let secrets =
        tool.secrets_json.as_deref().and_then(|secrets| serde_json::from_str::<Value>(secrets).ok());
    (document, secrets.as_ref().map(Bound::read).unwrap_or_default())
}

/// The tokens that a user set for HTTP tools.
pub(crate) async fn own_tokens(store: &Store, user: UserId) -> store::Result<Vec<String>> {
    let secrets = store.http_tools(user).await?.into_iter().flat_map(|tool| own(&tool).1.0.into_values());
    Ok(secrets.filter_map(|(_, value)| token_in(&value).map(str::to_owned)).collect())
}

impl Inner {
    /// The tools of a user on a machine, if one can be reached.
    pub(super) async fn documents(
        &self,
        user: UserId,
        sandbox: Option<&Sandbox>,
    ) -> store::Result<Documents> {
        let mut documents = Documents::default();
        if let Some(text) = managed(&self.home, MANAGED, HTTP_TOOLS_FILE_BYTES).await {
            match tools_of(&text, true) {
                Ok((tools, secrets)) => {
                    let layer = ExtensionLayer::Managed;
                    tools.iter().for_each(|tool| documents.add(&layer, MANAGED, tool, &secrets, None));
                    documents.secrets.push(secrets);
                }
                Err(why) => documents.problems.push(Problem::of(MANAGED, why)),
            }
        }
        for tool in self.store.http_tools(user).await? {
            let (document, secrets) = own(&tool);
            documents.add(&ExtensionLayer::User, OWN, &document, &secrets, None);
            documents.secrets.push(secrets);
        }
        let Some(sandbox) = sandbox else { return Ok(documents) };
        // A file that cannot be read defines nothing.
        let text = beginning(sandbox, OF_WORKSPACE, HTTP_TOOLS_FILE_BYTES).await.ok().flatten();
        let Some(text) = text else { return Ok(documents) };
        match tools_of(&text, false) {
            Ok((tools, none)) => {
                let (layer, workspace) = (ExtensionLayer::Workspace, workspace_of(sandbox));
                tools
                    .iter()
                    .for_each(|tool| documents.add(&layer, OF_WORKSPACE, tool, &none, Some(&workspace)));
            }
            Err(why) => documents.problems.push(Problem::of(OF_WORKSPACE, why)),
        }
        if documents.all.iter().any(Known::needs_approval) {
            let approved = approved(&self.store, user, KIND).await?;
            let waits = |known: &&mut Known| {
                known.needs_approval() && known.is_ready() && !approved.contains(&known.hash)
            };
            documents.all.iter_mut().filter(waits).for_each(|known| known.state = HttpToolState::Waiting);
        }
        Ok(documents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(name: &str) -> Value {
        json!({"name": name, "description": "d", "url": "https://api.example.com/", "headers": {"X-Key": "{{secret.KEY}}"}})
    }

    #[test]
    fn a_secret_goes_only_to_the_server_that_it_was_set_for() {
        let bound = Bound::read(&json!({
            "KEY": {"server": "https://api.example.com", "value": "abcdefgh"},
            "OTHER": {"server": "https://api.example.com", "value": "abcdefgh"},
        }));
        let of = |url: &str| {
            let mut document = document("a");
            document["url"] = json!(url);
            bound.for_tool(&read(&document).unwrap()).0.into_keys().collect::<Vec<_>>()
        };
        assert_eq!(of("https://API.example.com:443/x"), ["KEY"]);
        for url in [
            "http://api.example.com/",
            "https://api.example.com:8443/",
            "https://api.example.com.evil.example/",
        ] {
            assert!(of(url).is_empty(), "{url}");
        }
        // The same address in a runner's network is another server.
        let mut through = document("a");
        through["via"] = json!("laptop");
        assert!(bound.for_tool(&read(&through).unwrap()).0.is_empty());
        assert!(!format!("{:?}", bound.for_tool(&read(&document("a")).unwrap())).contains("abcdefgh"));
    }

    #[test]
    fn of_two_layers_the_first_is_used_and_a_workspace_has_no_secrets() {
        let mut documents = Documents::default();
        let none = Bound::default();
        documents.add(&ExtensionLayer::Managed, MANAGED, &document("a"), &none, None);
        documents.add(&ExtensionLayer::User, OWN, &document("a"), &none, None);
        documents.add(&ExtensionLayer::User, OWN, &document("b"), &none, None);
        documents.add(&ExtensionLayer::Workspace, OF_WORKSPACE, &document("c"), &none, Some("w"));
        documents.add(&ExtensionLayer::Managed, MANAGED, &json!({"name": "d\u{202e}"}), &none, None);
        let states: Vec<&str> = documents.all.iter().map(|known| known.state.as_str()).collect();
        assert_eq!(states, ["ready", "shadowed", "ready"]);
        assert_eq!(documents.named("a").unwrap().layer, ExtensionLayer::Managed);
        assert!(documents.problems[0].text.contains("no secrets"), "{:?}", documents.problems);
        assert_eq!(documents.problems[0].origin, OF_WORKSPACE);
        assert!(!documents.problems[1].text.contains('\u{202e}'), "{:?}", documents.problems);
    }

    #[test]
    fn a_schema_hides_nothing_from_people_that_a_model_sees() {
        let with = |parameters: Value| {
            let mut document = document("a");
            document["parameters"] = parameters;
            read(&document)
        };
        assert!(with(json!({"b": {"enum": ["x\u{e0041}"]}})).unwrap_err().contains("invisible"));
        assert!(with(json!({"b": {"description": "x\u{e0041}"}})).is_ok(), "it is written out");
    }

    #[test]
    fn files_that_are_wrong_are_said() {
        for (text, words) in [
            ("{", "not valid JSON"),
            ("{\"tools\": [], \"tools\": []}", "twice"),
            ("5", "neither"),
            ("{}", "`tools`"),
            ("{\"tools\": [], \"x\": 1}", "\"x\""),
            ("{\"tools\": [], \"secrets\": {}}", "cannot contain secrets"),
        ] {
            let why = tools_of(text, false).err().unwrap_or_default();
            assert!(why.contains(words), "{text}: {why}");
        }
        assert!(tools_of("[]", false).is_ok() && tools_of("{\"tools\": [], \"secrets\": {}}", true).is_ok());
    }
}

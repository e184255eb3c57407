//! Listing, changing, importing, trying and approving HTTP tools.

use std::collections::{BTreeMap, BTreeSet};

use api::http_tools::{
    HttpToolDraft, HttpToolImport, HttpToolImported, HttpToolList, HttpToolSaved, HttpToolSecret,
    HttpToolTried, HttpToolView,
};
use api::problem::Problem;
use api::words::HttpToolState;
use futures_util::future::BoxFuture;
use hooks::strict;
use http_tools::limits::{MAX_SECRET_BYTES, MIN_SECRET_BYTES};
use http_tools::{HttpTool, openapi};
use sandbox::Sandbox;
use serde_json::{Map, Value};
use store::User;

use super::HttpTools;
use super::documents::{Bound, Documents, KIND, Known, own, read};
use crate::machine::of_place;
use crate::{Error, Result, approvals, trust};

impl HttpTools {
    /// The tools of a user at a place.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn list(&self, user: &User, on: Option<&str>) -> Result<HttpToolList> {
        let (documents, away) = self.found(user, on).await?;
        let mut problems = documents.problems;
        problems
            .extend(away.map(|away| Problem::new(format!("the workspace's tools are not known: {away}"))));
        let mut tools: Vec<HttpToolView> = documents.all.iter().map(view).collect();
        let is_unused = |view: &HttpToolView| view.state == HttpToolState::Shadowed;
        tools.sort_by(|one, two| (is_unused(one), &one.name).cmp(&(is_unused(two), &two.name)));
        Ok(HttpToolList { tools, problems })
    }

    /// Adds one of the user's own tools, or replaces it. Its secrets stay as long as its server does. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if the document is not valid; [`Error::Store`].
    pub async fn put(&self, user: &User, name: &str, draft: &HttpToolDraft) -> Result<HttpToolSaved> {
        let mut document =
            strict::parse(&draft.text).map_err(|error| unsaved(format!("it is not valid JSON: {error}")))?;
        if let (Some(via), Some(fields)) = (&draft.via, document.as_object_mut()) {
            fields.insert("via".to_owned(), Value::String(via.clone()));
        }
        let tool = self.checked(&document)?;
        if tool.name() != name {
            return Err(unsaved(format!("its document has the name {:?}, and not {name:?}", tool.name())));
        }
        self.save(user, &tool, &BTreeMap::new()).await
    }

    /// Removes one of the user's own tools, with its secrets. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is none; [`Error::Store`].
    pub async fn remove(&self, user: &User, name: &str) -> Result<()> {
        if !self.0.store.remove_http_tool(user.id, name).await? {
            return Err(not_own(name));
        }
        approvals::note(&self.0.store, user, "http_tool.remove", name, "").await;
        Ok(())
    }

    /// Sets a secret of one of the user's own tools, for its server alone; `None` removes it. Audited, without the value.
    ///
    /// # Errors
    /// [`Error::Refused`] if the tool does not use it, or the value cannot be a secret; [`Error::Store`].
    pub async fn set_secret(&self, user: &User, name: &str, secret: &str, value: Option<&str>) -> Result<()> {
        let tools = self.0.store.http_tools(user.id).await?;
        let Some(stored) = tools.into_iter().find(|tool| tool.name == name) else {
            return Err(not_own(name));
        };
        let (document, mut secrets) = own(&stored);
        let tool = read(&document).map_err(unsaved)?;
        let before = secrets.clone();
        match value {
            Some(value) => {
                check_secret(&tool, secret, value)?;
                secrets.0.insert(secret.to_owned(), (tool.bound_to(), value.to_owned()));
            }
            None => {
                secrets.0.remove(secret);
            }
        }
        if before.0 != secrets.0 {
            self.store(user, &tool, &secrets).await?;
        }
        let outcome = if value.is_some() { "set" } else { "removed" };
        approvals::note(&self.0.store, user, "http_tool.secret", &format!("{name} {secret}"), outcome).await;
        Ok(())
    }

    /// Adds the tools of an OpenAPI document, or only shows which tools these would be. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if the document is not valid, or lacks a tool that was asked for; [`Error::Store`].
    pub async fn import(&self, user: &User, import: &HttpToolImport) -> Result<HttpToolImported> {
        let failed =
            |why: String| Error::refused("invalid", format!("the document cannot be imported: {why}"));
        let imported = openapi::import(&import.text, import.server.as_deref());
        let openapi::Imported { mut tools, mut problems } =
            imported.map_err(|problem| failed(problem.to_string()))?;
        if let Some(via) = &import.via {
            for tool in &mut tools {
                let mut document = tool.document().clone();
                document["via"] = Value::String(via.clone());
                *tool = HttpTool::parse(&document).map_err(|problem| failed(problem.to_string()))?;
            }
        }
        let has = |name: &String| tools.iter().any(|tool| tool.name() == name);
        if let Some(unknown) = import.only.iter().find(|name| !has(name)) {
            let known: Vec<&str> = tools.iter().map(HttpTool::name).collect();
            return Err(failed(format!("it has no tool {unknown:?}; it has {}", known.join(", "))));
        }
        let is_wanted =
            |tool: &&HttpTool| import.only.is_empty() || import.only.iter().any(|name| name == tool.name());
        let tools: Vec<&HttpTool> = tools.iter().filter(is_wanted).collect();
        for (name, value) in &import.secrets {
            let Some(user) = tools.iter().find(|tool| tool.secrets().contains(name)) else {
                return Err(failed(format!("none of its tools uses the secret {name:?}")));
            };
            check_secret(user, name, value)?;
        }
        let (mut added, mut missing) = (Vec::new(), BTreeSet::new());
        for tool in tools {
            let saved = match self.checked(tool.document()) {
                Ok(tool) if import.dry_run => Ok(HttpToolSaved {
                    missing_secrets: tool
                        .secrets()
                        .iter()
                        .filter(|name| !import.secrets.contains_key(*name))
                        .cloned()
                        .collect(),
                    ..HttpToolSaved::default()
                }),
                Ok(tool) => self.save(user, &tool, &import.secrets).await,
                Err(error) => Err(error),
            };
            match saved {
                Ok(saved) => {
                    missing.extend(saved.missing_secrets);
                    added.push(tool.name().to_owned());
                }
                Err(Error::Refused { text, .. }) => {
                    problems.push(format!("{} is left out: {text}", tool.name()))
                }
                Err(error) => return Err(error),
            }
        }
        Ok(HttpToolImported { added, problems, missing_secrets: missing.into_iter().collect() })
    }

    /// Sends the request of a tool with these arguments, as a JSON object. Audited, without them.
    ///
    /// # Errors
    /// [`Error::Refused`] if the tool waits for approval, or the arguments cannot be sent; [`Error::Store`].
    pub async fn try_it(
        &self,
        user: &User,
        name: &str,
        arguments: &str,
        on: Option<&str>,
    ) -> Result<HttpToolTried> {
        let (documents, _) = self.found(user, on).await?;
        let Some(known) = documents.named(name) else {
            let why = format!("there is no HTTP tool {name:?} here; see `sandbridge http-tool list`");
            return Err(Error::refused("not_found", why));
        };
        if !known.is_ready() {
            return Err(Error::refused(
                "approval_required",
                format!(
                    "the HTTP tool {name:?} waits for your approval: look at it with `sandbridge http-tool approve {name}`, or under HTTP \
                     tools in the settings"
                ),
            ));
        }
        let wrong =
            |why: String| Error::refused("invalid", format!("the HTTP tool {name:?} was not called: {why}"));
        let arguments: Map<String, Value> = match arguments.trim() {
            "" => Map::new(),
            text => serde_json::from_str(text)
                .map_err(|error| wrong(format!("the arguments are not a JSON object: {error}")))?,
        };
        let shown = known.tool.render_shown(&arguments).map_err(|problem| wrong(problem.to_string()))?;
        let (answer, is_error) = match self.0.send(user, known, documents.mask(&known.tool), &arguments).await
        {
            Ok(told) => (told.text, told.is_error),
            Err(why) => (why, true),
        };
        approvals::note(&self.0.store, user, "http_tool.try", name, &known.tool.bound_to()).await;
        Ok(HttpToolTried {
            method: shown.method.to_owned(),
            url: shown.url,
            headers: shown.headers.into_iter().map(|(name, value)| format!("{name}: {value}")).collect(),
            body: shown.body,
            answer,
            is_error,
        })
    }

    /// Approves a waiting tool of a workspace. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if no tool with this hash waits; [`Error::Store`].
    pub async fn approve(&self, user: &User, hash: &str, on: Option<&str>) -> Result<()> {
        let (sandbox, _) = of_place(&self.0.ledger, user, on).await;
        let documents = self.0.documents(user.id, sandbox.as_ref()).await?;
        let is_it = |known: &&Known| known.state == HttpToolState::Waiting && known.hash == hash;
        let Some(known) = documents.all.iter().find(is_it) else {
            return Err(Error::refused(
                "not_found",
                "no HTTP tool with this hash waits for approval; it may have changed since you looked at it: see `sandbridge http-tool list`",
            ));
        };
        approvals::approve(&self.0.store, user, sandbox.as_ref(), &item(known).approval(KIND)).await
    }

    /// Revokes an approval. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if it was not approved; [`Error::Store`].
    pub async fn revoke(&self, user: &User, hash: &str) -> Result<()> {
        if !approvals::revoke(&self.0.store, user, KIND, hash).await? {
            return Err(Error::refused(
                "not_found",
                "you approved no HTTP tool with this hash; see `sandbridge http-tool list`",
            ));
        }
        Ok(())
    }

    /// The tools at a place, and the reason if its machine cannot be reached.
    async fn found(&self, user: &User, on: Option<&str>) -> Result<(Documents, Option<String>)> {
        let (sandbox, away) = of_place(&self.0.ledger, user, on).await;
        Ok((self.0.documents(user.id, sandbox.as_ref()).await?, away))
    }

    /// Reads a tool from its document, and checks that requests to its host are permitted.
    fn checked(&self, document: &Value) -> Result<HttpTool> {
        let tool = read(document).map_err(unsaved)?;
        let checked = match tool.via() {
            // The machine's runner decides which hosts it may reach.
            Some(_) => guard::check_text(tool.origin()).map(drop),
            None => self.0.requester.check(tool.origin()),
        };
        checked.map_err(|error| unsaved(error.to_string()))?;
        Ok(tool)
    }

    /// Stores a tool with the secrets that it keeps and with new ones. Audited.
    async fn save(
        &self,
        user: &User,
        tool: &HttpTool,
        new: &BTreeMap<String, String>,
    ) -> Result<HttpToolSaved> {
        let tools = self.0.store.http_tools(user.id).await?;
        let before = tools.iter().find(|stored| stored.name == tool.name()).map(|stored| own(stored).1);
        let before = before.unwrap_or_default();
        let kept = before.for_tool(tool).0.into_iter();
        let given = new.iter().filter(|(name, _)| tool.secrets().contains(*name));
        let given = given.map(|(name, value)| (name.clone(), value.clone()));
        let bound = kept.chain(given).map(|(name, value)| (name, (tool.bound_to(), value)));
        let secrets = Bound(bound.collect());
        self.store(user, tool, &secrets).await?;
        let action = format!("{} {}", tool.method(), tool.bound_to());
        approvals::note(&self.0.store, user, "http_tool.put", tool.name(), &action).await;
        let lacks = |secrets: &Bound, name: &String| !secrets.0.contains_key(name);
        Ok(HttpToolSaved {
            dropped_secrets: before.0.into_keys().filter(|name| lacks(&secrets, name)).collect(),
            missing_secrets: tool.secrets().iter().filter(|name| lacks(&secrets, name)).cloned().collect(),
        })
    }

    async fn store(&self, user: &User, tool: &HttpTool, secrets: &Bound) -> Result<()> {
        let stored = store::HttpTool {
            name: tool.name().to_owned(),
            document_json: tool.document().to_string(),
            secrets_json: (!secrets.0.is_empty()).then(|| secrets.to_json().to_string()),
        };
        Ok(self.0.store.put_http_tool(user.id, &stored).await?)
    }
}

impl trust::Source for HttpTools {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn items<'a>(
        &'a self,
        user: &'a User,
        sandbox: &'a Sandbox,
    ) -> BoxFuture<'a, store::Result<trust::Items>> {
        Box::pin(async move {
            let documents = self.0.documents(user.id, Some(sandbox)).await?;
            let of_workspace =
                |known: &&Known| known.needs_approval() && known.state != HttpToolState::Shadowed;
            let items = documents.all.iter().filter(of_workspace).map(item).collect();
            Ok(trust::Items { items, problems: Vec::new() })
        })
    }
}

/// A workspace's tool, as an item that needs approval.
fn item(known: &Known) -> trust::Item {
    let tool = &known.tool;
    trust::Item {
        name: tool.name().to_owned(),
        origin: known.origin.to_owned(),
        action: format!(
            "{} {}\n{}",
            tool.method(),
            tool.bound_to(),
            serde_json::to_string_pretty(tool.document()).unwrap_or_default()
        ),
        hash: known.hash.clone(),
        files: Vec::new(),
        unseen: Vec::new(),
        is_approved: known.state == HttpToolState::Ready,
        is_approvable: true,
    }
}

fn unsaved(why: impl std::fmt::Display) -> Error {
    Error::refused("invalid", format!("the tool was not saved: {why}"))
}

fn not_own(name: &str) -> Error {
    let why = format!("you have no HTTP tool {name:?} of your own; see `sandbridge http-tool list`");
    Error::refused("not_found", why)
}

fn check_secret(tool: &HttpTool, name: &str, value: &str) -> Result<()> {
    let refused =
        |why: String| Err(Error::refused("invalid", format!("the secret {name:?} was not saved: {why}")));
    if !tool.secrets().contains(name) {
        return refused(format!("the document of the HTTP tool {:?} has no placeholder for it", tool.name()));
    }
    if !(MIN_SECRET_BYTES..=MAX_SECRET_BYTES).contains(&value.len()) {
        return refused(format!("it must have {MIN_SECRET_BYTES} to {MAX_SECRET_BYTES} bytes"));
    }
    if value.chars().any(char::is_control) {
        return refused("it contains a line break or another control character".to_owned());
    }
    Ok(())
}

fn view(known: &Known) -> HttpToolView {
    let tool = &known.tool;
    let secret =
        |name: &String| HttpToolSecret { name: name.clone(), is_set: known.secrets.0.contains_key(name) };
    HttpToolView {
        name: tool.name().to_owned(),
        wire_name: tool.wire_name(),
        layer: known.layer.clone(),
        origin: known.origin.to_owned(),
        state: known.state.clone(),
        description: tool.description().to_owned(),
        method: tool.method().to_owned(),
        server: tool.origin().to_owned(),
        via: tool.via().map(str::to_owned),
        document: serde_json::to_string_pretty(tool.document()).unwrap_or_default(),
        secrets: tool.secrets().iter().map(secret).collect(),
        hash: known.hash.clone(),
    }
}

//! A custom tool, as models call it.

use std::sync::Arc;

use agent::approval::Access;
use agent::tool::look::{Ground, Looked, part};
use agent::tool::{Call, Failure, Live, Outcome, Rules, Tool, ToolContext, visible};
use futures_util::future::BoxFuture;
use sandbox::{AckMode, ExecRequest, Profile, Sandbox};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Inner;
use super::describe::{Description, complaint, end};
use super::find::Found;
use crate::limits::{CUSTOM_TOOL_LIVE_PIECES, CUSTOM_TOOL_RESULT_BYTES};
use crate::on_record::OnRecord;
use crate::to_the_end::{Ran, run};

/// A custom tool of a workspace.
pub(super) struct CustomTool {
    inner: Arc<Inner>,
    name: String,
    found: Arc<Found>,
    description: Arc<Description>,
}

impl CustomTool {
    pub(super) fn new(inner: &Arc<Inner>, found: Found, description: Arc<Description>) -> Self {
        let name = format!("custom__{}", found.name);
        Self { inner: Arc::clone(inner), name, found: Arc::new(found), description }
    }
}

impl Tool for CustomTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description.description
    }

    fn parameters(&self) -> Value {
        self.description.parameters.clone()
    }

    fn rules(&self) -> Rules {
        Rules::of(access(&self.description)).sees_cancel()
    }

    fn understand(&self, arguments: Map<String, Value>) -> Result<Box<dyn Call>, String> {
        let arguments = Value::Object(arguments).to_string();
        Ok(Box::new(CustomCall {
            inner: Arc::clone(&self.inner),
            found: Arc::clone(&self.found),
            description: Arc::clone(&self.description),
            arguments,
        }))
    }
}

/// A tool that only reads cannot change files, but it can still send what it reads to others.
fn access(description: &Description) -> Access {
    if description.only_reads { Access::Web } else { Access::External }
}

struct CustomCall {
    inner: Arc<Inner>,
    found: Arc<Found>,
    description: Arc<Description>,
    /// The call's arguments, as JSON.
    arguments: String,
}

impl Call for CustomCall {
    fn access(&self) -> Access {
        access(&self.description)
    }

    fn hint(&self) -> &str {
        &self.arguments
    }

    fn look<'a>(&'a self, ground: Option<&'a Ground>) -> BoxFuture<'a, Result<Looked, Failure>> {
        let path = visible::line(&self.found.path);
        let looked =
            Looked::words(format!("runs the custom tool {path}"), vec![part("arguments", &self.arguments)])
                .at(ground)
                .always(
                    &[&self.found.path, &self.found.hash],
                    format!("every call of the custom tool {path}, until it changes, in this chat"),
                );
        Box::pin(async { Ok(looked) })
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext<'_>,
        live: Live<'a>,
    ) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(async move {
            let sandbox = tokio::select! {
                sandbox = context.sandbox() => sandbox?,
                () = context.cancelled.cancelled() => return Ok(Outcome::failed("cancelled by the user")),
            };
            self.is_unchanged(&sandbox).await?;
            self.follow(context, sandbox, live).await
        })
    }
}

impl CustomCall {
    /// Fails if the file is not the one that was approved.
    async fn is_unchanged(&self, sandbox: &Sandbox) -> Result<(), Failure> {
        let path = &self.found.path;
        let found = sandbox.resolve(path.as_bytes()).await?;
        let now = found.and_then(|found| found.sha256).map(|content| store::hex(&content));
        if now.as_ref() == Some(&self.found.content) {
            return Ok(());
        }
        Err(Failure::Message(format!(
            "{path} has changed since its user approved it; the user can approve it again with `sandbridge trust`"
        )))
    }

    async fn follow(
        &self,
        context: &ToolContext<'_>,
        sandbox: Sandbox,
        live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let (inner, path) = (&self.inner, &self.found.path);
        let mut request = ExecRequest::argv([format!("./{path}")]);
        request.stdin = true;
        request.timeout = Some(self.description.patience);
        request.acks = AckMode::Manual;
        request.profile = (context.is_plan || self.description.only_reads).then_some(Profile::ReadOnly);
        let (root, place) = (context.agent()?.root, sandbox.place());
        let shown = format!("custom tool: {path}");
        let recorded =
            OnRecord::begin(&inner.ledger, context.user, Some(root), &request, place, path.clone(), shown);
        let recorded = recorded.await.map_err(|error| {
            tracing::error!(%error, "a custom tool could not be recorded");
            Failure::Message(error.shown())
        })?;
        let (pieces, mut said) = mpsc::channel::<Vec<u8>>(CUSTOM_TOOL_LIVE_PIECES);
        let given_up = CancellationToken::new();
        let mut task = {
            let (inner, input, given_up) = (Arc::clone(inner), self.arguments.clone(), given_up.clone());
            inner.clone().tasks.spawn(async move {
                let given_up = async {
                    tokio::select! {
                        () = given_up.cancelled() => {}
                        () = inner.stop.cancelled() => {}
                    }
                };
                // A person who watches may miss a piece of the output; the result contains all of it.
                let said = |bytes: &[u8]| drop(pieces.try_send(bytes.to_vec()));
                run(recorded, &sandbox, request, &input, CUSTOM_TOOL_RESULT_BYTES, given_up, said).await
            })
        };
        let _gives_up = given_up.clone().drop_guard();
        let ran = loop {
            tokio::select! {
                ran = &mut task => break ran,
                Some(bytes) = said.recv() => live(&String::from_utf8_lossy(&bytes)),
                () = context.cancelled.cancelled(), if !given_up.is_cancelled() => given_up.cancel(),
            }
        };
        Ok(match ran {
            Ok(ran) => self.outcome(ran, context.cancelled.is_cancelled()),
            Err(_) => Outcome::failed("the server failed to run the tool; its log says why"),
        })
    }

    fn outcome(&self, ran: Ran, is_cancelled: bool) -> Outcome {
        let (outcome, output) = match ran {
            Ran::Ended(outcome, output) => (outcome, output),
            Ran::GivenUp => return Outcome::failed("cancelled by the user"),
            Ran::Failed(why) => return Outcome::failed(&why),
        };
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.is_cut {
            text.push_str(&format!("\n… only the first {CUSTOM_TOOL_RESULT_BYTES} bytes are shown …"));
        }
        let why = match () {
            () if is_cancelled || outcome.cancelled => "cancelled by the user".to_owned(),
            () if outcome.timed_out => {
                format!("the tool did not end within {} s", self.description.patience.as_secs())
            }
            () if outcome.code == Some(0) && text.trim().is_empty() => {
                return Outcome::done("The tool printed nothing.");
            }
            () if outcome.code == Some(0) => return Outcome::done(text),
            () => format!("the tool {}", end(&outcome)),
        };
        let why = format!("{why}{}", complaint(&output));
        Outcome::failed(&if text.trim().is_empty() { why } else { format!("{text}\n\n{why}") })
    }
}

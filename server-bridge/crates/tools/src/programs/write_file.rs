//! `write_file`: writes a whole file.

use agent::approval::Access;
use agent::tool::{Failure, Live, Outcome, Rules, ToolContext, TypedTool};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sandbox::WriteOptions;
use schemars::JsonSchema;
use serde::Deserialize;
use store::AuditEntry;

use crate::{Services, Work, change};

/// The name of the action in the audit trail.
const AUDIT_ACTION: &str = "file.write";

/// The file and its content.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The file, relative to the workspace or absolute within it. Missing directories are created.
    path: String,
    /// The whole content, as text; or give content_base64.
    #[serde(default)]
    content: Option<String>,
    /// The whole content as base64, for any bytes; or give content.
    #[serde(default)]
    content_base64: Option<String>,
    /// The SHA-256 that the current content must have, in hexadecimal digits, as read_file shows it; nothing is written if it differs.
    #[serde(default)]
    if_match: Option<String>,
}

impl TypedTool for Arguments {
    type Services = Services;

    const NAME: &'static str = "write_file";
    const DESCRIPTION: &'static str = "Writes a file: the new content replaces the old once it is complete on disk, or not at all. \
        With if_match, only if the old content is still what was read.";
    const RULES: Rules = Rules::of(Access::Edit).for_programs();

    fn hint(&self) -> &str {
        &self.path
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        let content = self.content()?;
        let options = self.options(content.len() as u64)?;
        let (place, written) = match work.sandbox().await {
            Ok(sandbox) => {
                let write = async {
                    let mut writer = sandbox.write_file(self.path.as_bytes(), options).await?;
                    writer.write(&content).await?;
                    Ok(writer.finish().await?)
                };
                (Some(sandbox.place().to_owned()), write.await)
            }
            Err(failure) => {
                let on = work.program().and_then(|program| program.on);
                (services.execs.place_asked_for(work.user, on).await, Err(failure))
            }
        };
        let outcome = written.as_ref().map_or_else(Failure::kind, |_| "ok");
        self.leave_trace(work, place.clone(), outcome).await;
        let (bytes, place, hash) = (written?, place.unwrap_or_default(), change::hash(&content));
        Ok(Outcome::done(format!("wrote {bytes} bytes to {} on {place}; SHA-256 {hash}", self.path)))
    }
}

impl Arguments {
    fn content(&self) -> Result<Vec<u8>, Failure> {
        match (&self.content, &self.content_base64) {
            (Some(text), None) => Ok(text.as_bytes().to_vec()),
            (None, Some(encoded)) => STANDARD.decode(encoded).map_err(|_| {
                Failure::Message("content_base64 is not base64; nothing was written".to_owned())
            }),
            _ => Err(Failure::Message("give either content or content_base64".to_owned())),
        }
    }

    fn options(&self, size_bytes: u64) -> Result<WriteOptions, Failure> {
        let no_hash = || {
            let text = "if_match must be a SHA-256 in 64 hexadecimal digits; nothing was written";
            Failure::Message(text.to_owned())
        };
        let if_match =
            self.if_match.as_deref().map(|text| change::hash_of_hex(text).ok_or_else(no_hash)).transpose()?;
        Ok(WriteOptions { parents: true, size_bytes: Some(size_bytes), if_match, ..WriteOptions::default() })
    }

    async fn leave_trace(&self, work: &Work<'_>, location: Option<String>, outcome: &str) {
        let entry = AuditEntry {
            user: Some(work.user.name.clone()),
            action: AUDIT_ACTION.to_owned(),
            location,
            target: self.path.clone(),
            outcome: outcome.to_owned(),
        };
        // The write is done: a failure here is only logged.
        if let Err(error) = work.services.store.append_audit(&entry).await {
            tracing::error!(%error, "cannot write the audit trail");
        }
    }
}

//! `Cd`: the chat's directory.

use sandbox::FileKind;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Work;
use crate::{Ported, Services};
use agent::approval::Access;
use agent::tool::{Beside, Live, Rules, Subject, ToolContext, TypedTool};
use agent::tool::{Failure, Outcome, visible};

/// The new directory.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The directory, absolute or relative to the current one, which is the workspace at first.
    path: String,
}

impl TypedTool for Arguments {
    type Services = Services;

    const NAME: &'static str = "Cd";
    const DESCRIPTION: &'static str =
        "Changes the current directory: Shell commands start in it, and relative paths are resolved from it.";
    // Later calls begin in the new directory, so none runs at the same time.
    const RULES: Rules = Rules::of(Access::Read).beside(Beside::Nothing);

    fn hint(&self) -> &str {
        &self.path
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Reads(&self.path)
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        run(self, work).await
    }
}

async fn run(arguments: &Arguments, work: &Work<'_>) -> Result<Outcome, Failure> {
    let path = work.path(&arguments.path).await?;
    let found = work.sandbox().await?.stat(path.as_bytes()).await?;
    if found.kind != FileKind::Directory {
        return Err(Failure::Message(format!("{} is not a directory", visible::line(&path))));
    }
    work.services.store.set_chat_cwd(work.user.id, work.agent()?.chat, &path).await.ported()?;
    Ok(Outcome::done(format!("now in {}", visible::line(&path))))
}

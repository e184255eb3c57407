//! `Cd`: where the chat is.

use sandbox::FileKind;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Failure, Outcome, Workshop, visible};
use crate::approval::Access;
use crate::service::Home;
use crate::tool::{Beside, Live, Rules, ToolContext, TypedTool};

/// Where to.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The directory, relative to the current one or absolute; . is the workspace at first.
    path: String,
}

impl TypedTool for Arguments {
    type Services = Home;

    const NAME: &'static str = "Cd";
    const DESCRIPTION: &'static str =
        "Changes the current directory, which Shell commands begin in and relative paths are meant from.";
    // What comes behind it begins there.
    const RULES: Rules = Rules::of(Access::Read).beside(Beside::Nothing);

    fn hint(&self) -> &str {
        &self.path
    }

    async fn run(&self, home: &Home, context: &ToolContext<'_>, _live: Live<'_>) -> Result<Outcome, Failure> {
        let service = &home.service()?;
        let workshop = &Workshop { service, context };
        run(self, workshop).await
    }
}

async fn run(arguments: &Arguments, workshop: &Workshop<'_>) -> Result<Outcome, Failure> {
    let path = workshop.path(&arguments.path).await?;
    let found = workshop.sandbox().await?.stat(path.as_bytes()).await?;
    if found.kind != FileKind::Directory {
        return Err(Failure::Told(format!("{} is no directory", visible::line(&path))));
    }
    workshop.service.store.set_chat_cwd(workshop.user.id, workshop.chat, &path).await?;
    Ok(Outcome::done(format!("now in {}", visible::line(&path))))
}

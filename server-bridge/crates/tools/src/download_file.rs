//! `DownloadFile`: has the runner download a URL into a file.

use sandbox::DownloadRequest;
use schemars::JsonSchema;
use serde::Deserialize;
use store::Left;
use tokio::time::timeout;

use super::address::Address;
use super::{Failure, Outcome, Work, change, visible};
use crate::Services;
use crate::limits::{DOWNLOAD_BYTES, DOWNLOAD_PATIENCE};
use agent::approval::Access;
use agent::tool::look::{Ground, Looked, part, size};
use agent::tool::{Live, Rules, Subject, ToolContext, TypedTool};

/// The URL to download, and the file for it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The URL, with http or https.
    url: Address,
    /// The file to write, relative to the current directory or absolute; an existing file is replaced.
    path: String,
}

impl TypedTool for Arguments {
    type Services = Services;

    const NAME: &'static str = "DownloadFile";
    const DESCRIPTION: &'static str = "Has the machine download a file into the workspace, and creates missing parent \
directories. A redirect to another host is reported and not followed; ask for that address then. To read a page, use \
Fetch.";
    const RULES: Rules = Rules::of(Access::Download);

    fn hint(&self) -> &str {
        self.url.as_str()
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Download(self.url.as_str(), &self.path)
    }

    async fn look(&self, ground: Option<&Ground>) -> Result<Looked, Failure> {
        let Some(ground) = ground else { return Err(Failure::unreachable()) };
        let target = ground.target(&self.path).await?;
        let effect = match target.exists {
            true => format!("downloads over the existing file ({})", size(target.size_bytes)),
            false => "downloads into a new file".to_owned(),
        };
        let (machine, origin) = (ground.machine(), self.url.origin());
        let file = ground.absolute(&target.file.path);
        let words =
            format!("downloads from {origin} into {} on {machine}, in this chat", visible::line(&file));
        let looked = ground.file_change(target, effect, vec![part("address", self.url.as_str())]);
        Ok(looked.always(&[machine, &origin, &file], words))
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        let (path, present) = work.target(&self.path).await?;
        let request = DownloadRequest {
            url: self.url.as_str().to_owned(),
            path: path.clone().into_bytes(),
            mode: None,
            parents: true,
            max_bytes: DOWNLOAD_BYTES,
            sha256: None,
            present,
        };
        let sandbox = work.sandbox().await?;
        let late = |_| {
            Failure::Message(format!("the download did not finish within {} s", DOWNLOAD_PATIENCE.as_secs()))
        };
        let download = async {
            let bytes = timeout(DOWNLOAD_PATIENCE, sandbox.download(request)).await.map_err(late)?;
            Ok(bytes?)
        };
        let bytes = change::change(work, &sandbox, &path, Left::Unknown, download).await?;
        Ok(Outcome::done(format!("{} has {bytes} bytes now", visible::line(&path))))
    }
}

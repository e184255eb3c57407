//! Reads chains that are defined in a file of a workspace.

use std::fmt;

use api::chain::ChainFile;
use chains::check::{is_output, is_pattern};
use chains::limits::TEXT_MAX_BYTES;
use execs::{route_request, sandbox_user};
use store::User;
use tokio::time::timeout;

use crate::error::{Error, Result};
use crate::folder::below;
use crate::house::Inner;
use crate::limits::CHAIN_FILE_TIMEOUT;
use crate::obstacle::Obstacle;

impl Inner {
    /// Reads a text file in the workspace of one of the user's own agents. Other users' agents are refused, because an error quotes the text.
    ///
    /// # Errors
    /// [`Error::Refused`] if the agent is not the user's, its machine cannot be used, or the file is not text of at most [`TEXT_MAX_BYTES`].
    pub(crate) async fn chain_file(&self, user: &User, group: i64, file: &ChainFile) -> Result<String> {
        let ChainFile { agent, path } = file;
        let agent = self.agent_named(group, agent).await?;
        if agent.owner != user.id {
            let why =
                format!("only {} can read a chain from the workspace of @{}", agent.owner_name, agent.handle);
            return Err(Error::refused("forbidden", why));
        }
        if !is_output(path) || is_pattern(path) || path.ends_with('/') {
            let why =
                format!("`{path}` is not the path of a file in the workspace; write it like chains/story.md");
            return Err(Error::invalid(why));
        }
        let unread = |kind, why: &dyn fmt::Display| {
            Error::refused(kind, format!("the file {path} cannot be read: {why}"))
        };
        let request = route_request(&self.store, agent.owner, Some(&agent.runner)).await?;
        let reading = async {
            let sandbox = self.router.for_user(&sandbox_user(user), &request).await;
            let sandbox = sandbox.map_err(|error| unread(error.kind(), &Obstacle::from(error)))?;
            // One byte more than the limit is read, so that a file that is too large is noticed.
            let path = below(&agent.folder, path);
            let read = sandbox.read_beginning(path.as_bytes(), TEXT_MAX_BYTES as u64 + 1).await;
            read.map_err(|error| unread(error.kind(), &error))
        };
        let late =
            |_| Error::refused("unavailable", format!("the file {path} was not read in time; try again"));
        let content = timeout(CHAIN_FILE_TIMEOUT, reading).await.map_err(late)??;
        String::from_utf8(content).map_err(|_| Error::invalid(format!("the file {path} is not text")))
    }
}

//! Reads a server's lists, page by page.

use std::future::Future;
use std::time::Duration;

use rmcp::model::{
    GetPromptRequestParams, GetPromptResult, PaginatedRequestParams, Prompt, Resource, ResourceTemplate,
};
use rmcp::service::ServiceError;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::connection::Connection;
use super::listing::Definition;
use super::prompts::{self, ServerPrompt};
use crate::limits::{
    MCP_LIST_PATIENCE, MCP_PAGES, MCP_RESOURCES, MCP_RESOURCES_BYTES, MCP_TEMPLATES_PATIENCE, MCP_TOOLS,
    MCP_TOOLS_BYTES,
};

/// What a server lists of its resources.
#[derive(Debug, Default)]
pub(super) struct Resources {
    pub(super) resources: Vec<Resource>,
    pub(super) templates: Vec<ResourceTemplate>,
    /// True if it has more resources than these.
    pub(super) are_more: bool,
}

/// One page: its entries, and the cursor of the next page.
type Page<T> = Result<(Vec<T>, Option<String>), ServiceError>;

impl Connection {
    /// The server's tools and skills.
    ///
    /// Fails with the reason as text.
    pub(super) async fn tools(&self) -> Result<Vec<Definition>, String> {
        let Some(info) = self.service.peer_info() else { return Ok(Vec::new()) };
        let listed = async {
            let mut tools = Vec::new();
            if info.capabilities.tools.is_some() {
                let page = |page| async {
                    let listed = self.service.list_tools(Some(page)).await?;
                    Ok((listed.tools.iter().map(Definition::from).collect(), listed.next_cursor))
                };
                self.pages("tools", &mut tools, Definition::bytes, page).await?;
            }
            if info.capabilities.supports_skills() {
                let page = |page| async {
                    let listed = self.service.list_skills(Some(page)).await?;
                    Ok((listed.skills.into_iter().map(Definition::from).collect(), listed.next_cursor))
                };
                self.pages("skills", &mut tools, Definition::bytes, page).await?;
            }
            Ok(tools)
        };
        let late = || format!("it did not list its tools within {} s", MCP_LIST_PATIENCE.as_secs());
        timeout(MCP_LIST_PATIENCE, listed).await.map_err(|_| late())?
    }

    /// The server's prompts; empty if it has none, or does not list them.
    pub(super) async fn prompts(&self) -> Vec<ServerPrompt> {
        if self.service.peer_info().is_none_or(|info| info.capabilities.prompts.is_none()) {
            return Vec::new();
        }
        let mut prompts = Vec::new();
        let size = |prompt: &Prompt| serde_json::to_string(prompt).unwrap_or_default().len();
        let page = |page| async {
            let listed = self.service.list_prompts(Some(page)).await?;
            Ok((listed.prompts, listed.next_cursor))
        };
        // The server's tools are useful without its prompts.
        match timeout(MCP_LIST_PATIENCE, self.pages("prompts", &mut prompts, size, page)).await {
            Ok(Ok(())) => prompts::usable(prompts),
            Ok(Err(why)) => {
                tracing::debug!(why, "an MCP server did not list its prompts");
                Vec::new()
            }
            Err(_) => Vec::new(),
        }
    }

    /// Its resources, and the templates of their addresses, as many as one list shows.
    ///
    /// Fails with the reason in words.
    pub(super) async fn resources(&self, patience: Duration) -> Result<Resources, String> {
        let listed = async {
            let page = |page| async {
                let listed = self.service.list_resources(Some(page)).await?;
                Ok((listed.resources, listed.next_cursor))
            };
            let mut resources = Vec::new();
            let are_more = first_pages(&mut resources, page).await?;
            Ok((resources, are_more))
        };
        let (resources, are_more) = self.wait(listed, patience, None).await?;
        let page = |page| async {
            let listed = self.service.list_resource_templates(Some(page)).await?;
            Ok((listed.resource_templates, listed.next_cursor))
        };
        let mut templates = Vec::new();
        // A server without templates may refuse the request, or never answer it.
        let _ = timeout(MCP_TEMPLATES_PATIENCE, first_pages(&mut templates, page)).await;
        Ok(Resources { resources, templates, are_more })
    }

    /// Values that the server suggests for a variable of a template.
    ///
    /// Fails with the reason in words.
    pub(super) async fn values(
        &self,
        template: &str,
        variable: &str,
        begun: &str,
        patience: Duration,
    ) -> Result<Vec<String>, String> {
        if self.service.peer_info().is_none_or(|info| info.capabilities.completions.is_none()) {
            return Err("it suggests no values".to_owned());
        }
        let asked = self.service.complete_resource_argument(template, variable, begun, None);
        Ok(self.wait(asked, patience, None).await?.values)
    }

    /// A prompt with these arguments.
    ///
    /// Fails with the reason as text.
    pub(super) async fn prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        patience: Duration,
    ) -> Result<GetPromptResult, String> {
        let mut request = GetPromptRequestParams::new(name);
        request.arguments = Some(arguments);
        self.wait(self.service.get_prompt(request), patience, None).await
    }

    /// Values that the server suggests for an argument of a prompt.
    ///
    /// Fails with the reason as text.
    pub(super) async fn completions(
        &self,
        prompt: &str,
        argument: &str,
        begun: &str,
    ) -> Result<Vec<String>, String> {
        if self.service.peer_info().is_none_or(|info| info.capabilities.completions.is_none()) {
            return Ok(Vec::new());
        }
        let asked = self.service.complete_prompt_argument(prompt, argument, begun, None).await;
        asked.map(|found| found.values).map_err(|error| self.words(&error))
    }

    /// Adds the entries of all pages of a list.
    ///
    /// Fails with the reason as text if the list is too long or too large.
    async fn pages<T, F: Future<Output = Page<T>>>(
        &self,
        what: &str,
        found: &mut Vec<T>,
        size: impl Fn(&T) -> usize,
        page: impl Fn(PaginatedRequestParams) -> F,
    ) -> Result<(), String> {
        let mut bytes: usize = found.iter().map(&size).sum();
        let mut cursor = None;
        for _ in 0..MCP_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let (more, next) = page(params).await.map_err(|error| self.words(&error))?;
            bytes += more.iter().map(&size).sum::<usize>();
            found.extend(more);
            if bytes > MCP_TOOLS_BYTES {
                return Err(format!("the definitions of its {what} have more than {MCP_TOOLS_BYTES} bytes"));
            }
            if found.len() > MCP_TOOLS {
                return Err(format!("it lists more than {MCP_TOOLS} {what}"));
            }
            cursor = next;
            if cursor.is_none() {
                return Ok(());
            }
        }
        Err(format!("its list of {what} has more than {MCP_PAGES} pages"))
    }
}

/// Adds the entries of the pages of a list, up to the most that one list shows. Returns true if there are more.
///
/// Fails if a page cannot be read; the entries of the pages before it are added.
async fn first_pages<T: Serialize, F: Future<Output = Page<T>>>(
    found: &mut Vec<T>,
    page: impl Fn(PaginatedRequestParams) -> F,
) -> Result<bool, ServiceError> {
    let (mut bytes, mut cursor) = (0, None);
    for _ in 0..MCP_PAGES {
        let (more, next) = page(PaginatedRequestParams::default().with_cursor(cursor)).await?;
        for entry in more {
            bytes += serde_json::to_string(&entry).unwrap_or_default().len();
            if bytes > MCP_RESOURCES_BYTES || found.len() >= MCP_RESOURCES {
                return Ok(true);
            }
            found.push(entry);
        }
        cursor = next;
        if cursor.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

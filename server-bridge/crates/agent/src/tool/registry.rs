//! All tools of a server. A new tool needs a file with its arguments, and one line where it is added.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

use futures_util::future::{BoxFuture, join_all};
use records::{ChatId, User};

use super::{Tool, Toolbox};

/// A source of tools that depend on the user, such as those of their MCP servers.
pub trait ToolSource: Send + Sync {
    /// The tools for a turn of a user's chat. A tool of the server itself with the same name takes precedence.
    fn tools<'a>(&'a self, user: &'a User, chat: &'a ChatId) -> BoxFuture<'a, Vec<Arc<dyn Tool>>>;

    /// A reminder for the model of what changed since it used the tools; `None` if nothing did.
    fn news<'a>(&'a self, _user: &'a User, _chat: &'a ChatId) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }
}

/// The tools, in the order in which models see them, and the sources of more.
#[derive(Default)]
pub struct Registry {
    tools: RwLock<Toolbox>,
    sources: RwLock<Arc<[Arc<dyn ToolSource>]>>,
}

impl Registry {
    /// Adds a tool: it replaces a tool with the same name, or is added at the end. Turns in progress keep the tools they began with.
    pub fn put(&self, tool: impl Tool) {
        self.change(|tools| {
            let tool: Arc<dyn Tool> = Arc::new(tool);
            match tools.iter_mut().find(|known| known.name() == tool.name()) {
                Some(known) => *known = tool,
                None => tools.push(tool),
            }
        });
    }

    /// Adds a tool before all others.
    pub fn put_first(&self, tool: impl Tool) {
        self.change(|tools| {
            let tool: Arc<dyn Tool> = Arc::new(tool);
            tools.retain(|known| known.name() != tool.name());
            tools.insert(0, tool);
        });
    }

    /// Removes a tool; returns true if it existed.
    pub fn remove(&self, name: &str) -> bool {
        let mut was_there = false;
        self.change(|tools| {
            let before = tools.len();
            tools.retain(|known| known.name() != name);
            was_there = tools.len() < before;
        });
        was_there
    }

    /// Adds a source of tools.
    pub fn add_source(&self, source: impl ToolSource + 'static) {
        let mut sources = self.sources.write().unwrap_or_else(PoisonError::into_inner);
        *sources = sources.iter().cloned().chain([Arc::new(source) as Arc<dyn ToolSource>]).collect();
    }

    /// The current tools that all users have. Cheap; the snapshot never changes.
    pub fn snapshot(&self) -> Toolbox {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.tools.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The tools of [`Registry::snapshot`], followed by the tools of all sources for a turn of a user's chat.
    pub async fn snapshot_for(&self, user: &User, chat: &ChatId) -> Toolbox {
        let own = self.snapshot();
        let sources = Arc::clone(&self.sources.read().unwrap_or_else(PoisonError::into_inner));
        let found = join_all(sources.iter().map(|source| source.tools(user, chat))).await;
        let mut tools = own.to_vec();
        // A set, because sources may have thousands of tools.
        let mut named: HashSet<String> = tools.iter().map(|tool| tool.name().to_owned()).collect();
        tools.extend(found.into_iter().flatten().filter(|tool| named.insert(tool.name().to_owned())));
        tools.into()
    }

    /// A reminder of what changed since the model of a user's chat used the tools of all sources; `None` if nothing did.
    pub async fn news(&self, user: &User, chat: &ChatId) -> Option<String> {
        let sources = Arc::clone(&self.sources.read().unwrap_or_else(PoisonError::into_inner));
        let news = join_all(sources.iter().map(|source| source.news(user, chat))).await;
        let news: Vec<String> = news.into_iter().flatten().collect();
        (!news.is_empty()).then(|| news.join("\n\n"))
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<dyn Tool>>)) {
        let mut known = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        let mut tools = known.to_vec();
        change(&mut tools);
        *known = tools.into();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value};

    use super::*;
    use crate::approval::Access;
    use crate::tool::{Call, Rules};

    /// A tool with a name and no function.
    struct Named(&'static str, &'static str);

    impl Tool for Named {
        fn name(&self) -> &str {
            self.0
        }
        fn description(&self) -> &str {
            self.1
        }
        fn parameters(&self) -> Value {
            serde_json::json!({"type": "object", "properties": {}})
        }
        fn rules(&self) -> Rules {
            Rules::of(Access::Read)
        }
        fn understand(&self, _: Map<String, Value>) -> Result<Box<dyn Call>, String> {
            Err("it can do nothing".to_owned())
        }
    }

    #[test]
    fn a_turn_keeps_the_tools_that_it_began_with() {
        let registry = Registry::default();
        registry.put(Named("a", "first"));
        registry.put(Named("b", "second"));
        let begun = registry.snapshot();
        registry.put(Named("a", "another"));
        assert!(registry.remove("b") && !registry.remove("b"));
        registry.put(Named("c", "third"));
        registry.put_first(Named("d", "before"));
        let described = |tools: &Toolbox| -> Vec<String> {
            tools.catalogue().into_iter().map(|tool| format!("{} {}", tool.name, tool.description)).collect()
        };
        assert_eq!(described(&begun), ["a first", "b second"]);
        assert_eq!(
            described(&registry.snapshot()),
            ["d before", "a another", "c third"],
            "a replaced one keeps its place"
        );
    }
}

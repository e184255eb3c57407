//! All tools of a server. A new tool: a file with its arguments, and one line where it is added.

use std::sync::{Arc, PoisonError, RwLock};

use super::{Tool, Toolbox};

/// The tools, in the order in which models see them.
#[derive(Default)]
pub struct Registry(RwLock<Toolbox>);

impl Registry {
    /// Adds a tool: in place of one with the same name, otherwise at the end. Turns in progress keep the tools they began
    /// with.
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

    /// Removes a tool; returns true if it was there.
    pub fn remove(&self, name: &str) -> bool {
        let mut was_there = false;
        self.change(|tools| {
            let before = tools.len();
            tools.retain(|known| known.name() != name);
            was_there = tools.len() < before;
        });
        was_there
    }

    /// The current tools. Cheap, and the snapshot never changes.
    pub fn snapshot(&self) -> Toolbox {
        // Every change is one step, so a panic elsewhere leaves it whole.
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<dyn Tool>>)) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
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

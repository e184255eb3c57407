//! Handlers: the action of a hook, and the rules under which it runs.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::limits::{
    AGENT_PATIENCE, BACKGROUND_PATIENCE, EVENT_PATIENCE, HANDLER_PATIENCE, MAX_BACKGROUND_PATIENCE,
};

/// The variable for a plugin's directory.
pub const PLUGIN_ROOT: &str = "CLAUDE_PLUGIN_ROOT";
/// The variables for the workspace's root: ours, the peers', and xbot's.
pub const PROJECT_DIRS: [&str; 3] = ["SANDBRIDGE_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "XBOT_PROJECT_DIR"];

/// The action of a handler.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A command on the user's machine, which gets the payload on standard input.
    Command {
        /// A command line for a shell; or the program, if there are `args`.
        command: String,
        /// The program's arguments, if it runs without a shell.
        args: Option<Vec<String>>,
    },
    /// An HTTP request with the payload as its body.
    Http {
        /// The address. `${…}` may occur in its path and query.
        url: String,
        /// Additional headers, by name.
        headers: BTreeMap<String, String>,
        /// The variables that headers may name.
        allowed_variables: Vec<String>,
        /// The runner from whose network it is sent; the server itself if `None`.
        via: Option<String>,
    },
    /// A call of an MCP server's tool.
    McpTool {
        /// The server's name.
        server: String,
        /// The server's own name for the tool.
        tool: String,
        /// The arguments, with `${…}` for values of the payload.
        input: Map<String, Value>,
    },
    /// A function of the server, by the name under which it was registered.
    Callback {
        /// The name of the function.
        name: String,
        /// Its arguments, with `${…}` for values of the payload.
        input: Map<String, Value>,
    },
    /// A question to a model.
    Prompt {
        /// The question; `$ARGUMENTS` is replaced with the payload.
        prompt: String,
        /// The tier of the model; `swift` if none is given.
        model: Option<String>,
    },
    /// A task for an agent with tools.
    Agent {
        /// The task; `$ARGUMENTS` is replaced with the payload.
        prompt: String,
        /// The tier of the model: `vanguard`, `balance`, or else `swift`.
        model: Option<String>,
    },
}

/// The consequence of a handler's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// The action continues as if the handler did not exist. This does not allow it: the user is asked as usual.
    Allow,
    /// The action is denied.
    Deny,
    /// The user is asked.
    Ask,
}

impl OnFailure {
    /// The value in documents.
    pub fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Ask => "ask",
        }
    }
}

/// A handler as its document defines it.
#[derive(Clone, Debug, PartialEq)]
pub struct Handler {
    /// The action that it performs.
    pub action: Action,
    /// The handler's time limit, if it names one.
    pub timeout: Option<Duration>,
    /// True if it runs in the background, where its result cannot decide anything.
    pub is_async: bool,
    /// The handler's time limit in the background, if it names one.
    pub async_timeout: Option<Duration>,
    /// True if it runs only once in a session.
    pub once: bool,
    /// The condition under which it runs.
    pub condition: Option<String>,
    /// The consequence of its failure, if it names one.
    pub on_failure: Option<OnFailure>,
}

impl Handler {
    /// A handler with an action and nothing else.
    pub fn new(action: Action) -> Self {
        Self {
            action,
            timeout: None,
            is_async: false,
            async_timeout: None,
            once: false,
            condition: None,
            on_failure: None,
        }
    }

    /// The handler's time limit, before the limit of its event is considered.
    pub fn patience(&self) -> Duration {
        if self.is_async {
            let asked = self.async_timeout.or(self.timeout).unwrap_or(BACKGROUND_PATIENCE);
            return asked.min(MAX_BACKGROUND_PATIENCE);
        }
        let default =
            if matches!(self.action, Action::Agent { .. }) { AGENT_PATIENCE } else { HANDLER_PATIENCE };
        self.timeout.unwrap_or(default).min(EVENT_PATIENCE)
    }

    /// The kind's name in files.
    pub fn kind(&self) -> &'static str {
        match self.action {
            Action::Command { .. } => "command",
            Action::Http { .. } => "http",
            Action::McpTool { .. } => "mcp_tool",
            Action::Callback { .. } => "callback",
            Action::Prompt { .. } => "prompt",
            Action::Agent { .. } => "agent",
        }
    }

    /// A short description for people: the command, the address, the tool.
    pub fn describe(&self) -> String {
        match &self.action {
            Action::Command { command, args: None } => command.clone(),
            Action::Command { command, args: Some(args) } => {
                args.iter().fold(command.clone(), |line, word| format!("{line} {word}"))
            }
            Action::Http { url, via: None, .. } => url.clone(),
            Action::Http { url, via: Some(via), .. } => format!("{url} via {via}"),
            Action::McpTool { server, tool, input } => {
                format!("mcp__{server}__{tool} {}", Value::Object(input.clone()))
            }
            Action::Callback { name, input } if input.is_empty() => name.clone(),
            Action::Callback { name, input } => format!("{name} {}", Value::Object(input.clone())),
            Action::Prompt { prompt, .. } | Action::Agent { prompt, .. } => prompt.clone(),
        }
    }

    /// Everything that determines what runs and when, as input for a hash.
    pub(crate) fn canonical(&self) -> Value {
        let action = match &self.action {
            Action::Command { command, args } => json!({"command": command, "args": args}),
            Action::Http { url, headers, allowed_variables, via } => {
                let mut action = json!({"url": url, "headers": headers, "allowedEnvVars": allowed_variables});
                // Absent if it is not used, so that older approvals hold.
                if let Some(via) = via {
                    action["via"] = json!(via);
                }
                action
            }
            Action::McpTool { server, tool, input } => {
                json!({"server": server, "tool": tool, "input": input})
            }
            Action::Callback { name, input } => json!({"name": name, "input": input}),
            Action::Prompt { prompt, model } | Action::Agent { prompt, model } => {
                json!({"prompt": prompt, "model": model})
            }
        };
        json!({
            "type": self.kind(),
            "action": action,
            "timeout_ms": self.timeout.map(ms),
            "async": self.is_async,
            "async_timeout_ms": self.async_timeout.map(ms),
            "once": self.once,
            "if": self.condition,
            "onFailure": self.on_failure.map(OnFailure::word),
        })
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

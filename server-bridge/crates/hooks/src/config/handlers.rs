//! The handlers of a group.

use serde_json::Value;

use super::fields::Fields;
use super::{Reader, Severity, quoted};
use crate::event::Event;
use crate::handler::{Action, Handler, OnFailure};
use crate::interpolate::check_url;
use crate::limits::{EVENT_PATIENCE, MAX_BACKGROUND_PATIENCE, PATTERN_BYTES};

/// The fields that handlers of every kind may have.
const COMMON: &[&str] =
    &["type", "timeout", "async", "asyncTimeout", "once", "if", "onFailure", "statusMessage", "description"];

impl Reader {
    /// Reads a handler; a handler that cannot be used is reported.
    pub(super) fn handler(&mut self, event: Event, place: &str, value: &Value) -> Option<Handler> {
        let Value::Object(fields) = value else {
            self.problem(Severity::Refused, place, Some(event), "a hook must be an object".to_owned());
            return None;
        };
        let fields = Fields(fields);
        let kind = match fields.required("type") {
            Ok(kind) => kind,
            Err(text) => {
                self.problem(Severity::Refused, place, Some(event), text);
                return None;
            }
        };
        let own: &[&str] = match kind.as_str() {
            "command" => &["command", "args", "shell"],
            "http" => &["url", "headers", "allowedEnvVars", "allowed_env_vars", "via"],
            "mcp_tool" => &["server", "tool", "input"],
            "prompt" | "agent" => &["prompt", "model"],
            "callback" => &["name", "input"],
            _ => {
                let text = format!("{} is not a known kind of hook: it is not used", quoted(&kind));
                self.problem(Severity::Warning, place, Some(event), text);
                return None;
            }
        };
        for name in
            fields.0.keys().filter(|name| !own.contains(&name.as_str()) && !COMMON.contains(&name.as_str()))
        {
            let text = format!("{} is not a known field of a {kind} hook", quoted(name));
            self.problem(Severity::Warning, &format!("{place}.{name}"), Some(event), text);
        }
        match action(&kind, &fields).and_then(|action| rules(action, &fields)) {
            Ok(handler) => {
                self.remarks(event, place, &handler);
                Some(handler)
            }
            Err(text) => {
                self.problem(Severity::Refused, place, Some(event), text);
                None
            }
        }
    }

    /// Warns about behaviour that a handler's author may not expect.
    fn remarks(&mut self, event: Event, place: &str, handler: &Handler) {
        let mut warn = |field: &str, text: String| {
            self.problem(Severity::Warning, &format!("{place}.{field}"), Some(event), text);
        };
        let most = if handler.is_async { MAX_BACKGROUND_PATIENCE } else { EVENT_PATIENCE };
        for (field, asked) in [("timeout", handler.timeout), ("asyncTimeout", handler.async_timeout)] {
            if asked.is_some_and(|asked| asked > most) {
                warn(field, format!("it may take {} s at most", most.as_secs()));
            }
        }
        if handler.condition.is_some() && !event.is_of_tool() {
            warn("if", "conditions are for events of one call: this hook never runs".to_owned());
        }
        if handler.on_failure.is_some() && (handler.is_async || !event.fails_closed()) {
            warn("onFailure", "a failure decides nothing here".to_owned());
        }
        if handler.is_async && event.may_block() {
            warn("async", "a hook in the background cannot block".to_owned());
        }
    }
}

fn action(kind: &str, fields: &Fields<'_>) -> Result<Action, String> {
    Ok(match kind {
        "command" => {
            if let Some(shell) = fields.text("shell")?.filter(|shell| shell != "bash" && shell != "sh") {
                return Err(format!("the shell {} is not supported", quoted(&shell)));
            }
            Action::Command { command: fields.required("command")?, args: fields.texts("args")? }
        }
        "http" => {
            let url = fields.required("url")?;
            check_url(&url)?;
            let headers = fields.pairs("headers")?;
            if let Some(name) = headers.keys().find(|name| !is_header(name)) {
                return Err(format!("{} is not a valid name of a header", quoted(name)));
            }
            if let Some((name, _)) = headers.iter().find(|(_, value)| value.contains(['\r', '\n'])) {
                return Err(format!("the header {name} has more than one line"));
            }
            let mut allowed_variables = fields.texts("allowedEnvVars")?.unwrap_or_default();
            allowed_variables.extend(fields.texts("allowed_env_vars")?.unwrap_or_default());
            let via = fields.text("via")?.filter(|via| !via.is_empty());
            if via.as_ref().is_some_and(|via| !http_tools::is_place(via)) {
                return Err(http_tools::PLACE_RULE.to_owned());
            }
            Action::Http { url, headers, allowed_variables, via }
        }
        "mcp_tool" => Action::McpTool {
            server: fields.required("server")?,
            tool: fields.required("tool")?,
            input: fields.object("input")?,
        },
        "callback" => Action::Callback { name: fields.required("name")?, input: fields.object("input")? },
        "prompt" => Action::Prompt { prompt: fields.required("prompt")?, model: fields.text("model")? },
        _ => Action::Agent { prompt: fields.required("prompt")?, model: fields.text("model")? },
    })
}

fn rules(action: Action, fields: &Fields<'_>) -> Result<Handler, String> {
    let condition = fields.text("if")?.filter(|condition| !condition.trim().is_empty());
    if condition.as_ref().is_some_and(|condition| condition.len() > PATTERN_BYTES) {
        return Err(format!("`if` is longer than {PATTERN_BYTES} bytes"));
    }
    let on_failure = match fields.text("onFailure")?.as_deref() {
        None => None,
        Some("allow") => Some(OnFailure::Allow),
        Some("deny") => Some(OnFailure::Deny),
        Some("ask") => Some(OnFailure::Ask),
        Some(other) => return Err(format!("onFailure is {}; it must be allow, deny or ask", quoted(other))),
    };
    Ok(Handler {
        timeout: fields.seconds("timeout")?,
        is_async: fields.flag("async")?,
        async_timeout: fields.seconds("asyncTimeout")?,
        once: fields.flag("once")?,
        condition,
        on_failure,
        ..Handler::new(action)
    })
}

fn is_header(name: &str) -> bool {
    let is_token = |letter: char| letter.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(letter);
    !name.is_empty() && name.chars().all(is_token)
}

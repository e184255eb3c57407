//! Parses a rule's text.

use super::{Effect, Origin, Rule, RuleError, ShellPattern, Specifier, Target, Warning};
use crate::limits::RULE_BYTES;
use crate::names;
use crate::paths::PathPattern;
use crate::shell::{is_unseen, runs_others};
use crate::wild::Wild;

impl Rule {
    /// Reads a rule: a tool, a tool with a specifier in parentheses, or `*`.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(RuleError::Empty);
        }
        if text.len() > RULE_BYTES {
            return Err(RuleError::TooLong);
        }
        if let Some(unseen) = text.chars().find(|c| *c != '\n' && is_unseen(*c)) {
            return Err(RuleError::Unseen(unseen));
        }
        let (name, specifier) = match text.split_once('(') {
            None => (text, None),
            Some((name, rest)) => {
                (name.trim_end(), Some(rest.strip_suffix(')').ok_or(RuleError::Parentheses)?.trim()))
            }
        };
        let target = target(name)?;
        let specifier = match (specifier, &target) {
            // The tool's name already identifies the HTTP tool.
            (None, Target::Tool(_)) if name.starts_with(names::HTTP_PREFIX) => {
                match name.trim_start_matches(names::HTTP_PREFIX) {
                    "" => return Err(RuleError::ToolName(name.to_owned())),
                    "*" => Specifier::All,
                    tool => Specifier::Name(Wild::stars(tool)),
                }
            }
            (Some(_), Target::Tool(_)) if name.starts_with(names::HTTP_PREFIX) => {
                return Err(RuleError::NoSpecifier(name.to_owned()));
            }
            (None, _) => Specifier::All,
            (Some(""), _) => return Err(RuleError::EmptySpecifier(name.to_owned())),
            (Some("*"), _) => Specifier::All,
            (Some(text), Target::Tool(tool)) => read_specifier(name, tool, text)?,
            (Some(_), _) => return Err(RuleError::NoSpecifier(name.to_owned())),
        };
        Ok(Self { text: text.to_owned(), target, specifier })
    }

    /// The reason why the rule cannot have this effect.
    pub fn refusal(&self, effect: Effect) -> Option<RuleError> {
        let Target::Mcp { server, whole, .. } = &self.target else { return None };
        if effect != Effect::Allow {
            return None;
        }
        let is_open = |server: &Wild| server.literal().is_none();
        match server {
            Some(server) => is_open(server).then_some(RuleError::AnyServer),
            None => {
                // `mcp_server_tool` has one reading only if neither name has an underscore.
                let parts = whole.head().trim_start_matches("mcp_").split('_').count();
                let is_plain = whole.literal().is_some() && parts == 2;
                (!is_plain).then(|| RuleError::AmbiguousServer(self.text.clone()))
            }
        }
    }

    /// Warnings about the rule with this effect and this origin; `tools` are the names of known tools in addition to ours.
    pub fn warnings(&self, effect: Effect, origin: Origin, tools: &[&str]) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if let Target::Tool(name) = &self.target
            && !names::is_known(name)
            && !tools.contains(&name.as_str())
        {
            warnings.push(Warning::UnknownTool { name: name.clone(), nearest: names::nearest(name) });
        }
        if let Specifier::Shell(pattern) = &self.specifier
            && let Some(name) = pattern.literal_name(effect == Effect::Allow)
        {
            warnings.push(Warning::LiteralName(name.to_owned()));
        }
        if effect != Effect::Allow {
            return warnings;
        }
        if origin == Origin::Workspace {
            warnings.push(Warning::WorkspaceAllows);
        }
        if self.target == Target::Everything {
            warnings.push(Warning::AllowsEverything);
        }
        if let Specifier::Shell(pattern) = &self.specifier
            && let Some(name) = pattern.leaves_open()
        {
            if runs_others(name) {
                warnings.push(Warning::AllowsWrapper(name.to_owned()));
            } else if runs_by_options(name) {
                warnings.push(Warning::AllowsOptions(name.to_owned()));
            }
        }
        warnings
    }
}

/// True for a command that can be made to run any other command, by its options, its own language or a file.
fn runs_by_options(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "awk", "gawk", "git", "make", "mawk", "node", "npm", "npx", "perl", "php", "rsync", "ruby", "sed",
        "sort", "tar",
    ];
    NAMES.contains(&name) || name.starts_with("python")
}

fn target(name: &str) -> Result<Target, RuleError> {
    if name == "*" {
        return Ok(Target::Everything);
    }
    let is_mcp = name.starts_with("mcp_") && !names::is_known(name);
    let has_stars = is_mcp || name.starts_with(names::HTTP_PREFIX);
    let is_letter = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.') || (has_stars && c == '*');
    if name.is_empty() || !name.chars().all(is_letter) {
        return Err(RuleError::ToolName(name.to_owned()));
    }
    if !is_mcp {
        return Ok(Target::Tool(names::ours(name).to_owned()));
    }
    // Models call tools by names in which other characters are replaced: a rule with the original characters means the same
    // tool.
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*') { c } else { '_' };
    let name = &name.chars().map(plain).collect::<String>();
    let whole = Wild::stars(name);
    let Some(rest) = name.strip_prefix("mcp__") else {
        let is_named = name.len() > "mcp_".len();
        return is_named
            .then_some(Target::Mcp { server: None, tool: None, whole })
            .ok_or(RuleError::NoServer);
    };
    let (server, tool) = rest.split_once("__").map_or((rest, None), |(server, tool)| (server, Some(tool)));
    if server.is_empty() {
        return Err(RuleError::NoServer);
    }
    let tool = tool.filter(|tool| !tool.is_empty() && *tool != "*");
    Ok(Target::Mcp { server: Some(Wild::stars(server)), tool: tool.map(Wild::stars), whole })
}

fn read_specifier(name: &str, tool: &str, text: &str) -> Result<Specifier, RuleError> {
    match tool {
        "Shell" => ShellPattern::parse(text)
            .map(|pattern| if pattern.is_everything() { Specifier::All } else { Specifier::Shell(pattern) }),
        "Fetch" => domain(text),
        "DownloadFile" if text.starts_with("domain:") => domain(text),
        "FileCreate" | "FileReplace" | "Read" | "Glob" | "Grep" | "DownloadFile" | "Cd" => {
            if text.starts_with('!') {
                return Err(RuleError::Negated);
            }
            Ok(Specifier::Path(PathPattern::parse(text)?))
        }
        "SubAgent" | "Skill" | names::HTTP => Ok(Specifier::Name(Wild::stars(text))),
        _ => Err(RuleError::NoSpecifier(name.to_owned())),
    }
}

/// A host in the form that rules compare: in lower case, without a dot at its end, and an IPv6 address without brackets in its
/// short form.
pub(crate) fn plain_host(host: &str) -> String {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let inside = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(&host);
    match inside.parse::<std::net::Ipv6Addr>() {
        Ok(address) => address.to_string(),
        Err(_) => host,
    }
}

fn domain(text: &str) -> Result<Specifier, RuleError> {
    let refused = || RuleError::Domain(text.to_owned());
    let host = text.strip_prefix("domain:").ok_or_else(refused)?.trim();
    if host == "*" {
        return Ok(Specifier::All);
    }
    let (host, is_below) = host.strip_prefix("*.").map_or((host, false), |host| (host, true));
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let host = if is_below { host } else { plain_host(&host) };
    let is_address = host.parse::<std::net::Ipv6Addr>().is_ok();
    if is_address || host.split('.').all(is_label) {
        Ok(Specifier::Domain(host, is_below))
    } else {
        Err(refused())
    }
}

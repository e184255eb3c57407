//! The rules of one effect, indexed by what a call acts on.
//!
//! Rules are looked up by the literal beginning of what they match: the command's name, the folder, the host, the server. Only
//! the few with the same beginning are compared with a call.

use std::collections::HashMap;

use crate::paths::{Anchor, Hint, PathPattern};
use crate::rule::{Rule, ShellPattern, Specifier, Target};
use crate::shell::GAP;
use crate::wild::Wild;

/// The number of a rule in its set.
pub(crate) type Number = u32;

/// The rules of one effect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    /// The rules about everything, `*`.
    everything: Vec<Number>,
    tools: HashMap<String, ToolIndex>,
    servers: HashMap<String, Vec<Number>>,
    /// Rules about MCP tools that do not spell out their server.
    open_servers: Vec<Number>,
}

/// The rules about one tool.
#[derive(Clone, Debug, Default)]
struct ToolIndex {
    /// Rules without a specifier.
    all: Vec<Number>,
    commands: HashMap<String, Vec<Number>>,
    /// Patterns that spell out the command's name and the word after it, by both.
    subcommands: HashMap<String, Vec<Number>>,
    /// The patterns of `subcommands`, by the command's name alone, for a command whose next word is unknown.
    by_name: HashMap<String, Vec<Number>>,
    /// Patterns that do not spell out the command's name, by their first character.
    open_commands: HashMap<char, Vec<Number>>,
    /// Patterns that begin with a wildcard, by their last character.
    open_ends: HashMap<Option<char>, Vec<Number>>,
    /// Patterns of paths, by the folder at which they begin and the names that they spell out.
    paths: HashMap<Anchor, HashMap<String, Folder>>,
    /// Patterns of names at any depth with a wildcard, by their last character.
    open_names: HashMap<Option<char>, Vec<Number>>,
    domains: HashMap<String, Vec<Number>>,
    named: HashMap<String, Vec<Number>>,
    open_named: Vec<Number>,
}

/// Patterns of paths that spell out the same names, by what is known about the names after them.
#[derive(Clone, Debug, Default)]
struct Folder {
    all: Vec<Number>,
    by_end: HashMap<char, Vec<Number>>,
    by_name: HashMap<String, Vec<Number>>,
}

impl Index {
    /// Adds a rule.
    pub(crate) fn insert(&mut self, number: Number, rule: &Rule) {
        match &rule.target {
            Target::Everything => self.everything.push(number),
            Target::Mcp { server, .. } => match server.as_ref().and_then(Wild::literal) {
                Some(server) => self.servers.entry(server.to_owned()).or_default().push(number),
                None => self.open_servers.push(number),
            },
            Target::Tool(name) => {
                self.tools.entry(name.clone()).or_default().insert(number, &rule.specifier);
            }
        }
    }

    /// The rules about all calls, and the rules about all calls of a tool.
    pub(crate) fn whole_tool(&self, tool: &str) -> Vec<Number> {
        let all = self.tools.get(tool).map(|index| index.all.as_slice()).unwrap_or_default();
        [&self.everything, all].concat()
    }

    /// True if a rule applies to everything, or to one of these tools.
    pub(crate) fn has_any(&self, tools: &[&str]) -> bool {
        !self.everything.is_empty() || tools.iter().any(|tool| self.tools.contains_key(*tool))
    }

    /// The patterns that may match a command.
    pub(crate) fn commands(&self, text: &str) -> Vec<Number> {
        let mut found = self.raw_commands(text);
        let Some(index) = self.tools.get("Shell") else { return found };
        let last = text.chars().next_back().map(Some);
        let ends = [last, Some(None)].into_iter().flatten();
        found.extend(ends.filter_map(|end| index.open_ends.get(&end)).flatten());
        found
    }

    /// The patterns of commands that begin with a wildcard.
    pub(crate) fn open_ended(&self) -> Vec<Number> {
        let index = self.tools.get("Shell");
        index.into_iter().flat_map(|index| index.open_ends.values()).flatten().copied().collect()
    }

    /// The patterns that spell out their beginning, and may match the beginning of a text.
    pub(crate) fn raw_commands(&self, text: &str) -> Vec<Number> {
        let Some(index) = self.tools.get("Shell") else { return Vec::new() };
        let mut gaps = text.match_indices(GAP).map(|(at, _)| &text[..at]).chain(std::iter::once(text));
        let named = gaps.next().and_then(|name| index.commands.get(name));
        let with_next = gaps.next().and_then(|names| index.subcommands.get(names));
        let first = text.chars().next().and_then(|first| index.open_commands.get(&first));
        [named, with_next, first].into_iter().flatten().flatten().copied().collect()
    }

    /// The patterns that may match a command which begins with this text, and whose other words are unknown.
    pub(crate) fn open_commands(&self, head: &str) -> Vec<Number> {
        let Some(index) = self.tools.get("Shell") else { return Vec::new() };
        let mut gaps = head.match_indices(GAP).map(|(at, _)| &head[..at]);
        let name = gaps.next().unwrap_or(head);
        let named = [
            index.commands.get(name),
            match gaps.next() {
                Some(names) => index.subcommands.get(names),
                None => index.by_name.get(name),
            },
        ];
        let first = head.chars().next().and_then(|first| index.open_commands.get(&first));
        let ends = index.open_ends.values();
        named.into_iter().flatten().chain(first).chain(ends).flatten().copied().collect()
    }

    /// The patterns of a tool that may match a path, given as the names that lead to it.
    pub(crate) fn paths(&self, tool: &str, anchor: Anchor, names: &[&str]) -> Vec<Number> {
        let Some(index) = self.tools.get(tool) else { return Vec::new() };
        let mut found = Vec::new();
        let spelled = index.paths.get(&anchor);
        if anchor == Anchor::Anywhere {
            for name in names {
                found.extend(
                    spelled.and_then(|spelled| spelled.get(*name)).into_iter().flat_map(|it| &it.all),
                );
                let last = name.chars().next_back();
                found.extend(last.and_then(|last| index.open_names.get(&Some(last))).into_iter().flatten());
            }
            found.extend(index.open_names.get(&None).into_iter().flatten());
        } else if let Some(spelled) = spelled {
            let mut path = String::new();
            for depth in 0..=names.len() {
                if let Some(folder) = spelled.get(&path) {
                    folder.find(&names[depth..], &mut found);
                }
                if depth > 0 {
                    path.push('/');
                }
                path.push_str(names.get(depth).unwrap_or(&""));
            }
        }
        found
    }

    /// The rules of a tool about a host, or about a domain that contains it; hosts are lower-case.
    pub(crate) fn domains(&self, tool: &str, host: &str) -> Vec<Number> {
        let Some(index) = self.tools.get(tool) else { return Vec::new() };
        let parents = host.match_indices('.').map(|(at, _)| &host[at + 1..]);
        let keys = std::iter::once(host).chain(parents);
        keys.filter_map(|key| index.domains.get(key)).flatten().copied().collect()
    }

    /// The rules of a tool that may match a named thing.
    pub(crate) fn named(&self, tool: &str, name: &str) -> Vec<Number> {
        let Some(index) = self.tools.get(tool) else { return Vec::new() };
        index.named.get(name).into_iter().flatten().chain(&index.open_named).copied().collect()
    }

    /// The rules that may match a tool of an MCP server.
    pub(crate) fn mcp(&self, server: &str) -> impl Iterator<Item = Number> {
        // A name with two underscores can be split in several places.
        let cuts = server.match_indices("__").map(|(at, _)| &server[..at]);
        let found: Vec<_> =
            std::iter::once(server).chain(cuts).filter_map(|key| self.servers.get(key)).collect();
        found.into_iter().flatten().chain(&self.open_servers).copied()
    }
}

impl ToolIndex {
    fn insert(&mut self, number: Number, specifier: &Specifier) {
        let numbers = match specifier {
            Specifier::All => &mut self.all,
            Specifier::Shell(pattern) => {
                if let Some(name) = pattern.command().filter(|_| pattern.subcommand().is_some()) {
                    self.by_name.entry(name.to_owned()).or_default().push(number);
                }
                self.command(pattern)
            }
            Specifier::Path(pattern) => self.path(pattern),
            Specifier::Domain(host, _) => self.domains.entry(host.clone()).or_default(),
            Specifier::Name(wild) => match wild.literal() {
                Some(name) => self.named.entry(name.to_owned()).or_default(),
                None => &mut self.open_named,
            },
        };
        numbers.push(number);
    }

    fn command(&mut self, pattern: &ShellPattern) -> &mut Vec<Number> {
        match pattern.command() {
            Some(_) if pattern.subcommand().is_some() => {
                let names = pattern.subcommand().unwrap_or_default();
                self.subcommands.entry(names.to_owned()).or_default()
            }
            Some(name) => self.commands.entry(name.to_owned()).or_default(),
            None => match pattern.head().chars().next() {
                Some(first) => self.open_commands.entry(first).or_default(),
                None => self.open_ends.entry(pattern.tail().chars().next_back()).or_default(),
            },
        }
    }

    fn path(&mut self, pattern: &PathPattern) -> &mut Vec<Number> {
        match pattern.open_name() {
            Some(wild) => self.open_names.entry(wild.tail().chars().next_back()).or_default(),
            None => {
                let folders = self.paths.entry(pattern.anchor).or_default();
                let folder = folders.entry(pattern.literal.clone()).or_default();
                match pattern.hint() {
                    Hint::None => &mut folder.all,
                    Hint::EndsWith(end) => folder.by_end.entry(end).or_default(),
                    Hint::HasName(name) => folder.by_name.entry(name.to_owned()).or_default(),
                }
            }
        }
    }
}

impl Folder {
    /// Adds the patterns that may match a path with these names after the folder.
    fn find(&self, names: &[&str], found: &mut Vec<Number>) {
        found.extend(&self.all);
        let end = names.first().and_then(|name| name.chars().next_back());
        found.extend(end.and_then(|end| self.by_end.get(&end)).into_iter().flatten());
        if !self.by_name.is_empty() {
            found.extend(names.iter().filter_map(|name| self.by_name.get(*name)).flatten());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Place;
    use crate::paths::views;

    const PLACE: Place<'_> = Place { cwd: "/work/src", root: Some("/work"), home: Some("/home/ann") };

    /// One rule of each kind of index, which matches what [`looked_up`] looks up.
    const MATCHING: [&str; 6] = [
        "Bash(git status *)",
        "Edit(/src/main.rs)",
        "Edit(*.rs)",
        "WebFetch(domain:example.com)",
        "mcp__git__push",
        "Skill(deploy)",
    ];

    /// The rules above, together with `count` rules of each kind that do not match the same calls.
    fn index(count: usize) -> Index {
        let others = (0..count).flat_map(|number| {
            [
                format!("Bash(tool{number} *)"),
                format!("Bash(git verb{number} *)"),
                format!("Bash(x*{number})"),
                format!("Bash(*{number})"),
                format!("Edit(/src/part{number}/**)"),
                format!("Edit(/src/*{number}.md)"),
                format!("Edit(*.ending{number})"),
                format!("Edit(//etc/part{number})"),
                format!("WebFetch(domain:host{number}.example.com)"),
                format!("mcp__server{number}__tool"),
                format!("Skill(skill{number})"),
            ]
        });
        let mut index = Index::default();
        for (number, text) in MATCHING.map(str::to_owned).into_iter().chain(others).enumerate() {
            index.insert(Number::try_from(number).unwrap(), &Rule::parse(&text).unwrap());
        }
        index
    }

    /// The rules that are compared with a call of each kind.
    fn looked_up(index: &Index) -> Vec<Number> {
        let mut found = index.commands(&format!("git{GAP}status{GAP}--short"));
        for (anchor, names) in views("/work/src/main.rs", &PLACE, true) {
            found.extend(index.paths("FileReplace", anchor, &names));
        }
        found.extend(index.domains("Fetch", "example.com"));
        found.extend(index.mcp("git"));
        found.extend(index.named("Skill", "deploy"));
        found.sort_unstable();
        found.dedup();
        found
    }

    #[test]
    fn a_call_is_compared_with_as_few_of_ten_thousand_rules_as_of_ten() {
        for count in [1, 1_000] {
            assert_eq!(looked_up(&index(count)), [0, 1, 2, 3, 4, 5], "of {count} of each kind");
        }
    }
}

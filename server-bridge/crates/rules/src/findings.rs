//! The parts of a call, each with the rules that match it.

mod line;

use crate::call::{Call, PathAccess, Place, Subject};
use crate::index::{Index, Number};
use crate::layer::LoadedRule;
use crate::names;
use crate::paths::{resolve, views};
use crate::rule::{Effect, Origin, Rule, Specifier, Target, plain_host};
use crate::shell::Doubt;

/// A rule in its set.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) origin: Origin,
    pub(crate) loaded: LoadedRule,
}

/// All rules, and the indexes of the three effects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    pub(crate) entries: Vec<Entry>,
    pub(crate) indexes: [Index; 3],
    /// True if a rule is about paths.
    pub(crate) has_paths: bool,
}

/// The kind of a part of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// The call as a whole, by its tool's name.
    Tool,
    /// A shell line as a whole.
    Line,
    /// A command of a shell line.
    Command,
    /// A path that is read.
    Read,
    /// A path that is written.
    Write,
    /// A host.
    Domain,
    /// A tool of an MCP server.
    Mcp,
    /// A named thing, such as a skill.
    Named,
}

/// A part of a call, with the rules that match it.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) kind: PartKind,
    /// The part as people would write it.
    pub(crate) text: String,
    /// The number of other commands that it is within.
    pub(crate) depth: usize,
    /// The matching rules of each effect.
    pub(crate) hits: [Vec<Number>; 3],
    /// The rules that deny or ask and may match: part of this text is only known when it runs.
    pub(crate) possible: Vec<Number>,
    /// True if an allow rule must cover it before the call is allowed.
    pub(crate) needs_cover: bool,
    /// True if allow rules cover it; `hits` contains them, or those of the commands within it.
    pub(crate) is_covered: bool,
}

impl Finding {
    fn new(kind: PartKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
            depth: 0,
            hits: Default::default(),
            possible: Vec::new(),
            needs_cover: true,
            is_covered: false,
        }
    }

    pub(crate) fn hits(&self, effect: Effect) -> &[Number] {
        &self.hits[effect as usize]
    }

    fn covered_by_hits(mut self) -> Self {
        self.is_covered = !self.hits(Effect::Allow).is_empty();
        self
    }
}

/// All parts of a call, and the reasons why its line cannot be parsed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    pub(crate) parts: Vec<Finding>,
    pub(crate) doubts: Vec<Doubt>,
}

impl Rules {
    pub(crate) fn insert(&mut self, origin: Origin, loaded: LoadedRule) {
        let Ok(number) = Number::try_from(self.entries.len()) else { return };
        self.indexes[loaded.effect as usize].insert(number, &loaded.rule);
        self.has_paths |= matches!(loaded.rule.specifier, Specifier::Path(_));
        self.entries.push(Entry { origin, loaded });
    }

    fn rule(&self, number: Number) -> &Rule {
        &self.entries[number as usize].loaded.rule
    }

    fn index(&self, effect: Effect) -> &Index {
        &self.indexes[effect as usize]
    }

    /// The rules that `find` returns for each effect, in their order and without duplicates.
    fn hits(&self, find: impl Fn(Effect, &Index) -> Vec<Number>) -> [Vec<Number>; 3] {
        Effect::ALL.map(|effect| {
            let mut found = find(effect, self.index(effect));
            found.sort_unstable();
            found.dedup();
            found
        })
    }

    /// Matches the rules with each part of a call.
    pub(crate) fn findings(&self, call: &Call<'_>) -> Findings {
        let tool = names::ours(call.tool);
        let mut findings = Findings::default();
        let mut whole = Finding::new(PartKind::Tool, call.tool);
        whole.hits = self.hits(|_, index| index.whole_tool(tool));
        let derived = named_subject(call);
        let subjects = if call.subjects.is_empty() { derived.as_slice() } else { call.subjects };
        whole.needs_cover = subjects.is_empty();
        findings.parts.push(whole.covered_by_hits());
        for subject in subjects {
            match *subject {
                Subject::Shell { line } => self.line(line, &call.place, &mut findings),
                Subject::Path { path, access } => {
                    findings.parts.push(self.path(tool, path, access, &call.place))
                }
                Subject::Domain { host } => findings.parts.push(self.domain(tool, host)),
                Subject::Mcp { server, tool } => findings.parts.push(self.mcp(call.tool, server, tool)),
                Subject::Named { name } => findings.parts.push(self.named(tool, name)),
            }
        }
        findings
    }

    fn path(&self, tool: &str, path: &str, access: PathAccess, place: &Place<'_>) -> Finding {
        let kind = if access == PathAccess::Write { PartKind::Write } else { PartKind::Read };
        let absolute = match path.strip_prefix("~/").zip(place.home) {
            Some((rest, home)) => resolve(home, rest),
            None => resolve(place.cwd, path),
        };
        let mut part = Finding::new(kind, path);
        part.hits = self.hits(|effect, index| {
            let is_allow = effect == Effect::Allow;
            let mut tools = vec![tool];
            match access {
                PathAccess::Write if !is_allow || matches!(tool, "FileCreate" | "FileReplace") => {
                    tools.push("FileReplace")
                }
                PathAccess::Read if !is_allow || matches!(tool, "Read" | "Glob" | "Grep") => {
                    tools.push("Read")
                }
                PathAccess::Write | PathAccess::Read => {}
            }
            self.path_hits(index, &tools, &absolute, place, is_allow)
        });
        part.covered_by_hits()
    }

    /// The rules about paths of these tools that match an absolute path.
    fn path_hits(
        &self,
        index: &Index,
        tools: &[&str],
        path: &str,
        place: &Place<'_>,
        is_strict: bool,
    ) -> Vec<Number> {
        let mut found: Vec<Number> = tools.iter().flat_map(|tool| index.whole_tool(tool)).collect();
        if !index.has_any(tools) {
            return found;
        }
        for (anchor, names) in views(path, place, is_strict) {
            for tool in tools {
                let may_match = index.paths(tool, anchor, &names).into_iter();
                found.extend(may_match.filter(|number| match &self.rule(*number).specifier {
                    Specifier::Path(pattern) => pattern.matches(&names),
                    _ => false,
                }));
            }
        }
        found
    }

    fn domain(&self, tool: &str, host: &str) -> Finding {
        let host = plain_host(host);
        let mut part = Finding::new(PartKind::Domain, &host);
        part.hits = self.hits(|effect, index| {
            let tools: &[&str] = if effect == Effect::Allow { &[tool] } else { &[tool, "Fetch"] };
            let mut found: Vec<Number> = tools.iter().flat_map(|tool| index.whole_tool(tool)).collect();
            found.extend(tools.iter().flat_map(|tool| index.domains(tool, &host)).filter(|number| {
                match &self.rule(*number).specifier {
                    Specifier::Domain(domain, is_below) => (*domain != host) == *is_below,
                    _ => false,
                }
            }));
            found
        });
        // An HTTP tool has a fixed host: a rule that allows the tool by its name allows the host too.
        part.needs_cover = tool != names::HTTP;
        part.covered_by_hits()
    }

    fn named(&self, tool: &str, name: &str) -> Finding {
        let mut part = Finding::new(PartKind::Named, name);
        part.hits = self.hits(|_, index| {
            let matching =
                index.named(tool, name).into_iter().filter(|number| match &self.rule(*number).specifier {
                    Specifier::Name(wild) => wild.matches(name),
                    _ => false,
                });
            index.whole_tool(tool).into_iter().chain(matching).collect()
        });
        part.covered_by_hits()
    }

    fn mcp(&self, call: &str, server: &str, tool: &str) -> Finding {
        let mut part = Finding::new(PartKind::Mcp, format!("mcp__{server}__{tool}"));
        part.hits = self.hits(|effect, index| {
            let matching = index.mcp(server).filter(|number| {
                matches_mcp(&self.rule(*number).target, server, tool, effect == Effect::Allow)
            });
            index.whole_tool(call).into_iter().chain(matching).collect()
        });
        part.covered_by_hits()
    }
}

/// The MCP tool or HTTP tool that a call names, if the call has no subject.
fn named_subject<'a>(call: &Call<'a>) -> Option<Subject<'a>> {
    if let Some(name) = call.tool.strip_prefix(names::HTTP_PREFIX) {
        return Some(Subject::Named { name });
    }
    let (server, tool) = call.tool.strip_prefix("mcp__")?.split_once("__")?;
    Some(Subject::Mcp { server, tool })
}

/// True if a rule applies to this tool of this server. If a rule's names can be split in several ways, it denies and asks for
/// each of them, and allows only for the plain one.
fn matches_mcp(target: &Target, server: &str, tool: &str, is_allow: bool) -> bool {
    let Target::Mcp { server: wanted_server, tool: wanted_tool, whole } = target else { return false };
    let gap = if wanted_server.is_some() { "__" } else { "_" };
    let joined = format!("mcp{gap}{server}{gap}{tool}");
    match wanted_server {
        Some(wanted)
            if wanted.matches(server) && wanted_tool.as_ref().is_none_or(|wanted| wanted.matches(tool)) =>
        {
            true
        }
        Some(_) if is_allow => false,
        None if is_allow => whole.matches(&joined) && !server.contains('_') && !tool.contains('_'),
        _ => {
            let begins = || {
                whole
                    .literal()
                    .is_some_and(|whole| joined.strip_prefix(whole).is_some_and(|rest| rest.starts_with(gap)))
            };
            whole.matches(&joined) || begins()
        }
    }
}

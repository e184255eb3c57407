//! Collects the parts of a plugin, each with its problems.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::Plugin;
use crate::component::head::Head;
use crate::component::{Command, HookDocument, Role, Server, Skill};
use crate::findings::{Problem, Unused};
use crate::json;
use crate::limits::{COMPONENTS, DOCUMENT_BYTES, FINDINGS};
use crate::manifest::Manifest;
use crate::text::{is_name, line, name_of, quoted};
use crate::tools::Tool;
use crate::tree::{File, PluginPath, Tree};

/// The kinds of parts. A plugin may have a limited number of each kind, with different names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Skill,
    Command,
    Role,
    Hooks,
    Server,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::Command => "command",
            Self::Role => "agent",
            Self::Hooks => "document of hooks",
            Self::Server => "MCP server",
        }
    }
}

/// A plugin that is being read.
pub(super) struct Reader<'a> {
    pub(super) tree: &'a Tree,
    pub(super) plugin: Plugin,
    /// The names that are in use, in lower case.
    taken: BTreeSet<(Kind, String)>,
    files: BTreeSet<PluginPath>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(tree: &'a Tree, manifest: Manifest) -> Self {
        let plugin = Plugin {
            manifest,
            hash: tree.hash(),
            skills: Vec::new(),
            commands: Vec::new(),
            roles: Vec::new(),
            hooks: Vec::new(),
            servers: Vec::new(),
            unused: Vec::new(),
            problems: Vec::new(),
        };
        Self { tree, plugin, taken: BTreeSet::new(), files: BTreeSet::new() }
    }

    /// The finished plugin, with its unused parts sorted.
    pub(super) fn done(mut self) -> Plugin {
        self.plugin.unused.sort();
        self.plugin.unused.dedup();
        self.plugin.unused.truncate(FINDINGS);
        self.plugin
    }

    pub(super) fn refused(&mut self, place: impl Into<String>, text: impl Into<String>) {
        self.problem(place.into(), text.into(), true);
    }

    pub(super) fn warning(&mut self, place: impl Into<String>, text: impl Into<String>) {
        self.problem(place.into(), text.into(), false);
    }

    fn problem(&mut self, place: String, text: String, is_refused: bool) {
        if self.plugin.problems.len() < FINDINGS {
            self.plugin.problems.push(Problem { place, text, is_refused });
        }
    }

    pub(super) fn unused(&mut self, what: impl Into<String>, why: impl Into<String>) {
        // The list is sorted and cut at the end; this limits its memory until then.
        if self.plugin.unused.len() < FINDINGS * 8 {
            self.plugin.unused.push(Unused { what: what.into(), why: why.into() });
        }
    }

    /// Claims a name; returns true if it is free and one more part of the kind is allowed.
    fn take(&mut self, kind: Kind, name: &str, place: &str) -> bool {
        let word = kind.word();
        if self.taken.iter().filter(|(taken, _)| *taken == kind).count() >= COMPONENTS {
            self.refused(
                place,
                format!("is left out: a plugin can have at most {COMPONENTS} parts of this kind ({word})"),
            );
            return false;
        }
        let is_free = self.taken.insert((kind, name.to_lowercase()));
        if !is_free {
            self.refused(place, format!("is left out: another {word} is named {}", quoted(name)));
        }
        is_free
    }

    /// True if a file was not added before: a path may be declared several times.
    fn is_new(&mut self, path: &PluginPath) -> bool {
        self.files.insert(path.clone())
    }

    /// The body, with a warning if hidden text was removed.
    fn body(&mut self, place: &str, head: &Head<'_>) -> String {
        let (body, was_cleaned) = head.body();
        if was_cleaned {
            self.warning(
                place,
                "contained characters that hide text or change the direction of writing; they were removed. Look at it with care",
            );
        }
        body
    }

    /// Records the fields and tools in a head that have no effect here.
    fn unused_of_head(&mut self, place: &str, head: &Head<'_>, fields: &[&str]) {
        let unused: Vec<String> = head.unused(fields).map(str::to_owned).collect();
        for field in unused {
            self.unused(format!("{place}: {field}"), format!("`{field}` has no effect here"));
        }
    }

    fn unused_tools<'t>(&mut self, place: &str, tools: impl IntoIterator<Item = &'t Tool>) {
        for tool in tools.into_iter().filter(|tool| !tool.is_known()) {
            self.unused(format!("{place}: {}", tool.written), "there is no tool of this name here");
        }
    }

    fn head(&mut self, place: &str, file: &'a File) -> Option<Head<'a>> {
        match Head::read(file) {
            Ok(head) => Some(head),
            Err(reason) => {
                self.refused(place, reason);
                None
            }
        }
    }

    /// Adds a skill: the `SKILL.md` of a directory. `name` is used for a skill at the plugin's root.
    pub(super) fn skill(&mut self, path: &PluginPath, name: &str) {
        self.skill_if(path, name, |_, _| Ok(()));
    }

    /// Adds a skill if a further check finds no problem.
    pub(super) fn skill_if(
        &mut self,
        path: &PluginPath,
        name: &str,
        check: impl FnOnce(&str, &Head<'_>) -> Result<(), String>,
    ) {
        let Some(file) = self.tree.file(path).filter(|_| self.is_new(path)) else { return };
        let place = path.to_string();
        let Some(head) = self.head(&place, file) else { return };
        let directory = path.parent();
        let name = if directory.is_root() { name } else { directory.name() };
        if !is_name(name) {
            return self.refused(place, format!("is left out: {} cannot be a skill's name", quoted(name)));
        }
        if let Err(reason) = check(name, &head) {
            return self.refused(place, reason);
        }
        let name = name.to_owned();
        if !self.take(Kind::Skill, &name, &place) {
            return;
        }
        let text = self.body(&place, &head);
        let skill = Skill::read(name, directory, &head, text);
        if skill.description.is_empty() {
            self.warning(&place, "has no description: a model cannot tell when to use it");
        }
        self.unused_of_head(&place, &head, crate::component::head_fields::SKILL);
        self.unused_tools(&place, &skill.allowed_tools);
        self.plugin.skills.push(skill);
    }

    /// Adds a command.
    pub(super) fn command(&mut self, path: &PluginPath, name: &str) {
        let Some(file) = self.tree.file(path).filter(|_| self.is_new(path)) else { return };
        let place = path.to_string();
        let Some(head) = self.head(&place, file) else { return };
        self.command_of(&place, name, Some(path.clone()), &head);
    }

    /// Adds a command whose text is given; its head contains the manifest's fields.
    pub(super) fn command_of(&mut self, place: &str, name: &str, path: Option<PluginPath>, head: &Head<'_>) {
        if !name.split(':').all(is_name) {
            return self.refused(place, format!("is left out: {} cannot be a command's name", quoted(name)));
        }
        if head.text.body.is_empty() {
            return self.refused(place, "is left out: it has no text");
        }
        if !self.take(Kind::Command, name, place) {
            return;
        }
        let text = self.body(place, head);
        let command = Command::read(name.to_owned(), path, head, text);
        self.unused_of_head(place, head, crate::component::head_fields::COMMAND);
        self.unused_tools(place, &command.allowed_tools);
        self.plugin.commands.push(command);
    }

    /// Adds a role.
    pub(super) fn role(&mut self, path: &PluginPath) {
        let Some(file) = self.tree.file(path).filter(|_| self.is_new(path)) else { return };
        let place = path.to_string();
        let Some(head) = self.head(&place, file) else { return };
        if !head.is_there {
            return self.unused(place, "a file without a head is not an agent");
        }
        let written = head.field("name");
        let stem = path.name().trim_end_matches(".md");
        let Some(name) = name_of(if written.is_empty() { stem } else { &written }) else {
            return self
                .refused(place, format!("is left out: {} cannot be an agent's name", quoted(&written)));
        };
        if !self.take(Kind::Role, &name, &place) {
            return;
        }
        let text = self.body(&place, &head);
        let role = Role::read(name, path.clone(), &head, text);
        if role.description.is_empty() {
            self.warning(&place, "has no description: a model cannot tell when to call it");
        }
        self.unused_of_head(&place, &head, crate::component::head_fields::ROLE);
        self.unused_tools(&place, role.tools.iter().flatten().chain(&role.denied_tools));
        self.plugin.roles.push(role);
    }

    /// Adds a file of hooks.
    pub(super) fn hook_file(&mut self, path: &PluginPath) {
        let Some(file) = self.tree.file(path).filter(|_| self.is_new(path)) else { return };
        let place = path.to_string();
        if let Err(reason) = json::object(&file.content, DOCUMENT_BYTES) {
            return self.refused(place, reason);
        }
        if self.take(Kind::Hooks, &place, &place) {
            let text = String::from_utf8_lossy(&file.content).trim_start_matches('\u{feff}').to_owned();
            self.plugin.hooks.push(HookDocument { place, text });
        }
    }

    /// Adds hooks that a manifest contains, with or without `hooks` around them.
    pub(super) fn hooks_of(&mut self, place: &str, hooks: &Map<String, Value>) {
        let document = if hooks.get("hooks").is_some_and(Value::is_object) {
            Value::Object(hooks.clone())
        } else {
            serde_json::json!({ "hooks": hooks })
        };
        if self.take(Kind::Hooks, place, place) {
            self.plugin.hooks.push(HookDocument { place: place.to_owned(), text: document.to_string() });
        }
    }

    /// Adds a file of servers.
    pub(super) fn server_file(
        &mut self,
        path: &PluginPath,
        read: impl FnOnce(&[u8]) -> Result<Map<String, Value>, String>,
        check: impl Fn(&Value) -> Result<(), String>,
    ) {
        let Some(file) = self.tree.file(path).filter(|_| self.is_new(path)) else { return };
        match read(&file.content) {
            Ok(entries) => self.servers_of(path.as_str(), entries, check),
            Err(reason) => self.refused(path.to_string(), reason),
        }
    }

    /// Adds servers.
    pub(super) fn servers_of(
        &mut self,
        place: &str,
        entries: Map<String, Value>,
        check: impl Fn(&Value) -> Result<(), String>,
    ) {
        for (name, definition) in entries {
            let entry = format!("{place}: {}", quoted(&name));
            if line(&name, usize::MAX) != name
                || name.is_empty()
                || name.chars().count() > crate::limits::NAME_CHARS
            {
                self.refused(entry, "is left out: this cannot be a server's name");
            } else if !definition.is_object() {
                self.refused(entry, format!("must be an object, not {}", json::type_of(&definition)));
            } else if let Err(reason) = check(&definition) {
                self.refused(entry, reason);
            } else if self.take(Kind::Server, &name, &entry) {
                self.plugin.servers.push(Server { place: place.to_owned(), name, definition });
            }
        }
    }
}

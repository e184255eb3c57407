//! Patterns of paths, in the syntax of gitignore and of Claude Code's rules.
//!
//! | pattern | matches |
//! |---|---|
//! | `//etc/**` | paths from the file system's root |
//! | `/src/**` | paths from the workspace's root |
//! | `~/.ssh/**` | paths from the user's home directory |
//! | `src/*.rs` | paths from the current directory |
//! | `.env`, `*.pem` | files and folders of that name, at any depth |
//!
//! A pattern that matches a folder matches everything in it. Paths are compared as text: the caller resolves links.

use crate::call::Place;
use crate::wild::{Wild, WildError};

/// The folder at which a pattern begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Anchor {
    /// The file system's root.
    System,
    /// The workspace's root.
    Workspace,
    /// The user's home directory.
    Home,
    /// The current directory.
    Current,
    /// Any folder.
    Anywhere,
}

/// A part of a pattern, between two slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// `**`: any number of folders.
    Folders,
    /// One name.
    Name(Wild),
}

/// A known property of the names after the literal ones of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hint<'a> {
    /// Nothing is known.
    None,
    /// The next name ends with this character.
    EndsWith(char),
    /// One of the names is this one.
    HasName(&'a str),
}

/// A pattern of paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathPattern {
    pub(crate) anchor: Anchor,
    parts: Vec<Part>,
    /// True if it only matches the content of a folder.
    is_folder: bool,
    /// The names at its beginning that have no wildcards, joined by slashes.
    pub(crate) literal: String,
}

impl PathPattern {
    /// Reads a pattern.
    pub(crate) fn parse(text: &str) -> Result<Self, WildError> {
        let (anchor, rest) = if let Some(rest) = text.strip_prefix("//") {
            (Anchor::System, rest)
        } else if let Some(rest) = text.strip_prefix('/') {
            (Anchor::Workspace, rest)
        } else if let Some(rest) = text.strip_prefix("~/") {
            (Anchor::Home, rest)
        } else if text == "~" {
            (Anchor::Home, "")
        } else if let Some(rest) = text.strip_prefix("./") {
            (Anchor::Current, rest)
        } else if text.trim_end_matches('/').contains('/') {
            (Anchor::Current, text)
        } else {
            (Anchor::Anywhere, text)
        };
        let mut parts: Vec<Part> = Vec::new();
        for name in rest.split('/').filter(|name| !name.is_empty() && *name != ".") {
            match name {
                ".." => return Err(WildError::Parent),
                "**" if parts.last() == Some(&Part::Folders) => {}
                "**" => parts.push(Part::Folders),
                _ => parts.push(Part::Name(Wild::glob(name)?)),
            }
        }
        let names = parts.iter().map_while(|part| match part {
            Part::Name(wild) => wild.literal(),
            Part::Folders => None,
        });
        let literal = names.collect::<Vec<_>>().join("/");
        Ok(Self { anchor, parts, is_folder: text.ends_with('/') && !rest.is_empty(), literal })
    }

    /// The name with a wildcard at the beginning of a pattern that matches at any depth; `None` if the pattern is anchored or
    /// begins with a plain name.
    pub(crate) fn open_name(&self) -> Option<&Wild> {
        static EVERYTHING: std::sync::LazyLock<Wild> = std::sync::LazyLock::new(|| Wild::stars("*"));
        match self.parts.first() {
            _ if self.anchor != Anchor::Anywhere => None,
            Some(Part::Name(wild)) => wild.literal().is_none().then_some(wild),
            Some(Part::Folders) | None => Some(&EVERYTHING),
        }
    }

    /// A property that the names after the literal ones have in every matching path.
    pub(crate) fn hint(&self) -> Hint<'_> {
        let spelled = if self.literal.is_empty() { 0 } else { self.literal.split('/').count() };
        match (self.parts.get(spelled), self.parts.get(spelled + 1)) {
            (Some(Part::Name(wild)), _) => wild.tail().chars().next_back().map_or(Hint::None, Hint::EndsWith),
            (Some(Part::Folders), Some(Part::Name(wild))) => wild.literal().map_or(Hint::None, Hint::HasName),
            _ => Hint::None,
        }
    }

    /// True if it matches a path below its anchor, given as the names that lead to it.
    pub(crate) fn matches(&self, names: &[&str]) -> bool {
        let most = if self.is_folder { names.len().saturating_sub(1) } else { names.len() };
        if self.anchor == Anchor::Anywhere {
            return match self.parts.first() {
                Some(Part::Name(wild)) => names[..most].iter().any(|name| wild.matches(name)),
                Some(Part::Folders) | None => true,
            };
        }
        matches_beginning(&self.parts, names, most)
    }
}

/// True if the parts match the first of the names, that is, a path itself or a folder that contains it. At most `most` names
/// are matched.
fn matches_beginning(parts: &[Part], names: &[&str], most: usize) -> bool {
    let (mut part, mut name) = (0, 0);
    // The state to return to if the names after the last `**` do not match.
    let mut again = None;
    loop {
        match parts.get(part) {
            Some(Part::Folders) => {
                part += 1;
                again = Some((part, name));
                // A pattern with this ending matches the content of the folder, and not the folder itself.
                if part == parts.len() {
                    return name < names.len() || part == 1;
                }
                continue;
            }
            Some(Part::Name(wild)) if name < most && wild.matches(names[name]) => {
                (part, name) = (part + 1, name + 1);
                continue;
            }
            None => return true,
            Some(Part::Name(_)) => {}
        }
        match again {
            Some((after, begin)) if begin < most => {
                again = Some((after, begin + 1));
                (part, name) = (after, begin + 1);
            }
            _ => return false,
        }
    }
}

/// The absolute path of `path` as seen from `base`, without `.` and `..`.
pub(crate) fn resolve(base: &str, path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    let base = if path.starts_with('/') { "" } else { base };
    for name in base.split('/').chain(path.split('/')) {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            _ => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}

/// The path of `path` below `folder`; `None` if it is elsewhere. Both are absolute.
fn below<'a>(folder: &str, path: &'a str) -> Option<&'a str> {
    let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

/// For each anchor that contains a path, the names that lead from it to the path.
pub(crate) fn views<'a>(path: &'a str, place: &Place<'_>, is_strict: bool) -> Vec<(Anchor, Vec<&'a str>)> {
    let names = |path: &'a str| path.split('/').filter(|name| !name.is_empty()).collect::<Vec<_>>();
    let mut views = vec![(Anchor::System, names(path))];
    let mut add = |anchor, folder: Option<&str>| {
        let folder = folder.map(|folder| resolve("/", folder));
        views.extend(folder.and_then(|folder| below(&folder, path)).map(|rest| (anchor, names(rest))));
    };
    add(Anchor::Workspace, place.root);
    add(Anchor::Home, place.home);
    // An allow rule must not follow the current directory out of the workspace.
    let root = place.root.map(|root| resolve("/", root));
    let cwd = resolve("/", place.cwd);
    let is_inside = root.is_some_and(|root| below(&root, &cwd).is_some());
    if is_strict {
        let current = is_inside.then_some(cwd.as_str());
        add(Anchor::Current, current);
        add(Anchor::Anywhere, current);
    } else {
        add(Anchor::Current, Some(&cwd));
        add(Anchor::Current, place.root);
        add(Anchor::Anywhere, Some("/"));
    }
    views
}

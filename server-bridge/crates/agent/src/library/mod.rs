//! The skills and roles that an agent can use: those of its workspace, and those of shelves, such as a user's plugins.
//!
//! ```text
//!   .sandbridge/skills/NAME/SKILL.md    how to do something; read when it is needed   ┐
//!   .sandbridge/agents/NAME.md          the role that a sub-agent can have            ├─▶ Library: by name, the workspace's first
//!   Shelf                               those of other sources, named PLUGIN:NAME     ┘
//! ```
//! The directories of other products are read as well: `.agents/skills`, `.claude/skills`, `skills`, `.claude/agents`,
//! `.claude/commands`.
//! The catalogues are read again at each turn, concurrently, and only the heads of the files. Entries that are too long, too many or not
//! text are left out. Skills and roles of a workspace are trusted no more than its other files.
//!
//! | module | holds |
//! |---|---|
//! | `skills`, `roles`, [`commands`] | those of a workspace, one kind each |

pub mod commands;
mod roles;
pub mod skills;

use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use futures_util::future::{BoxFuture, join_all};
use futures_util::{StreamExt, stream};
pub use plugins::{Requires, Role, Skill};
use records::User;
use sandbox::{FileKind, Sandbox, SandboxError};

use crate::limits::{LIBRARY_DESCRIPTION_CHARS, LIBRARY_ENTRIES, LIBRARY_FILES_AT_ONCE, LIBRARY_NAME_CHARS};

/// The content of a shelf.
#[derive(Clone, Debug, Default)]
pub struct Shelved {
    /// Skills with their whole text. Their directories are paths in a workspace, once [`Shelf::bring`] has brought them
    /// there.
    pub skills: Vec<Skill>,
    /// Roles with their whole text.
    pub roles: Vec<Role>,
}

/// Skills and roles that do not come from a workspace.
pub trait Shelf: Send + Sync {
    /// The skills and roles of a user.
    fn of<'a>(&'a self, user: &'a User) -> BoxFuture<'a, Arc<Shelved>>;

    /// Puts the files of a skill on a machine.
    ///
    /// Fails with the reason in words.
    fn bring<'a>(
        &'a self,
        user: &'a User,
        skill: &'a Skill,
        sandbox: &'a Sandbox,
    ) -> BoxFuture<'a, Result<(), String>>;
}

/// Determines which requirements of skills a machine lacks.
pub trait Needs: Send + Sync {
    /// The given programs and `$VARIABLES` that a machine lacks; `None` if that is unknown.
    fn lacking<'a>(
        &'a self,
        user: &'a User,
        sandbox: &'a Sandbox,
        requires: &'a [&'a Requires],
    ) -> BoxFuture<'a, Option<Vec<String>>>;
}

/// All skills and roles. Cheap to clone; all clones share the same shelves.
#[derive(Clone, Default)]
pub struct Library(Arc<RwLock<Shelves>>, Arc<OnceLock<Arc<dyn Needs>>>);

type Shelves = Arc<[Arc<dyn Shelf>]>;

impl Library {
    /// Adds a shelf.
    pub fn put(&self, shelf: impl Shelf + 'static) {
        // Each change is a single step, so the data stays consistent if another thread panics.
        let mut shelves = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *shelves = shelves.iter().cloned().chain([Arc::new(shelf) as Arc<dyn Shelf>]).collect();
    }

    /// Sets the object that looks up the requirements of skills; only the first call has an effect.
    pub fn set_needs(&self, needs: impl Needs + 'static) {
        let _ = self.1.set(Arc::new(needs));
    }

    /// The programs and `$VARIABLES` that these skills need and a machine lacks; `None` if that is unknown.
    pub async fn lacking(
        &self,
        user: &User,
        sandbox: &Sandbox,
        requires: &[&Requires],
    ) -> Option<Vec<String>> {
        if requires.iter().all(|requires| requires.is_empty()) {
            return Some(Vec::new());
        }
        self.1.get()?.lacking(user, sandbox, requires).await
    }

    fn shelves(&self) -> Shelves {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    async fn shelved(&self, user: &User) -> Vec<(Arc<dyn Shelf>, Arc<Shelved>)> {
        let shelves = self.shelves();
        let shelved = join_all(shelves.iter().map(|shelf| shelf.of(user))).await;
        shelves.iter().cloned().zip(shelved).collect()
    }

    /// The names of all skills that models may read by themselves, each with its purpose; `None` if there are none. `of_workspace` lists
    /// those of [`skills::heads`]. For each skill, the missing requirements of the machine are named.
    pub async fn skills(
        &self,
        user: &User,
        of_workspace: &[Skill],
        sandbox: Option<&Sandbox>,
    ) -> Option<String> {
        let shelved = self.shelved(user).await;
        let all = of_workspace.iter().chain(shelved.iter().flat_map(|(_, shelved)| &shelved.skills));
        let all: Vec<&Skill> = all.filter(|skill| skill.is_for_models).collect();
        let requires: Vec<&Requires> =
            all.iter().map(|skill| &skill.requires).filter(|requires| !requires.is_empty()).collect();
        let lacking = match sandbox {
            Some(sandbox) => self.lacking(user, sandbox, &requires).await.unwrap_or_default(),
            None => Vec::new(),
        };
        let place = sandbox.map(Sandbox::place).unwrap_or_default();
        let described = all.iter().map(|skill| {
            let lacks = skill.requires.lacks(&lacking);
            let note = match lacks.is_empty() {
                true => String::new(),
                false => format!("(needs {lacks}, which {place} does not have) "),
            };
            (skill.name.as_str(), format!("{note}{}", skill.description))
        });
        let described: Vec<(&str, String)> = described.collect();
        lines(described.iter().map(|(name, description)| (*name, description.as_str())))
    }

    /// A skill with its whole text, with its files put on the machine; `None` if no skill has this name.
    ///
    /// Fails if the place cannot be reached.
    pub async fn skill(
        &self,
        user: &User,
        sandbox: &Sandbox,
        name: &str,
    ) -> Result<Option<Skill>, SandboxError> {
        if let Some(skill) = skills::read(sandbox, name).await? {
            return Ok(Some(skill));
        }
        for (shelf, shelved) in self.shelved(user).await {
            let Some(skill) = shelved.skills.iter().find(|skill| skill.name == name) else { continue };
            let mut skill = skill.clone();
            if let Err(why) = shelf.bring(user, &skill, sandbox).await {
                skill.text = format!("(Its files are not on this machine: {why})\n\n{}", skill.text);
            }
            return Ok(Some(skill));
        }
        Ok(None)
    }

    /// The names of all roles, each with its purpose; `None` if there are none.
    ///
    /// Fails if the place cannot be reached.
    pub async fn roles(
        &self,
        user: &User,
        sandbox: Option<&Sandbox>,
    ) -> Result<Option<String>, SandboxError> {
        let of_workspace = match sandbox {
            Some(sandbox) => roles::heads(sandbox).await?,
            None => Vec::new(),
        };
        let shelved = self.shelved(user).await;
        let all = of_workspace.iter().chain(shelved.iter().flat_map(|(_, shelved)| &shelved.roles));
        Ok(lines(all.map(|role| (role.name.as_str(), role.description.as_str()))))
    }

    /// A role with its whole text; `None` if no role has this name.
    ///
    /// Fails if the place cannot be reached.
    pub async fn role(
        &self,
        user: &User,
        sandbox: &Sandbox,
        name: &str,
    ) -> Result<Option<Role>, SandboxError> {
        if let Some(role) = roles::read(sandbox, name).await? {
            return Ok(Some(role));
        }
        let shelved = self.shelved(user).await;
        let mut roles = shelved.iter().flat_map(|(_, shelved)| &shelved.roles);
        Ok(roles.find(|role| role.name == name).cloned())
    }
}

/// The beginning of a file, if it exists and is text.
///
/// Fails if the place cannot be reached.
pub async fn beginning(
    sandbox: &Sandbox,
    file: &str,
    most_bytes: u64,
) -> Result<Option<String>, SandboxError> {
    let content = match sandbox.read_beginning(file.as_bytes(), most_bytes).await {
        Ok(content) => content,
        Err(error) => return absent(error),
    };
    let text = String::from_utf8_lossy(&content).trim().to_owned();
    Ok((!text.is_empty()).then_some(text))
}

/// Treats a missing file as `None`, because these files are optional.
fn absent<T>(error: SandboxError) -> Result<Option<T>, SandboxError> {
    match error {
        SandboxError::Offline { .. } | SandboxError::Lost { .. } => Err(error),
        _ => Ok(None),
    }
}

/// The names in a directory that have this kind and are valid in a catalogue, sorted.
async fn names(sandbox: &Sandbox, directory: &str, kind: FileKind) -> Result<Vec<String>, SandboxError> {
    let mut reader = match sandbox.read_dir(directory.as_bytes()).await {
        Ok(reader) => reader,
        Err(error) => return Ok(absent::<Vec<String>>(error)?.unwrap_or_default()),
    };
    let mut names = Vec::new();
    while let Some(batch) = reader.next_batch().await {
        let entries = match batch {
            Ok(entries) => entries,
            Err(error) => return Ok(absent::<Vec<String>>(error)?.unwrap_or_default()),
        };
        // The runner decides where a symbolic link may lead.
        let found = entries.into_iter().filter(|entry| entry.kind == kind || entry.kind == FileKind::Symlink);
        names.extend(found.filter_map(|entry| String::from_utf8(entry.name).ok()));
        // Dropping the reader stops the runner: a directory may be made to appear endless.
        if names.len() > LIBRARY_ENTRIES * LIBRARY_ENTRIES {
            break;
        }
    }
    names.retain(|name| is_name(name.trim_end_matches(".md")));
    names.sort_unstable();
    names.truncate(LIBRARY_ENTRIES);
    Ok(names)
}

/// True if a skill or role may have this name: a file name that needs no quoting in a path or in a line of text.
pub fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty()
        && !name.starts_with('.')
        && name.chars().all(is_plain)
        && name.chars().count() <= LIBRARY_NAME_CHARS
}

/// The beginnings of files, in order; missing files are left out.
async fn beginnings(
    sandbox: &Sandbox,
    files: Vec<(String, String)>,
    most_bytes: u64,
) -> Result<Vec<(String, String)>, SandboxError> {
    let read = files.into_iter().map(|(name, file)| async move {
        Ok(beginning(sandbox, &file, most_bytes).await?.map(|text| (name, text)))
    });
    let found: Vec<Result<Option<(String, String)>, SandboxError>> =
        stream::iter(read).buffered(LIBRARY_FILES_AT_ONCE).collect().await;
    found.into_iter().filter_map(Result::transpose).collect()
}

/// The lines of a catalogue: `- NAME: DESCRIPTION`; `None` if there are no entries.
fn lines<'a>(entries: impl Iterator<Item = (&'a str, &'a str)>) -> Option<String> {
    let line = |(name, about): (&str, &str)| {
        let about: String = about.chars().take(LIBRARY_DESCRIPTION_CHARS).collect();
        if about.is_empty() { format!("- {name}") } else { format!("- {name}: {about}") }
    };
    let lines = entries.map(line).collect::<Vec<_>>().join("\n");
    (!lines.is_empty()).then_some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_descriptions_are_cut() {
        let long = "é".repeat(LIBRARY_DESCRIPTION_CHARS + 9);
        let lines = lines([("one", long.as_str()), ("two", "")].into_iter()).unwrap();
        assert_eq!(lines, format!("- one: {}\n- two", "é".repeat(LIBRARY_DESCRIPTION_CHARS)));
    }

    #[test]
    fn only_plain_names_are_names() {
        for name in ["review", "git-commit", "a.b_c", "überprüfen"] {
            assert!(is_name(name), "{name}");
        }
        let long = "x".repeat(LIBRARY_NAME_CHARS + 1);
        for name in ["", ".", "..", ".hidden", "a/b", "a b", "a\nb", "../x", long.as_str()] {
            assert!(!is_name(name), "{name}");
        }
    }
}

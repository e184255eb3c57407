//! An installed plugin in parsed form: its parts, with the names and paths that they have here.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use agent::library::{Shelved, Skill};
use plugins::{Plugin, PluginPath, Tree, Variables};
use sandbox::{HashedEntry, HashedKind, tree_bytes};
use sha2::{Digest, Sha256};
use store::PluginFile;

/// The directory of a workspace that contains the files of plugins.
pub(super) const DIRECTORY: &str = ".sandbridge/plugins";

/// The number of digits of a hash that distinguish copies.
const HASH_DIGITS: usize = 12;

/// A plugin, without the content of its files unless it was replaced or removed.
#[derive(Debug)]
pub(crate) struct Installed {
    /// The plugin's name.
    pub(crate) name: String,
    /// The hash of its files.
    pub(crate) hash: String,
    /// The plugin's skills, roles, commands, hooks and servers.
    pub(crate) plugin: Plugin,
    /// The directory of its files in a workspace.
    pub(crate) root: String,
    /// The directory of its own data in a workspace, which its next copies use too.
    pub(super) data: String,
    /// The plugin's files: their paths in the plugin, and the SHA-256 of their content.
    pub(super) files: Vec<(String, String)>,
    /// The paths of those files that are programs.
    pub(super) programs: Vec<String>,
    /// The directory of its files, as a whole.
    pub(super) whole: Whole,
    /// The plugin's skills and roles, by the names that they have here.
    pub(super) shelved: Arc<Shelved>,
    /// Its files, once the store no longer has them.
    kept: OnceLock<Kept>,
}

/// A directory that has a plugin's files, and nothing else.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Whole {
    /// The number of its files and directories.
    pub(super) entries: u32,
    /// The size of all files, in bytes.
    pub(super) bytes: u64,
    /// The hash by which a machine compares it.
    pub(super) sha256: [u8; 32],
}

/// The files of a copy that was replaced or removed.
struct Kept(Vec<PluginFile>);

impl fmt::Debug for Kept {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} files", self.0.len())
    }
}

impl Installed {
    /// Reads a plugin.
    ///
    /// Fails with the reason as text.
    pub(super) fn read(tree: &Tree, name: &str) -> Result<Self, String> {
        let plugin = Plugin::read(tree, name).map_err(|error| error.to_string())?;
        let name = plugin.manifest.name.clone();
        let hash = plugin.hash.clone();
        let root = format!("{DIRECTORY}/{name}-{}", &hash[..HASH_DIGITS.min(hash.len())]);
        let files: Vec<Hashed> = tree
            .files()
            .map(|(path, file)| Hashed {
                path: path.as_str().to_owned(),
                sha256: Sha256::digest(&file.content).into(),
                bytes: file.content.len() as u64,
                is_executable: file.is_executable,
            })
            .collect();
        let whole = Whole::of(&files);
        let programs = files.iter().filter(|file| file.is_executable).map(|file| file.path.clone()).collect();
        let files = files.into_iter().map(|file| (file.path, store::hex(&file.sha256))).collect();
        let data = format!("{DIRECTORY}/{name}-data");
        let variables = Variables { root: root.clone(), data: data.clone() };
        let shelved = Arc::new(shelved(&plugin, &name, &variables)?);
        Ok(Self { name, hash, plugin, root, data, files, programs, whole, shelved, kept: OnceLock::new() })
    }

    /// Keeps its files for those who use it.
    pub(super) fn keep(&self, files: Vec<PluginFile>) {
        let _ = self.kept.set(Kept(files));
    }

    /// True if its files were kept, since it is no longer installed.
    pub(super) fn is_kept(&self) -> bool {
        self.kept.get().is_some()
    }

    /// The size of the files that were kept, in bytes.
    pub(super) fn kept_bytes(&self) -> usize {
        self.kept.get().map_or(0, |Kept(files)| files.iter().map(|file| file.content.len()).sum())
    }

    /// These of its files, if they were kept.
    pub(super) fn kept(&self, paths: &[&str]) -> Option<Vec<PluginFile>> {
        let Kept(files) = self.kept.get()?;
        Some(files.iter().filter(|file| paths.contains(&file.path.as_str())).cloned().collect())
    }

    /// The plugin's skills, by the names that they have here.
    pub(crate) fn skills(&self) -> &[Skill] {
        &self.shelved.skills
    }

    /// The plugin's variables on a machine with this workspace.
    pub(crate) fn variables(&self, workspace: &str) -> Variables {
        let within = |place: &str| format!("{}/{place}", workspace.trim_end_matches('/'));
        Variables { root: within(&self.root), data: within(&self.data) }
    }
}

/// A file of a plugin, as it is compared.
struct Hashed {
    path: String,
    sha256: [u8; 32],
    bytes: u64,
    is_executable: bool,
}

impl Whole {
    /// The directory of these files.
    fn of(files: &[Hashed]) -> Self {
        let directories: BTreeSet<&str> = files
            .iter()
            .flat_map(|Hashed { path, .. }| path.match_indices('/').map(|(at, _)| &path[..at]))
            .collect();
        let entry = |path: &str, kind| HashedEntry { path: path.as_bytes().to_vec(), kind };
        let directories = directories.into_iter().map(|path| entry(path, HashedKind::Directory));
        let of_files = files.iter().map(|file| match file.is_executable {
            true => entry(&file.path, HashedKind::Program(file.sha256)),
            false => entry(&file.path, HashedKind::File(file.sha256)),
        });
        let entries: Vec<HashedEntry> = directories.chain(of_files).collect();
        Self {
            entries: u32::try_from(entries.len()).unwrap_or(u32::MAX),
            bytes: files.iter().map(|file| file.bytes).sum(),
            sha256: Sha256::digest(tree_bytes(entries)).into(),
        }
    }
}

/// The plugin's skills and roles as `PLUGIN:NAME`, with the paths that their files will have in a workspace.
fn shelved(plugin: &Plugin, name: &str, variables: &Variables) -> Result<Shelved, String> {
    let placed = |path: &PluginPath| {
        PluginPath::parse(&format!("{}/{}", variables.root, path.as_str())).map_err(|error| error.to_string())
    };
    let mut shelved = Shelved::default();
    for skill in &plugin.skills {
        let mut skill = skill.clone();
        skill.directory = placed(&skill.directory)?;
        skill.text = variables.fill(&skill.text);
        skill.name = format!("{name}:{}", skill.name);
        // A text is in every prompt only if its user approved it, and approvals are requested for workspaces alone.
        skill.always = false;
        shelved.skills.push(skill);
    }
    for role in &plugin.roles {
        let mut role = role.clone();
        role.path = placed(&role.path)?;
        role.text = variables.fill(&role.text);
        role.name = format!("{name}:{}", role.name);
        shelved.roles.push(role);
    }
    Ok(shelved)
}

/// The tree of stored files.
pub(super) fn tree_of(files: Vec<PluginFile>) -> Result<Tree, String> {
    let files = files.into_iter().map(|file| (file.path, file.content, file.is_executable));
    Tree::of(files).map_err(|error| error.to_string())
}

/// The files of a tree, to be stored.
pub(super) fn files_of(tree: &Tree) -> Vec<PluginFile> {
    let file = |(path, file): (&PluginPath, &plugins::File)| PluginFile {
        path: path.as_str().to_owned(),
        is_executable: file.is_executable,
        content: file.content.clone(),
    };
    tree.files().map(file).collect()
}

//! The files of a plugin on a machine. They are compared before each use, and rewritten where they differ.
//!
//! A command can write everything in its workspace, so the comparison is never skipped. The machine hashes the whole directory for it, in one
//! request; only if that hash differs, or the machine's runner is too old for it, the files are compared one by one.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use futures_util::future::try_join_all;
use sandbox::{DirEntry, FileKind, Metadata, Resolved, Sandbox, SandboxError, WriteOptions};
use store::UserId;
use tokio::sync::Semaphore;

use super::Plugins;
use super::installed::{DIRECTORY, Installed, Whole};
use crate::documents::{AtPath, look_at};
use crate::limits::{PLUGIN_FILES_AT_ONCE, PLUGINS_COPIED_AT_ONCE};

/// The permission bits of files, and of programs.
const MODES: (u32, u32) = (0o644, 0o755);

/// The places on machines where plugins are compared and copied.
#[derive(Default)]
pub(super) struct Places(Mutex<HashMap<(UserId, String), Weak<Semaphore>>>);

impl Places {
    /// One permit for each plugin that may be compared or copied at the same time at a user's place.
    fn of(&self, user: UserId, place: &str) -> Arc<Semaphore> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, turns| turns.strong_count() > 0);
        let key = (user, place.to_owned());
        all.get(&key).and_then(Weak::upgrade).unwrap_or_else(|| {
            let turns = Arc::new(Semaphore::new(PLUGINS_COPIED_AT_ONCE));
            all.insert(key, Arc::downgrade(&turns));
            turns
        })
    }
}

impl Plugins {
    /// Copies the files of a plugin to a machine where they are missing or differ.
    ///
    /// Fails with the reason as text.
    pub(crate) async fn bring(
        &self,
        user: UserId,
        plugin: &Installed,
        sandbox: &Sandbox,
    ) -> Result<(), String> {
        let failed = |error: SandboxError| format!("the plugin's files cannot be written: {error}");
        // A model may have removed it.
        sandbox.mkdir_all(plugin.data.as_bytes(), MODES.1).await.map_err(failed)?;
        let is_there = is_there(plugin, sandbox).await;
        if is_there == Some(true) {
            return Ok(());
        }
        // A machine refuses requests beyond a number, which hooks of several plugins in the background would reach.
        let turns = self.0.places.of(user, sandbox.place());
        let Ok(_turn) = turns.acquire().await else { return Err("the server is stopping".to_owned()) };
        tidy(plugin, sandbox).await.map_err(failed)?;
        let mut missing = Vec::new();
        for files in plugin.files.chunks(PLUGIN_FILES_AT_ONCE) {
            let place = |path: &str| format!("{}/{path}", plugin.root);
            let paths: Vec<String> = files.iter().map(|(path, _)| place(path)).collect();
            let known = look_at(sandbox, paths.iter().map(String::as_str)).await;
            let differs = |(path, hash): &&(String, String)| {
                known.get(&place(path)) != Some(&AtPath::File(hash.clone()))
            };
            missing.extend(files.iter().filter(differs).map(|(path, _)| path.as_str()));
        }
        if is_there == Some(false) {
            // Something differs, which may be a program's permission to run: the comparison above does not see that.
            missing.extend(plugin.programs.iter().map(String::as_str));
            missing.sort_unstable();
            missing.dedup();
        }
        if missing.is_empty() {
            return Ok(());
        }
        let files = self.0.store.plugin_files(user, &plugin.name, &plugin.hash).await;
        let mut files = files.map_err(|error| error.shown())?;
        files.retain(|file| missing.contains(&file.path.as_str()));
        // A turn that began before an update continues with its copy.
        if files.is_empty() {
            files = plugin.kept(&missing).unwrap_or_default();
        }
        if files.len() < missing.len() {
            return Err(format!("the plugin {} was removed or replaced in the meantime", plugin.name));
        }
        // These copies are not part of the user's work.
        write(sandbox, &format!("{DIRECTORY}/.gitignore"), b"*\n", MODES.0).await.map_err(failed)?;
        for files in files.chunks(PLUGIN_FILES_AT_ONCE) {
            let writes = files.iter().map(|file| async move {
                let mode = if file.is_executable { MODES.1 } else { MODES.0 };
                write(sandbox, &format!("{}/{}", plugin.root, file.path), &file.content, mode).await
            });
            try_join_all(writes).await.map_err(failed)?;
        }
        Ok(())
    }
}

/// True if a plugin's directory on a machine has exactly the plugin's files; `None` if an older runner cannot tell at once.
async fn is_there(plugin: &Installed, sandbox: &Sandbox) -> Option<bool> {
    let Whole { entries, bytes, sha256 } = &plugin.whole;
    // An error, such as for a missing directory or a link, is a difference; if it lasts, writing the files fails with it too.
    let found = sandbox.hash_tree(plugin.root.as_bytes(), *entries, *bytes).await;
    found.map_or(Some(false), |found| found.map(|found| found == *sha256))
}

/// Removes files in a plugin's directory that do not belong to the plugin, because its programs might load them.
async fn tidy(plugin: &Installed, sandbox: &Sandbox) -> Result<(), SandboxError> {
    match sandbox.resolve(plugin.root.as_bytes()).await? {
        Some(Resolved { found: None, .. }) => return Ok(()),
        Some(Resolved { found: Some(Metadata { kind: FileKind::Directory, .. }), path, .. })
            if path.as_bytes() == plugin.root.as_bytes() => {}
        // A file, or a link to another location.
        Some(_) => return sandbox.remove_all(plugin.root.as_bytes()).await,
        // An older runner cannot report this; the content is compared entry by entry.
        None => {}
    }
    let mut directories = BTreeSet::from([""]);
    for (path, _) in &plugin.files {
        directories.extend(path.match_indices('/').map(|(at, _)| &path[..at]));
    }
    let files: HashSet<&str> = plugin.files.iter().map(|(path, _)| path.as_str()).collect();
    // Hooks wait for this before each call, so the directories are read concurrently.
    let mut listed = Vec::new();
    for some in directories.iter().copied().collect::<Vec<_>>().chunks(PLUGIN_FILES_AT_ONCE) {
        listed.extend(try_join_all(some.iter().map(|directory| entries(sandbox, plugin, directory))).await?);
    }
    // Parents come before their children. Below a removed entry nothing more is removed, because it may have been
    // listed through a link.
    let mut gone: Vec<String> = Vec::new();
    for (directory, entries) in directories.iter().zip(listed) {
        if gone.iter().any(|gone| *directory == gone || directory.starts_with(&format!("{gone}/"))) {
            continue;
        }
        for DirEntry { name, kind, .. } in entries {
            let shown = String::from_utf8_lossy(&name);
            let path = if directory.is_empty() { shown.into_owned() } else { format!("{directory}/{shown}") };
            let is_own = match kind {
                FileKind::File => files.contains(path.as_str()),
                FileKind::Directory => directories.contains(path.as_str()),
                _ => false,
            };
            if !is_own {
                let place = [place(plugin, directory).as_bytes(), b"/", &name[..]].concat();
                sandbox.remove_all(&place).await?;
                gone.push(path);
            }
        }
    }
    Ok(())
}

/// The entries of a plugin's directory on a machine; empty if it does not exist yet.
async fn entries(
    sandbox: &Sandbox,
    plugin: &Installed,
    directory: &str,
) -> Result<Vec<DirEntry>, SandboxError> {
    let mut reader = sandbox.read_dir(place(plugin, directory).as_bytes()).await?;
    let mut found = Vec::new();
    while let Some(entries) = reader.next_batch().await {
        match entries {
            Ok(entries) => found.extend(entries),
            Err(SandboxError::Remote { .. }) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// A directory of a plugin, in a workspace.
fn place(plugin: &Installed, directory: &str) -> String {
    if directory.is_empty() { plugin.root.clone() } else { format!("{}/{directory}", plugin.root) }
}

async fn write(sandbox: &Sandbox, path: &str, content: &[u8], mode: u32) -> Result<(), SandboxError> {
    let options = WriteOptions {
        mode: Some(mode),
        parents: true,
        size_bytes: Some(content.len() as u64),
        ..WriteOptions::default()
    };
    let mut writer = sandbox.write_file(path.as_bytes(), options).await?;
    writer.write(content).await?;
    writer.finish().await.map(drop)
}

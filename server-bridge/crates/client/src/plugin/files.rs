//! The files of a plugin on this machine.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use api::plugin::{NewPlugin, PluginUpload};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::failure::Failure;
use crate::limits::{PLUGIN_BYTES, PLUGIN_FILES};

/// Directories that are not part of a plugin.
const LEFT_OUT: [&str; 2] = [".git", "node_modules"];

/// The plugin in a directory.
///
/// # Errors
/// `io`; `too_large`; `special_file` for a link, which could lead anywhere.
pub(super) fn of_directory(directory: &Path) -> Result<NewPlugin, Failure> {
    let mut found = Found::default();
    found.directory(directory, "")?;
    Ok(NewPlugin { files: Some(found.files), name: Some(name(directory)), ..NewPlugin::default() })
}

/// The plugin in an archive.
///
/// # Errors
/// `io`; `too_large`.
pub(super) fn of_archive(file: &Path) -> Result<NewPlugin, Failure> {
    let bytes = fs::metadata(file).map_err(|error| unread(file, &error))?.len();
    if bytes > PLUGIN_BYTES {
        return Err(too_large());
    }
    let content = fs::read(file).map_err(|error| unread(file, &error))?;
    Ok(NewPlugin { archive: Some(STANDARD.encode(content)), name: Some(name(file)), ..NewPlugin::default() })
}

/// True for a file that may be a role: a text in Markdown.
pub(super) fn is_role(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}

/// A plugin that is a single role, named after its file.
///
/// # Errors
/// `io`; `too_large`.
pub(super) fn of_role(file: &Path) -> Result<NewPlugin, Failure> {
    let metadata = fs::metadata(file).map_err(|error| unread(file, &error))?;
    let (name, mut found) = (name(file), Found::default());
    found.file(file, format!("agents/{name}.md"), &metadata)?;
    Ok(NewPlugin { files: Some(found.files), name: Some(name), ..NewPlugin::default() })
}

#[derive(Default)]
struct Found {
    files: Vec<PluginUpload>,
    bytes: u64,
}

impl Found {
    fn directory(&mut self, directory: &Path, below: &str) -> Result<(), Failure> {
        let entries = fs::read_dir(directory).map_err(|error| unread(directory, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unread(directory, &error))?;
            let (path, name) = (entry.path(), entry.file_name());
            let Some(name) = name.to_str() else {
                let message = format!("{} has a name that is not UTF-8; rename it", path.display());
                return Err(Failure::other("invalid", message));
            };
            let within = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
            let metadata = fs::symlink_metadata(&path).map_err(|error| unread(&path, &error))?;
            if metadata.is_dir() {
                if !LEFT_OUT.contains(&name) {
                    self.directory(&path, &within)?;
                }
            } else if metadata.is_file() {
                self.file(&path, within, &metadata)?;
            } else {
                let message = format!(
                    "{} is a link or a special file; a plugin can contain only regular files",
                    path.display()
                );
                return Err(Failure::other("special_file", message));
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, within: String, metadata: &fs::Metadata) -> Result<(), Failure> {
        self.bytes += metadata.len();
        if self.bytes > PLUGIN_BYTES || self.files.len() == PLUGIN_FILES {
            return Err(too_large());
        }
        let content = fs::read(path).map_err(|error| unread(path, &error))?;
        let executable = metadata.permissions().mode() & 0o111 != 0;
        self.files.push(PluginUpload { path: within, content: STANDARD.encode(content), executable });
        Ok(())
    }
}

/// The name of a directory or an archive, up to the first dot.
fn name(path: &Path) -> String {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.split('.').next().unwrap_or_default().to_owned()
}

fn unread(path: &Path, error: &std::io::Error) -> Failure {
    Failure::other("io", format!("cannot read {}: {error}", path.display()))
}

fn too_large() -> Failure {
    let most = PLUGIN_BYTES / (1024 * 1024);
    Failure::other("too_large", format!("a plugin can have at most {PLUGIN_FILES} files and {most} MiB"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_directory_is_read_with_its_modes_and_without_its_repository() {
        let home = tempfile::tempdir().unwrap();
        let plugin = home.path().join("lint.v2");
        fs::create_dir_all(plugin.join("hooks")).unwrap();
        fs::create_dir_all(plugin.join(".git/objects")).unwrap();
        fs::write(plugin.join(".git/objects/x"), "x").unwrap();
        fs::write(plugin.join("hooks/run.sh"), "true").unwrap();
        fs::set_permissions(plugin.join("hooks/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(plugin.join("README.md"), [0xff, 0]).unwrap();
        let new = of_directory(&plugin).unwrap();
        assert_eq!(new.name.as_deref(), Some("lint"));
        let mut files = new.files.unwrap();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let known: Vec<(&str, bool)> =
            files.iter().map(|file| (file.path.as_str(), file.executable)).collect();
        assert_eq!(known, [("README.md", false), ("hooks/run.sh", true)]);
        assert_eq!(STANDARD.decode(&files[0].content).unwrap(), [0xff, 0]);
        symlink("/etc/passwd", plugin.join("link")).unwrap();
        assert_eq!(of_directory(&plugin).unwrap_err().kind, "special_file");
        let role = plugin.join("reviewer.md");
        fs::write(&role, "You review.").unwrap();
        let new = of_role(&role).unwrap();
        assert_eq!((new.name.as_deref(), is_role(&role)), (Some("reviewer"), true));
        assert_eq!(new.files.unwrap()[0].path, "agents/reviewer.md");
        assert!(!is_role(&plugin) && !is_role(&plugin.join("missing.zip")));
        assert_eq!(of_archive(&plugin.join("missing.zip")).unwrap_err().kind, "io");
    }
}

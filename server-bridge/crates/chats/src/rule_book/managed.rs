//! `permissions.json` in the server's home directory: the administrator's rules, which apply to every user.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use rules::{Document, Layer, LoadedRule, Origin};
use tokio::sync::Mutex;

use super::unusable;
use crate::limits::MANAGED_RULES_BYTES;
use crate::server_settings::beginning;

/// The file's name in the home directory.
const FILE: &str = "permissions.json";

/// The administrator's rules, read again whenever the file changes.
#[derive(Default)]
pub(super) struct Managed(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    stamp: Option<Stamp>,
    rules: ManagedRules,
}

/// A version of the file: the times when its content and its metadata changed, its length, and its inode.
type Stamp = (SystemTime, (i64, i64), u64, u64);

/// The rules of one state of the file. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct ManagedRules {
    /// A number that increases with each state of the file.
    pub(super) state: u64,
    pub(crate) rules: Arc<[LoadedRule]>,
    /// The warnings about each rule, by the rule's id.
    pub(crate) warnings: Arc<[(String, String)]>,
}

impl ManagedRules {
    pub(super) fn layer(&self) -> Layer {
        Layer { origin: Origin::Managed, rules: self.rules.to_vec() }
    }
}

impl Managed {
    /// The current rules. If the file has a mistake, the rules that were read last stay in force, and the mistake is logged.
    pub(super) async fn current(&self, home: Option<&Path>) -> ManagedRules {
        match self.look(home).await {
            Ok(rules) => rules,
            Err(why) => {
                tracing::error!("{why}; the rules that were read before stay in force");
                self.0.lock().await.rules.clone()
            }
        }
    }

    /// The rules in the file's current state.
    ///
    /// # Errors
    /// The mistake, in words for people. The same state of the file is reported once.
    pub(super) async fn look(&self, home: Option<&Path>) -> Result<ManagedRules, String> {
        let Some(path) = home.map(|home| home.join(FILE)) else { return Ok(ManagedRules::default()) };
        let mut seen = self.0.lock().await;
        let unreadable = |error: &std::io::Error| format!("cannot read {}: {error}", path.display());
        // A link that leads nowhere is a mistake, which differs from having no file. The file is looked at on this thread: each call of a tool would
        // otherwise wait for another thread, which takes much longer than the look.
        let is_there = match std::fs::symlink_metadata(&path) {
            Ok(_) => true,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
            Err(error) => return Err(unreadable(&error)),
        };
        let stamp = match is_there {
            true => Some(stamp_of(&std::fs::metadata(&path).map_err(|error| unreadable(&error))?)),
            false => None,
        };
        if stamp == seen.stamp {
            return Ok(seen.rules.clone());
        }
        let rules = match stamp {
            None => ManagedRules::default(),
            Some(_) => match read(&path).await {
                Ok(rules) => rules,
                Err(Unusable::Mistake(why)) => {
                    // This state is reported once: the file is read again when it changes.
                    seen.stamp = stamp;
                    return Err(format!("{} cannot be used: {why}", path.display()));
                }
                // The file may become readable in a moment, so this is not remembered.
                Err(Unusable::Unreadable(error)) => return Err(unreadable(&error)),
            },
        };
        seen.stamp = stamp;
        seen.rules = ManagedRules { state: seen.rules.state + 1, ..rules };
        Ok(seen.rules.clone())
    }
}

/// The reason why the file cannot be used.
enum Unusable {
    /// The file's content has a mistake.
    Mistake(String),
    /// The system could not read the file.
    Unreadable(std::io::Error),
}

impl From<String> for Unusable {
    fn from(why: String) -> Self {
        Self::Mistake(why)
    }
}

fn stamp_of(metadata: &std::fs::Metadata) -> Stamp {
    let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    (modified, (metadata.ctime(), metadata.ctime_nsec()), metadata.len(), metadata.ino())
}

async fn read(path: &Path) -> Result<ManagedRules, Unusable> {
    let content = beginning(path, MANAGED_RULES_BYTES + 1).await.map_err(Unusable::Unreadable)?;
    let content = content.ok_or_else(|| "it is not a regular file".to_owned())?;
    if content.len() as u64 > MANAGED_RULES_BYTES {
        return Err(format!("it is longer than {} MiB", MANAGED_RULES_BYTES >> 20).into());
    }
    let text = String::from_utf8(content).map_err(|_| "it is not UTF-8".to_owned())?;
    let document = Document::parse(&text, Origin::Managed, &[]).map_err(|error| error.to_string())?;
    // The file's denials must apply, so a file with a mistake is not used at all.
    if let Some(problem) = document.problems.iter().find(|problem| problem.kind.is_error()) {
        return Err(problem.to_string().into());
    }
    if let Some(why) = document.rules.iter().find_map(|loaded| unusable(&loaded.rule)) {
        return Err(why.into());
    }
    let warnings = document.problems.into_iter().map(|problem| (problem.place, problem.kind.to_string()));
    Ok(ManagedRules { state: 0, rules: document.rules.into(), warnings: warnings.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_is_read_when_it_changes_and_a_mistake_in_it_changes_nothing() {
        let home = tempfile::tempdir().unwrap();
        let managed = Managed::default();
        let current = async || managed.current(Some(home.path())).await;
        let texts = |rules: &ManagedRules| -> Vec<String> {
            rules.rules.iter().map(|loaded| format!("{} {}", loaded.effect, loaded.rule)).collect()
        };
        assert!(current().await.rules.is_empty());
        let put = |text: &str| std::fs::write(home.path().join(FILE), text).unwrap();
        put(r#"{"permissions": {"deny": ["Fetch"], "allow": ["Bash(ls *)", "Bash(xargs *)"]}}"#);
        let first = current().await;
        assert_eq!(texts(&first), ["deny Fetch", "allow Bash(ls *)", "allow Bash(xargs *)"]);
        assert_eq!(first.warnings.iter().map(|(place, _)| place.as_str()).collect::<Vec<_>>(), ["allow[1]"]);
        assert_eq!(current().await.state, first.state, "it has not changed");
        put(r#"{"permissions": {"deny": ["Fetch", "Shell("]}}"#);
        let why = managed.look(Some(home.path())).await.err().unwrap();
        assert!(why.contains(FILE) && why.contains("deny[1]") && why.contains("Shell("), "{why}");
        assert_eq!(current().await.state, first.state, "the rules that were read before stay in force");
        put(r#"{"permissions": {"deny": ["Read(.env)"]}}"#);
        let second = current().await;
        assert!(texts(&second) == ["deny Read(.env)"] && second.state != first.state);
        std::fs::remove_file(home.path().join(FILE)).unwrap();
        std::os::unix::fs::symlink("nowhere", home.path().join(FILE)).unwrap();
        assert_eq!(current().await.state, second.state, "a link that leads nowhere is a mistake");
        std::fs::remove_file(home.path().join(FILE)).unwrap();
        assert!(current().await.rules.is_empty());
    }

    #[tokio::test]
    async fn what_is_no_document_is_named() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(FILE);
        for (content, why) in [
            (&b"\xff"[..], "not UTF-8"),
            (b"[", "not valid JSON"),
            (b"[]", "must be an object"),
            (br#"{"permissions": {"deny": "Fetch"}}"#, "a list of rules"),
            (br#"{"permissions": {"deny": [7]}}"#, "deny[0]"),
        ] {
            std::fs::write(&file, content).unwrap();
            let told = Managed::default().look(Some(home.path())).await.err().unwrap();
            assert!(told.contains(why), "{told}");
        }
        std::fs::File::create(&file).unwrap().set_len(MANAGED_RULES_BYTES + 1).unwrap();
        assert!(Managed::default().look(Some(home.path())).await.err().unwrap().contains("longer than"));
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert!(Managed::default().look(Some(home.path())).await.err().unwrap().contains("regular file"));
    }
}

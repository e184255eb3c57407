//! The files of a workspace that the approval of a command covers.
//!
//! ```text
//!   words of a command ─▶ check each ───▶ a file: covered by its hash
//!                            ▲              │ a directory: check each word below it too, as in `cd tools && ./check`
//!                            └──────────────┘ nothing: the word names no file of the workspace
//! ```
//! No directory is listed: only the words themselves are checked, so the size of a workspace does not matter.

use std::collections::{HashMap, HashSet};

use rules::Named;
use sandbox::Sandbox;

use crate::documents::{AtPath, look_at};
use crate::limits::{COVERED_DIRECTORIES, COVERED_PATHS, COVERED_ROUNDS};

/// The coverage of a command's approval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Covered {
    /// The files, each with the SHA-256 of its content, by path.
    pub(crate) files: Vec<(String, String)>,
    /// Descriptions of what may run and is not covered.
    pub(crate) unseen: Vec<String>,
    /// The reason why some of the files cannot be covered: the command cannot be approved then.
    pub(crate) unknown: Option<String>,
}

/// The coverage of each of these commands, which are checked together.
///
/// Fails, with the reason, if they name more than 2,000 paths.
pub(crate) async fn covered(sandbox: &Sandbox, commands: &[Named]) -> Result<Vec<Covered>, String> {
    let mut searches: Vec<Search<'_>> = commands.iter().map(Search::new).collect();
    let mut known: HashMap<String, AtPath> = HashMap::new();
    for _ in 0..COVERED_ROUNDS {
        let wanted: HashSet<String> = searches.iter().flat_map(Search::wanted).collect();
        let wanted: Vec<&str> =
            wanted.iter().map(String::as_str).filter(|path| !known.contains_key(*path)).collect();
        if known.len() + wanted.len() > COVERED_PATHS {
            return Err(format!("they name more than {COVERED_PATHS} paths; put them into a script"));
        }
        known.extend(look_at(sandbox, wanted).await);
        searches.iter_mut().for_each(|search| search.advance(&known));
    }
    Ok(searches.into_iter().map(|search| search.end(&known)).collect())
}

/// The search for the files of one command.
struct Search<'a> {
    named: &'a Named,
    /// The directories below which words are checked; the first one is the workspace's root.
    directories: Vec<String>,
    /// The number of these directories that have been searched.
    searched: usize,
    is_cut: bool,
}

impl<'a> Search<'a> {
    fn new(named: &'a Named) -> Self {
        Self { named, directories: vec![String::new()], searched: 0, is_cut: false }
    }

    /// The paths to check.
    fn wanted(&self) -> Vec<String> {
        let directories = self.directories[self.searched..].iter();
        directories
            .flat_map(|directory| self.named.words.iter().map(move |word| below(directory, word)))
            .collect()
    }

    /// Continues with the directories that were found.
    fn advance(&mut self, known: &HashMap<String, AtPath>) {
        let found: Vec<String> =
            self.wanted().into_iter().filter(|path| known.get(path) == Some(&AtPath::Directory)).collect();
        self.searched = self.directories.len();
        for path in found {
            if path == "." || self.directories.contains(&path) {
                continue;
            }
            if self.directories.len() >= COVERED_DIRECTORIES {
                self.is_cut = true;
                break;
            }
            self.directories.push(path);
        }
    }

    fn end(mut self, known: &HashMap<String, AtPath>) -> Covered {
        self.is_cut |= self.searched < self.directories.len();
        let mut covered = Covered { unseen: self.named.unseen.clone(), ..Covered::default() };
        for directory in &self.directories {
            for (number, word) in self.named.words.iter().enumerate() {
                let path = below(directory, word);
                match known.get(&path) {
                    Some(AtPath::File(hash)) => covered.files.push((path, hash.clone())),
                    Some(AtPath::Unhashed) => {
                        covered.unknown =
                            Some(format!("the content of {path:?} cannot be checked on this machine"));
                    }
                    Some(AtPath::Directory) if number >= self.named.places => {
                        covered.unseen.push(format!("files in the directory {path}"));
                    }
                    Some(AtPath::Directory | AtPath::Nothing) | None => {}
                }
            }
        }
        if self.is_cut {
            covered.unseen.push(format!("files in more than {COVERED_DIRECTORIES} directories"));
        }
        covered.files.sort_unstable();
        covered.files.dedup();
        let mut once = HashSet::new();
        covered.unseen.retain(|text| once.insert(text.clone()));
        covered
    }
}

/// A word's path below a directory of the workspace.
fn below(directory: &str, word: &str) -> String {
    match (directory, word) {
        ("", _) => word.to_owned(),
        (_, ".") => directory.to_owned(),
        _ if word.starts_with('/') => word.to_owned(),
        _ => format!("{directory}/{word}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The coverage of a line in a workspace with these directories and files.
    fn covered_in(line: &str, directories: &[&str], files: &[&str]) -> Covered {
        let named = rules::named::of_line(line, &[]);
        let mut search = Search::new(&named);
        let mut known = HashMap::new();
        for _ in 0..COVERED_ROUNDS {
            for path in search.wanted() {
                let at = match path.as_str() {
                    "." => AtPath::Directory,
                    path if directories.contains(&path) => AtPath::Directory,
                    path if files.contains(&path) => AtPath::File(format!("hash of {path}")),
                    _ => AtPath::Nothing,
                };
                known.insert(path, at);
            }
            search.advance(&known);
        }
        search.end(&known)
    }

    #[test]
    fn files_are_found_in_the_directories_that_a_command_names() {
        let paths = |line: &str| -> Vec<String> {
            let (directories, files) =
                (["tools", "tools/sub", "bin"], ["run", "tools/x", "tools/sub/x", "bin/check"]);
            covered_in(line, &directories, &files).files.into_iter().map(|(path, _)| path).collect()
        };
        assert_eq!(paths("./run"), ["run"]);
        assert_eq!(paths("bash run"), ["run"]);
        assert_eq!(paths("cd tools && ./x"), ["tools/x"]);
        assert_eq!(paths("cd tools && cd sub && ./x"), ["tools/sub/x", "tools/x"]);
        assert_eq!(paths("cd tools/sub; sh x"), ["tools/sub/x"]);
        assert_eq!(paths("env -C tools ./x"), ["tools/x"]);
        assert_eq!(paths("env PATH=bin:/usr/bin check"), ["bin/check"]);
        assert_eq!(paths("CDPATH=tools; cd sub && ./x"), ["tools/sub/x", "tools/x"]);
        assert_eq!(paths("cat run | sh"), ["run"]);
        assert_eq!(paths("ls"), [""; 0]);
    }

    #[test]
    fn a_directory_is_told_unless_it_is_only_changed_to() {
        assert_eq!(covered_in("cd tools && ./x", &["tools"], &[]).unseen, [""; 0]);
        assert_eq!(covered_in("python3 tools", &["tools"], &[]).unseen, ["files in the directory tools"]);
        assert_eq!(covered_in("node .", &[], &[]).unseen, ["files in the directory ."]);
    }

    #[test]
    fn a_flood_of_directories_is_bounded_and_told() {
        let names: Vec<String> = (0..COVERED_DIRECTORIES + 5).map(|number| format!("d{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let covered = covered_in(&format!("ls {}", names.join(" ")), &names, &[]);
        assert!(covered.unseen.iter().any(|text| text.contains("more than")), "{:?}", covered.unseen);
    }
}

//! The sources of marketplaces, and reading a marketplace.
//!
//! | source | is |
//! |---|---|
//! | `github:OWNER/REPOSITORY[@REVISION]`, or one of another host: see `forge` | a repository |
//! | `https://…` ending with `.tar.gz`, `.tgz` or `.zip` | an archive |
//! | `https://…` ending with `.json` | the document alone |
//! | `runner:NAME[:DIRECTORY]` | a directory of the workspace of one of the user's runners |

use std::collections::BTreeMap;

use plugins::{Marketplace, PluginPath, Source, Tree};
use store::{MarketplaceRow, User};

use super::Inner;
use super::forge::Repository;
use super::on_runner::{file_on, tree_on};

/// The source of a marketplace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Market {
    Repository(Repository),
    Archive { url: String },
    Document { url: String },
    Runner { runner: String, directory: String },
}

impl Market {
    /// Reads a source as a user types it.
    ///
    /// Fails with the reason as text.
    pub(super) fn parse(source: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{source:?} is not a source of a marketplace: write github:OWNER/REPOSITORY, gitlab:GROUP/REPOSITORY, codeberg:OWNER/REPOSITORY, \
                 forgejo:https://HOST/OWNER/REPOSITORY, the https://… address of a .tar.gz or .zip archive or of a marketplace.json, or runner:NAME:DIRECTORY"
            )
        };
        if let Some(repository) = Repository::parse(source) {
            return Ok(Self::Repository(repository));
        }
        if let Some(place) = source.strip_prefix("runner:") {
            let (runner, directory) = place.split_once(':').unwrap_or((place, ""));
            let directory = PluginPath::parse(directory).map_err(|_| wrong())?;
            if runner.is_empty() {
                return Err(wrong());
            }
            return Ok(Self::Runner { runner: runner.to_owned(), directory: directory.as_str().to_owned() });
        }
        if !source.starts_with("https://") && !source.starts_with("http://") {
            return Err(wrong());
        }
        let path = source.split(['?', '#']).next().unwrap_or_default();
        let ends = |endings: &[&str]| endings.iter().any(|ending| path.ends_with(ending));
        if ends(&[".tar.gz", ".tgz", ".zip"]) {
            return Ok(Self::Archive { url: source.to_owned() });
        }
        if ends(&[".json"]) {
            return Ok(Self::Document { url: source.to_owned() });
        }
        Repository::at_address(source, "").map(Self::Repository).ok_or_else(wrong)
    }

    /// The path of a directory inside the marketplace.
    pub(super) fn below(above: &str, directory: &str) -> String {
        match (above, directory) {
            ("", directory) => directory.to_owned(),
            (above, "") => above.to_owned(),
            (above, directory) => format!("{above}/{directory}"),
        }
    }
}

impl Inner {
    /// The document of the marketplace in a repository, with all files if its host gives it only with these.
    ///
    /// Fails with the reason as text.
    pub(super) async fn document_in(
        &self,
        repository: &Repository,
    ) -> Result<(Vec<u8>, Option<Tree>), String> {
        match repository.file(Marketplace::PATH) {
            Some(url) => Ok((self.get(&url).await?, None)),
            None => {
                let tree = tree_in(&repository.archive(self).await?)?;
                Ok((document_of(&tree)?, Some(tree)))
            }
        }
    }

    /// Reads a marketplace at its source.
    ///
    /// Fails with the reason as text.
    pub(super) async fn read_market(&self, user: &User, source: &str) -> Result<MarketplaceRow, String> {
        let (document, tree) = match Market::parse(source)? {
            Market::Repository(repository) => {
                let (document, tree) = self.document_in(&repository).await?;
                // Without the files, updates are detected by version: a repository may be too large.
                let files = async { tree_in(&repository.archive(self).await?) };
                (document, if tree.is_some() { tree } else { files.await.ok() })
            }
            Market::Archive { url } => {
                let tree = tree_in(&self.get(&url).await?)?;
                (document_of(&tree)?, Some(tree))
            }
            Market::Document { url } => (self.get(&url).await?, None),
            Market::Runner { runner, directory } => {
                let sandbox =
                    self.ledger.sandbox(user, Some(&runner)).await.map_err(|error| error.message())?;
                let document = file_on(&sandbox, &Market::below(&directory, Marketplace::PATH)).await?;
                (document, tree_on(&sandbox, &directory).await.ok())
            }
        };
        let market = Marketplace::read(&document).map_err(|error| error.to_string())?;
        let document = String::from_utf8(document).map_err(|_| "marketplace.json is not UTF-8".to_owned())?;
        Ok(MarketplaceRow {
            hashes_json: serde_json::to_string(&hashes(&market, tree.as_ref())).unwrap_or_default(),
            name: market.name,
            source: source.to_owned(),
            document,
            updated_at_ms: 0,
        })
    }
}

fn tree_in(archive: &[u8]) -> Result<Tree, String> {
    Tree::of_archive(archive, &PluginPath::default()).map_err(|error| error.to_string())
}

/// The document of the marketplace that these files are.
fn document_of(tree: &Tree) -> Result<Vec<u8>, String> {
    let path = PluginPath::parse(Marketplace::PATH).map_err(|error| error.to_string())?;
    let document = tree.file(&path).map(|file| file.content.clone());
    document.ok_or_else(|| format!("there is no {} in the archive", Marketplace::PATH))
}

/// The hashes of the plugins whose files are part of the marketplace.
fn hashes<'a>(market: &'a Marketplace, tree: Option<&Tree>) -> BTreeMap<&'a str, String> {
    let Some(tree) = tree else { return BTreeMap::new() };
    let hash = |entry: &'a plugins::Entry| match &entry.source {
        Source::Directory(directory) => Some((entry.manifest.name.as_str(), tree.subtree(directory)?.hash())),
        _ => None,
    };
    market.plugins.iter().filter_map(hash).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_told_apart() {
        let repository = |source: &str| Market::Repository(Repository::parse(source).unwrap());
        let runner =
            |directory: &str| Market::Runner { runner: "laptop".to_owned(), directory: directory.to_owned() };
        for (source, market) in [
            ("github:o/r", repository("github:o/r")),
            ("gitlab:a/b/r@v1", repository("gitlab:a/b/r@v1")),
            ("https://github.com/o/r.git", repository("github:o/r")),
            ("https://codeberg.org/o/r", repository("codeberg:o/r")),
            (
                "https://x.example/m.zip?raw=1",
                Market::Archive { url: "https://x.example/m.zip?raw=1".to_owned() },
            ),
            ("https://x.example/m.json", Market::Document { url: "https://x.example/m.json".to_owned() }),
            ("runner:laptop", runner("")),
            ("runner:laptop:tools/market", runner("tools/market")),
        ] {
            assert_eq!(Market::parse(source).unwrap(), market, "{source}");
        }
        for source in [
            "",
            "tools",
            "github:o",
            "github:o/r@../x",
            "runner:",
            "runner:laptop:../x",
            "runner:laptop:/etc",
            "https://gitlab.example/o/r.git",
            "file:///x.json",
            "ssh://x/y.zip",
        ] {
            assert!(Market::parse(source).unwrap_err().contains("not a source of a marketplace"), "{source}");
        }
        assert_eq!(Market::below("tools", "lint"), "tools/lint");
        assert_eq!(
            (Market::below("", "lint"), Market::below("tools", "")),
            ("lint".to_owned(), "tools".to_owned())
        );
    }

    #[test]
    fn only_what_is_in_the_marketplace_has_a_hash() {
        let document = br#"{"name": "m", "plugins": [{"name": "in", "source": "./in"}, {"name": "gone", "source": "./gone"},
            {"name": "out", "source": {"source": "npm", "package": "out"}}]}"#;
        let market = Marketplace::read(document).unwrap();
        let tree = Tree::of([("in/a.md", b"a".to_vec(), false), ("b.md", b"b".to_vec(), false)]).unwrap();
        let alone = Tree::of([("a.md", b"a".to_vec(), false)]).unwrap();
        assert_eq!(hashes(&market, Some(&tree)), BTreeMap::from([("in", alone.hash())]));
        assert!(hashes(&market, None).is_empty());
    }
}

//! The sources of plugins: an archive at an address, a package of npm, a repository of GitHub, a marketplace, the server's shelf.
//!
//! | source | is |
//! |---|---|
//! | `https://HOST/PATH` | a `.tar.gz` or `.zip` archive |
//! | `npm:NAME[@VERSION]` | a package of npm's registry |
//! | `github:OWNER/REPOSITORY[@REVISION][#DIRECTORY]` | a repository, or a directory of one |
//! | `PLUGIN@github:OWNER/REPOSITORY` | a plugin of the marketplace in a repository |
//! | `PLUGIN@MARKETPLACE` | a plugin of a marketplace that the user added |
//! | `shelf:OWNER/NAME` | a plugin that a user of this server shares |

use plugins::{Entry, Marketplace, PluginPath, Revision, Source, Tree};
use reqwest::Url;
use serde::Deserialize;
use store::User;

use super::Inner;
use super::installed::tree_of;
use super::market::Market;
use super::on_runner::tree_on;

/// The registry of npm packages.
const NPM: &str = "https://registry.npmjs.org/";
/// The archives of GitHub's repositories.
pub(super) const GITHUB_ARCHIVES: &str = "https://codeload.github.com/";
/// The files of GitHub's repositories.
pub(super) const GITHUB_FILES: &str = "https://raw.githubusercontent.com/";
/// The newest revision of a repository's main branch.
pub(super) const NEWEST: &str = "HEAD";

/// The fields of an entry that only describe the plugin or its location.
const SAID: [&str; 14] = [
    "$schema",
    "author",
    "category",
    "description",
    "displayName",
    "homepage",
    "keywords",
    "license",
    "name",
    "repository",
    "source",
    "strict",
    "tags",
    "version",
];

/// A plugin's files, and what is known about them.
pub(super) struct Fetched {
    pub(super) tree: Tree,
    /// The name to use if the plugin has none.
    pub(super) name: String,
    /// Fields of the marketplace's entry that are not used here.
    pub(super) said: Vec<String>,
}

/// A package, as npm's registry describes a version of it.
#[derive(Deserialize)]
struct Package {
    dist: Distribution,
}

#[derive(Deserialize)]
struct Distribution {
    tarball: String,
}

/// An archive, and the directory in it.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    Archive {
        url: String,
        directory: String,
        name: String,
    },
    Npm {
        package: String,
        version: String,
    },
    /// A directory of the workspace of one of the user's runners.
    Runner {
        runner: String,
        directory: String,
    },
    /// A plugin of a marketplace that was not added.
    Marketplace {
        repository: String,
        plugin: String,
    },
    /// A plugin of a marketplace that the user added.
    Known {
        market: String,
        plugin: String,
    },
    Shelf {
        owner: String,
        name: String,
    },
}

impl Place {
    /// Reads a source as a user types it.
    ///
    /// Fails with the reason as text.
    fn parse(source: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{source:?} is not a source of a plugin: write https://…, npm:NAME, github:OWNER/REPOSITORY, PLUGIN@MARKETPLACE, PLUGIN@github:OWNER/REPOSITORY, or shelf:OWNER/NAME"
            )
        };
        if let Some(package) = source.strip_prefix("npm:") {
            // A scope begins with the same character.
            let (name, version) = match package.char_indices().skip(1).find(|(_, letter)| *letter == '@') {
                Some((at, _)) => (&package[..at], &package[at + 1..]),
                None => (package, "latest"),
            };
            if !is_package(name) || !is_revision(version) {
                return Err(wrong());
            }
            return Ok(Self::Npm { package: name.to_owned(), version: version.to_owned() });
        }
        if let Some(repository) = source.strip_prefix("github:") {
            let (rest, directory) = repository.split_once('#').unwrap_or((repository, ""));
            let (repository, revision) = rest.split_once('@').unwrap_or((rest, NEWEST));
            return github(repository, revision, directory).ok_or_else(wrong);
        }
        if source.starts_with("https://") || source.starts_with("http://") {
            let name = source.rsplit('/').next().unwrap_or_default();
            let name = name.split('.').next().unwrap_or_default().to_owned();
            return Ok(Self::Archive { url: source.to_owned(), directory: String::new(), name });
        }
        if let Some(shared) = source.strip_prefix("shelf:") {
            return match shared.split_once('/') {
                Some((owner, name)) if is_name(owner) && is_name(name) => {
                    Ok(Self::Shelf { owner: owner.to_owned(), name: name.to_owned() })
                }
                _ => Err(wrong()),
            };
        }
        match source.split_once('@') {
            Some((plugin, market)) if is_name(plugin) => match market.strip_prefix("github:") {
                Some(repository) if is_repository(repository) => {
                    Ok(Self::Marketplace { repository: repository.to_owned(), plugin: plugin.to_owned() })
                }
                None if is_name(market) => {
                    Ok(Self::Known { market: market.to_owned(), plugin: plugin.to_owned() })
                }
                _ => Err(wrong()),
            },
            _ => Err(wrong()),
        }
    }
}

/// A directory of a GitHub repository.
fn github(repository: &str, revision: &str, directory: &str) -> Option<Place> {
    if !is_repository(repository) || !is_revision(revision) {
        return None;
    }
    let directory = PluginPath::parse(directory).ok()?;
    let name = match directory.is_root() {
        true => repository.rsplit('/').next().unwrap_or_default().to_owned(),
        false => directory.as_str().rsplit('/').next().unwrap_or_default().to_owned(),
    };
    let url = format!("{GITHUB_ARCHIVES}{repository}/tar.gz/{revision}");
    Some(Place::Archive { url, directory: directory.as_str().to_owned(), name })
}

/// True for `NAME` or `@SCOPE/NAME`.
fn is_package(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~');
    let is_name = |name: &str| !name.is_empty() && !name.starts_with('.') && name.chars().all(is_plain);
    match text.strip_prefix('@') {
        Some(scoped) => scoped.split_once('/').is_some_and(|(scope, name)| is_name(scope) && is_name(name)),
        None => is_name(text),
    }
}

/// True for a valid name of a plugin, a marketplace, an owner or a repository.
fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !text.is_empty() && !text.starts_with('.') && text.chars().all(is_plain)
}

/// True for `OWNER/REPOSITORY`.
pub(super) fn is_repository(text: &str) -> bool {
    text.split_once('/').is_some_and(|(owner, name)| is_name(owner) && is_name(name))
}

/// True for a valid branch, tag, commit or version.
pub(super) fn is_revision(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | '/');
    !text.is_empty()
        && text.chars().all(is_plain)
        && !text.split('/').any(|part| part.starts_with('.') || part.is_empty())
}

/// The place of a marketplace's plugin.
fn of_entry(market: &Market, entry: &Entry) -> Result<Place, String> {
    let not_here = |kind: &str| {
        format!("the marketplace places {} {kind}, which Sandbridge cannot fetch", entry.manifest.name)
    };
    let place = match &entry.source {
        Source::Directory(directory) => match market {
            Market::GitHub { repository, revision } => github(repository, revision, directory.as_str()),
            Market::Archive { url } => {
                let (name, directory) = (entry.manifest.name.clone(), directory.as_str().to_owned());
                Some(Place::Archive { url: url.clone(), directory, name })
            }
            Market::Runner { runner, directory: above } => {
                let directory = Market::below(above, directory.as_str());
                Some(Place::Runner { runner: runner.clone(), directory })
            }
            Market::Document { .. } => return Err(not_here("in a directory next to its document")),
        },
        Source::GitHub { repository, revision } => {
            github(repository, at(revision), revision.directory.as_str())
        }
        Source::Git { url, revision } => {
            let repository =
                url.strip_prefix("https://github.com/").map(|rest| rest.trim_end_matches(".git"));
            let Some(repository) = repository else {
                return Err(not_here("in a git repository outside of GitHub"));
            };
            github(repository, at(revision), revision.directory.as_str())
        }
        Source::Npm { package, version, registry } if registry.is_empty() => {
            let version = if version.is_empty() { "latest" } else { version };
            return Place::parse(&format!("npm:{package}@{version}"));
        }
        Source::Npm { .. } => return Err(not_here("in a registry other than npm's")),
        Source::Pip { .. } => return Err(not_here("in a Python package")),
    };
    place.ok_or_else(|| format!("the marketplace gives an invalid location for {}", entry.manifest.name))
}

/// The commit of a revision, or else its branch or tag.
fn at(revision: &Revision) -> &str {
    [revision.commit.as_str(), revision.branch.as_str()]
        .into_iter()
        .find(|at| !at.is_empty())
        .unwrap_or(NEWEST)
}

/// The location of a plugin of a marketplace, and the fields of its entry that are not used.
fn offered(market: &Market, document: &[u8], plugin: &str) -> Result<(Place, Vec<String>), String> {
    let list = Marketplace::read(document).map_err(|error| error.to_string())?;
    let Some(entry) = list.plugin(plugin) else {
        let names: Vec<&str> = list.plugins.iter().map(|entry| entry.manifest.name.as_str()).collect();
        return Err(format!("the marketplace has no plugin {plugin:?}; it has {}", names.join(", ")));
    };
    let said = entry.fields.keys().filter(|field| !SAID.contains(&field.as_str())).cloned();
    Ok((of_entry(market, entry)?, said.collect()))
}

impl Inner {
    /// Fetches a plugin for a user.
    ///
    /// Fails with the reason as text.
    pub(super) async fn fetch(&self, user: &User, source: &str) -> Result<Fetched, String> {
        let (place, said) = match Place::parse(source)? {
            Place::Marketplace { repository, plugin } => {
                let url = format!("{GITHUB_FILES}{repository}/{NEWEST}/{}", Marketplace::PATH);
                let document = self.get(&url).await?;
                let market = Market::GitHub { repository, revision: NEWEST.to_owned() };
                offered(&market, &document, &plugin)?
            }
            Place::Known { market, plugin } => {
                let rows = self.store.marketplaces(user.id).await.map_err(|error| error.shown())?;
                let Some(row) = rows.iter().find(|row| row.name == market) else {
                    return Err(format!(
                        "you have no marketplace {market:?}; `sandbridge plugin marketplace add SOURCE` adds one"
                    ));
                };
                offered(&Market::parse(&row.source)?, row.document.as_bytes(), &plugin)?
            }
            place => (place, Vec::new()),
        };
        let (url, directory, name) = match place {
            Place::Archive { url, directory, name } => (url, directory, name),
            Place::Npm { package, version } => {
                let about = self.get(&format!("{NPM}{}/{version}", package.replace('/', "%2f"))).await?;
                let about: Package = serde_json::from_slice(&about)
                    .map_err(|_| format!("npm's registry does not describe {package} {version}"))?;
                let name = package.rsplit('/').next().unwrap_or_default().to_owned();
                (about.dist.tarball, String::new(), name)
            }
            Place::Runner { runner, directory } => {
                let sandbox =
                    self.ledger.sandbox(user, Some(&runner)).await.map_err(|error| error.message())?;
                let name = directory.rsplit('/').next().unwrap_or_default().to_owned();
                return Ok(Fetched { tree: tree_on(&sandbox, &directory).await?, name, said });
            }
            Place::Shelf { owner, name } => return self.fetch_shared(&owner, name).await,
            Place::Marketplace { .. } | Place::Known { .. } => {
                return Err("a marketplace leads to another one".to_owned());
            }
        };
        let directory = PluginPath::parse(&directory).map_err(|error| error.to_string())?;
        let tree = Tree::of_archive(&self.get(&url).await?, &directory).map_err(|error| error.to_string())?;
        Ok(Fetched { tree, name, said })
    }

    /// The copy of a plugin that its owner shares.
    async fn fetch_shared(&self, owner: &str, name: String) -> Result<Fetched, String> {
        let shared = self.store.shared_plugins().await.map_err(|error| error.shown())?;
        let found = shared.into_iter().find(|shared| shared.owner == owner && shared.plugin.name == name);
        let Some(found) = found else {
            return Err(format!("{owner} shares no plugin {name:?}; see `sandbridge plugin shelf list`"));
        };
        let files = self.store.plugin_files(found.owner_id, &name, &found.plugin.hash).await;
        let tree = tree_of(files.map_err(|error| error.shown())?)?;
        Ok(Fetched { tree, name, said: Vec::new() })
    }

    pub(super) async fn get(&self, url: &str) -> Result<Vec<u8>, String> {
        let parsed = Url::parse(url).map_err(|error| format!("{url:?} is not an address: {error}"))?;
        let answer = self.getter.get(parsed).await.map_err(|error| format!("{url}: {error}"))?;
        if answer.is_cut {
            return Err(format!(
                "{url}: it is larger than {} MiB",
                crate::limits::PLUGIN_ARCHIVE_BYTES >> 20
            ));
        }
        Ok(answer.content.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(url: &str, directory: &str, name: &str) -> Place {
        Place::Archive { url: url.to_owned(), directory: directory.to_owned(), name: name.to_owned() }
    }

    #[test]
    fn sources_are_told_apart() {
        for (source, place) in [
            ("https://x.example/a/lint.tar.gz", archive("https://x.example/a/lint.tar.gz", "", "lint")),
            ("github:o/r", archive("https://codeload.github.com/o/r/tar.gz/HEAD", "", "r")),
            (
                "github:o/r@v1.2#plugins/lint",
                archive("https://codeload.github.com/o/r/tar.gz/v1.2", "plugins/lint", "lint"),
            ),
            ("npm:lint", Place::Npm { package: "lint".to_owned(), version: "latest".to_owned() }),
            (
                "npm:@a/lint@1.0.0-x",
                Place::Npm { package: "@a/lint".to_owned(), version: "1.0.0-x".to_owned() },
            ),
            ("lint@tools", Place::Known { market: "tools".to_owned(), plugin: "lint".to_owned() }),
            ("shelf:ada/lint", Place::Shelf { owner: "ada".to_owned(), name: "lint".to_owned() }),
            (
                "lint@github:o/r",
                Place::Marketplace { repository: "o/r".to_owned(), plugin: "lint".to_owned() },
            ),
        ] {
            assert_eq!(Place::parse(source).unwrap(), place, "{source}");
        }
        for source in [
            "",
            "lint",
            "npm:",
            "npm:a b",
            "npm:a@../x",
            "npm:../x",
            "npm:@a",
            "github:o",
            "github:o/r/x",
            "github:../r",
            "github:o/r@a b",
            "github:o/r#../x",
            "github:o/r#/etc",
            "file:///etc/passwd",
            "@github:o/r",
            "lint@github:o/r?x",
            "lint@",
            "lint@../x",
            "@tools",
            "shelf:lint",
            "shelf:ada/../lint",
            "ftp://x/y.zip",
        ] {
            assert!(Place::parse(source).unwrap_err().contains("not a source of a plugin"), "{source}");
        }
    }
}

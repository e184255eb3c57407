//! The sources of plugins: an archive at an address, a package of npm, a repository on a git host, a marketplace, the server's shelf.
//!
//! | source | is |
//! |---|---|
//! | `https://HOST/PATH` | a `.tar.gz` or `.zip` archive |
//! | `npm:NAME[@VERSION]` | a package of npm's registry |
//! | `github:OWNER/REPOSITORY[@REVISION][#DIRECTORY]`, or one of another host: see `forge` | a repository, or a directory of one |
//! | `PLUGIN@github:OWNER/REPOSITORY` | a plugin of the marketplace in a repository |
//! | `PLUGIN@MARKETPLACE` | a plugin of a marketplace that the user added |
//! | `shelf:OWNER/NAME` | a plugin that a user of this server shares |

use plugins::{Entry, Marketplace, PluginPath, Revision, Source, Tree};
use reqwest::Url;
use serde::Deserialize;
use store::User;

use super::Inner;
use super::forge::{Repository, is_name, is_revision};
use super::installed::tree_of;
use super::market::Market;
use super::on_runner::tree_on;

/// The registry of npm packages.
const NPM: &str = "https://registry.npmjs.org/";
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
    /// A directory of a repository.
    Repository {
        repository: Repository,
        directory: String,
    },
    /// A plugin of a marketplace that was not added.
    Marketplace {
        repository: Repository,
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
                "{source:?} is not a source of a plugin: write https://…, npm:NAME, github:OWNER/REPOSITORY, gitlab:GROUP/REPOSITORY, codeberg:OWNER/REPOSITORY, \
                 forgejo:https://HOST/OWNER/REPOSITORY, PLUGIN@MARKETPLACE, PLUGIN@github:OWNER/REPOSITORY, or shelf:OWNER/NAME"
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
        let (repository, directory) = source.split_once('#').unwrap_or((source, ""));
        if let Some(repository) = Repository::parse(repository) {
            return in_repository(repository, directory).ok_or_else(wrong);
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
            Some((plugin, market)) if is_name(plugin) => match Repository::parse(market) {
                Some(repository) => Ok(Self::Marketplace { repository, plugin: plugin.to_owned() }),
                None if is_name(market) => {
                    Ok(Self::Known { market: market.to_owned(), plugin: plugin.to_owned() })
                }
                None => Err(wrong()),
            },
            _ => Err(wrong()),
        }
    }
}

/// A directory of a repository; `None` if it leads elsewhere.
fn in_repository(repository: Repository, directory: &str) -> Option<Place> {
    let directory = PluginPath::parse(directory).ok()?.as_str().to_owned();
    Some(Place::Repository { repository, directory })
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

/// The place of a marketplace's plugin.
fn of_entry(market: &Market, entry: &Entry) -> Result<Place, String> {
    let not_here = |kind: &str| {
        format!("the marketplace places {} {kind}, which Sandbridge cannot fetch", entry.manifest.name)
    };
    let place = match &entry.source {
        Source::Directory(directory) => match market {
            Market::Repository(repository) => in_repository(repository.clone(), directory.as_str()),
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
        Source::GitHub { repository, revision } => Repository::github(repository, at(revision))
            .and_then(|repository| in_repository(repository, revision.directory.as_str())),
        Source::Git { url, revision } => {
            let Some(repository) = Repository::at_address(url, at(revision)) else {
                return Err(not_here("in a git repository outside of GitHub, GitLab and Codeberg"));
            };
            in_repository(repository, revision.directory.as_str())
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

/// The commit of a revision, or else its branch or tag; empty for the newest.
fn at(revision: &Revision) -> &str {
    if revision.commit.is_empty() { &revision.branch } else { &revision.commit }
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
                let document = self.document_in(&repository).await?.0;
                offered(&Market::Repository(repository), &document, &plugin)?
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
        let (archive, directory, name) = match place {
            Place::Archive { url, directory, name } => (self.get(&url).await?, directory, name),
            Place::Repository { repository, directory } => {
                let name = match directory.rsplit('/').next() {
                    Some("") | None => repository.name().to_owned(),
                    Some(name) => name.to_owned(),
                };
                (repository.archive(self).await?, directory, name)
            }
            Place::Npm { package, version } => {
                let about = self.get(&format!("{NPM}{}/{version}", package.replace('/', "%2f"))).await?;
                let about: Package = serde_json::from_slice(&about)
                    .map_err(|_| format!("npm's registry does not describe {package} {version}"))?;
                let name = package.rsplit('/').next().unwrap_or_default().to_owned();
                (self.get(&about.dist.tarball).await?, String::new(), name)
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
        let tree = Tree::of_archive(&archive, &directory).map_err(|error| error.to_string())?;
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

    fn repository(source: &str) -> Repository {
        Repository::parse(source).unwrap()
    }

    fn within(source: &str, directory: &str) -> Place {
        Place::Repository { repository: repository(source), directory: directory.to_owned() }
    }

    #[test]
    fn sources_are_told_apart() {
        for (source, place) in [
            ("https://x.example/a/lint.tar.gz", archive("https://x.example/a/lint.tar.gz", "", "lint")),
            ("github:o/r", within("github:o/r", "")),
            ("github:o/r@v1.2#plugins/lint", within("github:o/r@v1.2", "plugins/lint")),
            ("gitlab:https://git.example/a/b/r#lint", within("gitlab:https://git.example/a/b/r", "lint")),
            ("npm:lint", Place::Npm { package: "lint".to_owned(), version: "latest".to_owned() }),
            (
                "npm:@a/lint@1.0.0-x",
                Place::Npm { package: "@a/lint".to_owned(), version: "1.0.0-x".to_owned() },
            ),
            ("lint@tools", Place::Known { market: "tools".to_owned(), plugin: "lint".to_owned() }),
            ("shelf:ada/lint", Place::Shelf { owner: "ada".to_owned(), name: "lint".to_owned() }),
            (
                "lint@codeberg:o/r@v1",
                Place::Marketplace { repository: repository("codeberg:o/r@v1"), plugin: "lint".to_owned() },
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
            "gitlab:o",
            "forgejo:o/r",
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

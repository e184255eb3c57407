//! Repositories on git hosts. Their files are fetched as archives: nothing runs git.
//!
//! | source | host |
//! |---|---|
//! | `github:OWNER/REPOSITORY` | GitHub |
//! | `gitlab:GROUP/REPOSITORY`, `gitlab:https://HOST/GROUP/REPOSITORY` | gitlab.com, or another GitLab |
//! | `codeberg:OWNER/REPOSITORY` | codeberg.org |
//! | `forgejo:https://HOST/OWNER/REPOSITORY` | a Forgejo or Gitea |
//!
//! Each may end with `@REVISION`.

use reqwest::Url;
use serde::Deserialize;

use super::Inner;
use crate::limits::REPOSITORY_GROUPS;

/// The archives of GitHub's repositories.
const GITHUB_ARCHIVES: &str = "https://codeload.github.com/";
/// The files of GitHub's repositories.
const GITHUB_FILES: &str = "https://raw.githubusercontent.com/";
/// The newest revision of the main branch of GitHub's repositories.
const GITHUB_NEWEST: &str = "HEAD";

/// The public hosts, by which addresses of repositories are recognised.
const GITHUB: &str = "https://github.com";
const GITLAB: &str = "https://gitlab.com";
const CODEBERG: &str = "https://codeberg.org";

/// The software of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Forge {
    GitHub,
    GitLab,
    /// Forgejo, or Gitea, whose interface is the same.
    Forgejo,
}

/// A repository at a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Repository {
    forge: Forge,
    /// The scheme and host, such as `https://gitlab.com`.
    host: String,
    /// `OWNER/NAME`; on GitLab, an owner may be a group in another one.
    path: String,
    /// A branch, tag or commit; the newest of the main branch if empty.
    revision: String,
}

/// A repository, as Forgejo describes it.
#[derive(Deserialize)]
struct Described {
    default_branch: String,
}

impl Repository {
    /// Reads a source as a user types it; `None` if it is no repository.
    pub(super) fn parse(source: &str) -> Option<Self> {
        let (kind, place) = source.split_once(':')?;
        let (place, revision) = match place.split_once('@') {
            Some((_, "")) => return None,
            Some(both) => both,
            None => (place, ""),
        };
        let (forge, host) = match kind {
            "github" => (Forge::GitHub, GITHUB),
            "gitlab" => (Forge::GitLab, GITLAB),
            "codeberg" => (Forge::Forgejo, CODEBERG),
            "forgejo" => (Forge::Forgejo, ""),
            _ => return None,
        };
        match parts(place) {
            Some((own, path)) if matches!(kind, "gitlab" | "forgejo") => {
                Self::new(forge, &own, &path, revision)
            }
            Some(_) => None,
            None => Self::new(forge, host, place, revision),
        }
    }

    /// The repository at an address as git uses it, if it is on one of the public hosts.
    pub(super) fn at_address(address: &str, revision: &str) -> Option<Self> {
        let (host, path) = parts(address)?;
        let forge = match host.as_str() {
            GITHUB => Forge::GitHub,
            GITLAB => Forge::GitLab,
            CODEBERG => Forge::Forgejo,
            _ => return None,
        };
        Self::new(forge, &host, path.strip_suffix(".git").unwrap_or(&path), revision)
    }

    /// A repository of GitHub.
    pub(super) fn github(path: &str, revision: &str) -> Option<Self> {
        Self::new(Forge::GitHub, GITHUB, path, revision)
    }

    fn new(forge: Forge, host: &str, path: &str, revision: &str) -> Option<Self> {
        let names = path.split('/').count();
        let most = if forge == Forge::GitLab { REPOSITORY_GROUPS } else { 2 };
        let is_path = path.split('/').all(is_name) && (2..=most).contains(&names);
        let is_known = revision.is_empty() || is_revision(revision);
        (!host.is_empty() && is_path && is_known).then(|| Self {
            forge,
            host: host.to_owned(),
            path: path.to_owned(),
            revision: revision.to_owned(),
        })
    }

    /// The repository's own name.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// The address of a single file, where the host has one for every revision.
    pub(super) fn file(&self, file: &str) -> Option<String> {
        (self.forge == Forge::GitHub)
            .then(|| format!("{GITHUB_FILES}{}/{}/{file}", self.path, self.or_newest()))
    }

    fn or_newest(&self) -> &str {
        if self.revision.is_empty() { GITHUB_NEWEST } else { &self.revision }
    }

    /// The address of the archive of all files at a revision.
    fn archive_at(&self, revision: &str) -> Result<Url, String> {
        let Self { forge, host, path, .. } = self;
        let address = match forge {
            Forge::GitHub => format!("{GITHUB_ARCHIVES}{path}/tar.gz/{}", self.or_newest()),
            Forge::GitLab => {
                format!("{host}/api/v4/projects/{}/repository/archive.tar.gz", path.replace('/', "%2F"))
            }
            Forge::Forgejo => format!("{host}/api/v1/repos/{path}/archive/{revision}.tar.gz"),
        };
        let invalid = |error| format!("{address:?} is not an address: {error}");
        let mut url = Url::parse(&address).map_err(invalid)?;
        if *forge == Forge::GitLab && !revision.is_empty() {
            url.query_pairs_mut().append_pair("sha", revision);
        }
        Ok(url)
    }

    /// The archive of all files.
    ///
    /// Fails with the reason as text.
    pub(super) async fn archive(&self, inner: &Inner) -> Result<Vec<u8>, String> {
        let mut revision = self.revision.clone();
        if self.forge == Forge::Forgejo && revision.is_empty() {
            let about = inner.get(&format!("{}/api/v1/repos/{}", self.host, self.path)).await?;
            let branch = serde_json::from_slice(&about).map(|about: Described| about.default_branch);
            revision = branch.ok().filter(|branch| is_revision(branch)).ok_or_else(|| {
                format!(
                    "{} does not name the main branch of {}; name a branch: {}@BRANCH",
                    self.host, self.path, self.path
                )
            })?;
        }
        inner.get(self.archive_at(&revision)?.as_str()).await
    }
}

/// The scheme and host of an address, and its path; `None` if it is no address of a repository.
fn parts(address: &str) -> Option<(String, String)> {
    if !address.starts_with("https://") && !address.starts_with("http://") {
        return None;
    }
    let url = Url::parse(address).ok()?;
    let is_plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    let path = url.path().trim_matches('/').to_owned();
    (is_plain && url.fragment().is_none()).then(|| (url.origin().ascii_serialization(), path))
}

/// True for a valid name of a plugin, a marketplace, an owner or a repository.
pub(super) fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !text.is_empty() && !text.starts_with('.') && text.chars().all(is_plain)
}

/// True for a valid branch, tag, commit or version.
pub(super) fn is_revision(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | '/');
    !text.is_empty()
        && text.chars().all(is_plain)
        && !text.split('/').any(|part| part.starts_with('.') || part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_has_its_own_address_of_an_archive() {
        for (source, archive) in [
            ("github:o/r", "https://codeload.github.com/o/r/tar.gz/HEAD"),
            ("github:o/r@v1.2", "https://codeload.github.com/o/r/tar.gz/v1.2"),
            ("gitlab:a/b/r", "https://gitlab.com/api/v4/projects/a%2Fb%2Fr/repository/archive.tar.gz"),
            (
                "gitlab:http://git.example:8080/a/r@fix/x+1",
                "http://git.example:8080/api/v4/projects/a%2Fr/repository/archive.tar.gz?sha=fix%2Fx%2B1",
            ),
            ("codeberg:o/r@main", "https://codeberg.org/api/v1/repos/o/r/archive/main.tar.gz"),
            ("forgejo:https://git.example/o/r@v1", "https://git.example/api/v1/repos/o/r/archive/v1.tar.gz"),
        ] {
            let repository = Repository::parse(source).unwrap_or_else(|| panic!("{source}"));
            assert_eq!(repository.archive_at(&repository.revision).unwrap().as_str(), archive, "{source}");
            assert_eq!(repository.name(), "r");
        }
        let file = |source: &str| Repository::parse(source).unwrap().file("a.json");
        assert_eq!(file("github:o/r").unwrap(), "https://raw.githubusercontent.com/o/r/HEAD/a.json");
        assert_eq!(file("gitlab:o/r"), None);
    }

    #[test]
    fn what_is_no_repository_is_refused() {
        for source in [
            "github:o",
            "github:o/r/x",
            "github:../r",
            "github:o/r@",
            "github:o/r@../x",
            "github:https://git.example/o/r",
            "gitlab:o",
            "gitlab:o//r",
            "gitlab:a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w",
            "gitlab:https://a:b@git.example/o/r",
            "gitlab:https://git.example/o/r?x=1",
            "gitlab:file:///o/r",
            "codeberg:https://git.example/o/r",
            "forgejo:o/r",
            "forgejo:https://git.example/o/%2e%2e",
            "o/r",
        ] {
            assert_eq!(Repository::parse(source), None, "{source}");
        }
        let at = |address: &str| Repository::at_address(address, "v1");
        assert_eq!(at("https://github.com/o/r.git"), Repository::parse("github:o/r@v1"));
        assert_eq!(at("https://gitlab.com/a/b/r"), Repository::parse("gitlab:a/b/r@v1"));
        assert_eq!(at("https://codeberg.org/o/r.git"), Repository::parse("codeberg:o/r@v1"));
        for address in ["https://git.example/o/r.git", "http://github.com/o/r", "git@github.com:o/r.git"] {
            assert_eq!(at(address), None, "{address}");
        }
    }
}

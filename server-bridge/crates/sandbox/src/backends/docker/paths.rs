//! Paths as the engine sees them, for a server that runs in a container itself.
//!
//! The engine mounts paths of *its* machine. A server in a container has other paths: they are mapped by its configuration
//! (`--docker-path-map`) or else by the mounts of its own container.

use std::path::{Path, PathBuf};

use crate::backends::docker::errors::unavailable;
use crate::error::RouteError;

/// The mapping of this server's paths to the engine's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathMap {
    /// This server's directory and the engine's; the longest match is used.
    pairs: Vec<(PathBuf, PathBuf)>,
    /// True if a path outside all these directories is the same for the engine.
    else_same: bool,
}

impl PathMap {
    /// The mapping for a server on the engine's machine; configured pairs still take precedence.
    pub(super) fn same(told: &[(PathBuf, PathBuf)]) -> Self {
        Self { pairs: told.to_vec(), else_same: true }
    }

    /// The mapping for a server in a container with these mounts (destination and source); configured pairs take precedence.
    pub(super) fn contained(told: &[(PathBuf, PathBuf)], mounts: Vec<(PathBuf, PathBuf)>) -> Self {
        let of_its_own = |(inside, _): &(PathBuf, PathBuf)| told.iter().all(|(told, _)| told != inside);
        let mounts = mounts.into_iter().filter(of_its_own);
        Self { pairs: told.iter().cloned().chain(mounts).collect(), else_same: false }
    }

    /// The engine's path for this server's `path`.
    pub(super) fn on_engine(&self, path: &Path) -> Result<PathBuf, RouteError> {
        let fitting = self.pairs.iter().filter_map(|(inside, outside)| {
            let rest = path.strip_prefix(inside).ok()?;
            Some((inside.components().count(), outside, rest))
        });
        match fitting.max_by_key(|(depth, ..)| *depth) {
            // Joining nothing would append a slash, and a file is not a directory.
            Some((_, outside, rest)) if rest.as_os_str().is_empty() => Ok(outside.clone()),
            Some((_, outside, rest)) => Ok(outside.join(rest)),
            None if self.else_same => Ok(path.to_owned()),
            None => Err(unavailable(format!(
                "this server runs in a container, and the engine cannot see {} there; mount its directory from the engine's \
                 machine, or give its path there with --docker-path-map {}=HOST_DIRECTORY",
                path.display(),
                path.parent().unwrap_or(path).display(),
            ))),
        }
    }
}

/// The id of the container this process runs in, if it runs in one.
///
/// The engine mounts its own files over `/etc/hostname` and similar paths; their sources contain the container's id.
pub(super) fn own_container_id(mountinfo: &str) -> Option<&str> {
    mountinfo.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(3);
        let (source, target) = (fields.next()?, fields.next()?);
        if !["/etc/hostname", "/etc/hosts", "/etc/resolv.conf"].contains(&target) {
            return None;
        }
        let mut parts = source.rsplit('/').skip(1);
        let id = parts.next()?;
        let is_id = id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_id && parts.next() == Some("containers")).then_some(id)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(PathBuf, PathBuf)> {
        pairs.iter().map(|(inside, outside)| (inside.into(), outside.into())).collect()
    }

    fn on_engine(map: &PathMap, path: &str) -> Option<String> {
        map.on_engine(Path::new(path)).ok().map(|path| path.display().to_string())
    }

    #[test]
    fn on_the_engines_machine_paths_are_the_same() {
        let map = PathMap::same(&[]);
        assert_eq!(on_engine(&map, "/opt/runner").as_deref(), Some("/opt/runner"));
        let map = PathMap::same(&pairs(&[("/opt", "/srv")]));
        assert_eq!(on_engine(&map, "/opt/runner").as_deref(), Some("/srv/runner"));
        assert_eq!(on_engine(&map, "/optical/runner").as_deref(), Some("/optical/runner"));
    }

    #[test]
    fn in_a_container_the_deepest_mount_names_the_engines_path() {
        let mounts = pairs(&[("/data", "/srv/data"), ("/data/bin", "/opt/bin"), ("/run/r", "/opt/runner")]);
        let map = PathMap::contained(&[], mounts.clone());
        for (inside, outside) in [
            ("/data/home/w", Some("/srv/data/home/w")),
            ("/data/bin/runner", Some("/opt/bin/runner")),
            ("/data", Some("/srv/data")),
            ("/run/r", Some("/opt/runner")),
            ("/database", None),
            ("/usr/bin/runner", None),
        ] {
            assert_eq!(on_engine(&map, inside).as_deref(), outside, "{inside}");
        }
        let told = PathMap::contained(&pairs(&[("/data/bin", "/told")]), mounts);
        assert_eq!(on_engine(&told, "/data/bin/runner").as_deref(), Some("/told/runner"));
        let error = map.on_engine(Path::new("/usr/bin/runner")).unwrap_err().to_string();
        assert!(error.contains("--docker-path-map /usr/bin=HOST_DIRECTORY"), "{error}");
    }

    #[test]
    fn own_container_is_known_by_its_mounts_and_nobody_elses_is_taken_for_it() {
        let id = "0123456789abcdef".repeat(4);
        let own = format!(
            "644 631 8:1 / /etc ro - ext4 /dev/sda1 rw\n\
             645 631 8:1 /var/lib/docker/containers/{id}/hostname /etc/hostname rw,relatime - ext4 /dev/sda1 rw\n"
        );
        assert_eq!(own_container_id(&own), Some(id.as_str()));
        let host = format!(
            "700 28 0:55 / /var/lib/docker/containers/{id}/mounts/shm rw - tmpfs shm rw\n\
             701 28 8:1 /containers/short/hostname /etc/hostname rw - ext4 /dev/sda1 rw\n\
             nonsense\n"
        );
        assert_eq!(own_container_id(&host), None);
    }
}

//! The names of a user's objects on the engine.

use std::path::Path;

use crate::digest::sha256_hex;
use crate::limits::CONTAINER_KEY_BYTES;

/// The number of digits of the owner's digest in each name.
const OWNER_DIGITS: usize = 8;

/// The number of digest digits that replace a key that cannot be part of a name.
const KEY_DIGITS: usize = 40;

/// The names of one user's container, volume and image, for one server.
///
/// For any user key, the container's name matches `^[a-z0-9][a-z0-9_.-]{0,127}$`, the image's name is a valid
/// repository name, and no two keys share a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Names {
    /// The user's key as a part of names and of paths.
    pub(super) key: String,
    /// The container's name.
    pub(super) container: String,
    /// The name of the user's network.
    pub(super) network: String,
    /// The name of the workspace's volume.
    pub(super) volume: String,
    /// The repository of the image that the user made of their container.
    pub(super) repository: String,
}

impl Names {
    /// The names of one user's objects; `owner` distinguishes two servers on one engine.
    pub(super) fn new(owner: &Path, user_key: &str) -> Self {
        let owner = sha256_hex(owner.as_os_str().as_encoded_bytes());
        let (owner, key) = (&owner[..OWNER_DIGITS], plain_key(user_key));
        let container = format!("sandbridge-{owner}-{key}");
        Self {
            volume: format!("{container}-workspace"),
            repository: format!("sandbridge/{owner}-{key}"),
            network: container.clone(),
            container,
            key,
        }
    }

    /// The image that the user made of their container.
    pub(super) fn image(&self) -> String {
        format!("{}:latest", self.repository)
    }
}

/// A key of letters and digits stays unchanged; any other key is replaced by its digest after a dash, which no
/// unchanged key contains.
fn plain_key(key: &str) -> String {
    let is_plain = (1..=CONTAINER_KEY_BYTES).contains(&key.len())
        && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if is_plain { key.to_owned() } else { format!("key-{}", &sha256_hex(key.as_bytes())[..KEY_DIGITS]) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// True if a name matches `^[a-z0-9][a-z0-9_.-]{0,127}$`, which also satisfies Docker's own rule for names.
    fn is_name(name: &str) -> bool {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        name.bytes().next().is_some_and(plain)
            && name.len() <= 128
            && name.bytes().all(|byte| plain(byte) || matches!(byte, b'_' | b'.' | b'-'))
    }

    #[test]
    fn any_key_gives_a_valid_name_and_no_two_keys_the_same() {
        let long = "a".repeat(4096);
        let mapped = format!("key-{}", &sha256_hex(b"Alice")[..KEY_DIGITS]);
        let keys = [
            "u1",
            "u10",
            "",
            "Alice",
            "alice",
            "../../etc",
            "a/b",
            "a b",
            "a\nb",
            "a\0b",
            "-rf",
            ".",
            "..",
            "_",
            "a__b",
            "a..b",
            "ä",
            "\u{202e}u1",
            "U1",
            "$(id)",
            "'; rm -rf /",
            "key-1",
            &mapped,
            &long,
            &long[..CONTAINER_KEY_BYTES],
            &long[..CONTAINER_KEY_BYTES + 1],
        ];
        let names: Vec<Names> = keys.iter().map(|key| Names::new(Path::new("/home"), key)).collect();
        for Names { key, container, network, volume, repository } in &names {
            assert!(is_name(container) && is_name(volume) && is_name(key), "{container}");
            assert!(is_name(network), "{network}");
            let (_, last) = repository.split_once('/').unwrap();
            assert!(is_name(last) && !last.ends_with('-') && !last.contains("--"), "{repository}");
        }
        let different: HashSet<&str> = names.iter().map(|names| names.container.as_str()).collect();
        assert_eq!(different.len(), keys.len());
        assert!(names[0].container.ends_with("-u1") && names[0].image().ends_with("-u1:latest"));
    }

    #[test]
    fn two_servers_on_one_engine_have_names_of_their_own() {
        assert_ne!(Names::new(Path::new("/a"), "u1"), Names::new(Path::new("/b"), "u1"));
    }
}

//! The hash of a tree, as the server computes it too.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use proto::request::{HashTree, HashedEntry, HashedKind, tree_bytes};
use proto::{ErrorKind, Message, WireError};
use sha2::{Digest, Sha256};

use crate::world::{Peer, World};

async fn within(
    peer: &mut Peer,
    path: &str,
    most_entries: u32,
    most_bytes: u64,
) -> Result<[u8; 32], WireError> {
    match peer.ask(HashTree { path: path.into(), most_entries, most_bytes }).await? {
        Message::TreeHashed(hashed) => Ok(hashed.sha256),
        other => panic!("{other:?}"),
    }
}

async fn hash(peer: &mut Peer, path: &str) -> Result<[u8; 32], WireError> {
    within(peer, path, 100, 1_000).await
}

#[test]
fn the_hash_of_a_tree_shows_each_difference_and_nothing_outside_is_hashed() {
    World::run(async |world| {
        fs::create_dir_all(world.path("p/hooks")).unwrap();
        fs::write(world.path("p/hooks/guard.sh"), "exit 2\n").unwrap();
        let entry = |path: &str, kind| HashedEntry { path: path.into(), kind };
        let guard = HashedKind::File(Sha256::digest("exit 2\n").into());
        let entries = vec![entry("hooks/guard.sh", guard), entry("hooks", HashedKind::Directory)];
        let expected: [u8; 32] = Sha256::digest(tree_bytes(entries)).into();
        assert_eq!(hash(&mut world.peer, "p").await, Ok(expected));
        let extra = world.path("p/hooks/json.py");
        for make in
            [&(|| fs::write(&extra, "").unwrap()) as &dyn Fn(), &|| fs::create_dir(&extra).unwrap(), &|| {
                symlink("guard.sh", &extra).unwrap()
            }]
        {
            make();
            assert_ne!(hash(&mut world.peer, "p").await.unwrap(), expected);
            fs::remove_file(&extra).or_else(|_| fs::remove_dir(&extra)).unwrap();
        }
        fs::write(world.path("p/hooks/guard.sh"), "exit 0\n").unwrap();
        assert_ne!(hash(&mut world.peer, "p").await.unwrap(), expected);
        fs::write(world.path("p/hooks/guard.sh"), "exit 2\n").unwrap();
        assert_eq!(hash(&mut world.peer, "p").await, Ok(expected));

        fs::set_permissions(world.path("p/hooks/guard.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        assert_ne!(hash(&mut world.peer, "p").await.unwrap(), expected);
        fs::set_permissions(world.path("p/hooks/guard.sh"), fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(hash(&mut world.peer, "p").await, Ok(expected));

        // Another directory that a link leads to is not the one that was asked about.
        fs::rename(world.path("p"), world.path("q")).unwrap();
        symlink("q", world.path("p")).unwrap();
        let kind = async |peer: &mut Peer, path: &str, entries, bytes| {
            within(peer, path, entries, bytes).await.unwrap_err().kind
        };
        assert_eq!(kind(&mut world.peer, "p", 100, 1_000).await, ErrorKind::InvalidPath);
        assert_eq!(kind(&mut world.peer, "../q", 100, 1_000).await, ErrorKind::EscapesWorkspace);
        assert_eq!(kind(&mut world.peer, "nothing", 100, 1_000).await, ErrorKind::NotFound);
        assert_eq!(kind(&mut world.peer, "q", 1, 1_000).await, ErrorKind::TooLarge);
        assert_eq!(kind(&mut world.peer, "q", 100, 6).await, ErrorKind::TooLarge);
        assert_eq!(within(&mut world.peer, "q", 2, 7).await, Ok(expected));
    });
}

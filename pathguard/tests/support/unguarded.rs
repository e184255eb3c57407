//! The attempts of the corpus, made as a careless program would: join the path to the root and use it.

use std::io::{Read, Result};
use std::path::Path;

use super::corpus::Attempt;
use super::guarded::seen_size;

/// Makes the attempt and returns what it saw.
pub(crate) fn attempt(root: &Path, attempt: Attempt, path: &Path) -> Result<String> {
    let joined = root.join(path);
    let done = |result: Result<()>| result.map(|()| String::new());
    match attempt {
        Attempt::Read => {
            let mut seen = Vec::new();
            std::fs::File::open(joined)?.take(4096).read_to_end(&mut seen)?;
            Ok(String::from_utf8_lossy(&seen).into_owned())
        }
        Attempt::Write => done(std::fs::write(joined, b"payload")),
        Attempt::WriteWithParents => {
            std::fs::create_dir_all(joined.parent().unwrap())?;
            done(std::fs::write(joined, b"payload"))
        }
        Attempt::Stat => Ok(seen_size(std::fs::metadata(joined)?.len())),
        Attempt::List | Attempt::WorkingDirectory => {
            std::fs::read_dir(joined)?.map(|entry| Ok(format!("{:?} ", entry?.file_name()))).collect()
        }
        Attempt::MakeDirectories => done(std::fs::create_dir_all(joined)),
        Attempt::Remove => done(std::fs::remove_file(joined)),
        Attempt::RemoveAll => done(std::fs::remove_dir_all(joined)),
        Attempt::RenameFrom => done(std::fs::rename(joined, root.join("stolen"))),
        Attempt::RenameTo => done(std::fs::rename(root.join("mine"), joined)),
    }
}

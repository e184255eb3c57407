//! A private certificate authority, like that of a company, and a server's certificate that it issued.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// The authority's files; they are removed when this is dropped.
pub struct Authority {
    directory: TempDir,
}

impl Authority {
    /// Creates an authority, and a certificate for a server with this name, which is also valid for this machine.
    pub fn new(name: &str) -> Self {
        let directory = TempDir::with_prefix("sandbridge-authority-").unwrap();
        let names = format!("subjectAltName=DNS:{name},IP:127.0.0.1");
        for arguments in [
            "req -x509 -days 2 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ca.key -out ca.pem -subj /CN=Authority",
            &format!(
                "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out request.pem -subj /CN={name} -addext {names}"
            ),
            "x509 -req -days 2 -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -copy_extensions copy -out certificate.pem",
        ] {
            let mut openssl = Command::new("openssl");
            let made = openssl.args(arguments.split(' ')).current_dir(directory.path()).output().unwrap();
            assert!(made.status.success(), "{arguments}: {}", String::from_utf8_lossy(&made.stderr));
        }
        Self { directory }
    }

    /// The authority's own certificate, for clients that trust it.
    pub fn certificate(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    /// The server's certificate and key.
    pub fn for_server(&self) -> [PathBuf; 2] {
        ["certificate.pem", "key.pem"].map(|name| Path::join(self.directory.path(), name))
    }
}

//! Third-party model servers, installed by `scripts/test` from their package index into `target/third-party`.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::{binaries, eventually, process};

/// How long one may take to listen: the larger one loads half a gigabyte of libraries.
const LISTENS_WITHIN: Duration = Duration::from_secs(120);

/// A running server; it is stopped when this is dropped.
pub struct ThirdParty {
    process: Child,
    url: String,
    home: TempDir,
}

impl ThirdParty {
    /// A mock of both providers, which answers by rules (`fakellm`).
    pub fn mock(rules: &str) -> Self {
        Self::start("fakellm", rules, |command, config, port| {
            command.args(["serve", "--config", config, "--port", port]);
        })
    }

    /// A proxy that speaks both dialects to any server (`litellm`).
    pub fn proxy(config: &str) -> Self {
        Self::start("litellm", config, |command, config, port| {
            command.args(["--config", config, "--host", "127.0.0.1", "--port", port]);
            // It can reach only this machine.
            command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True").env("LITELLM_TELEMETRY", "False");
        })
    }

    fn start(name: &str, config: &str, arguments: impl FnOnce(&mut Command, &str, &str)) -> Self {
        let program = binaries::directory().join(format!("../third-party/{name}/bin/{name}"));
        assert!(program.exists(), "{} is not there: run the tests through scripts/test", program.display());
        let home = TempDir::with_prefix("sandbridge-third-party-").unwrap();
        let file = home.path().join("config.yaml");
        fs::write(&file, config).unwrap();
        // Free a moment ago; the server cannot choose a port itself.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(program);
        arguments(&mut command, file.to_str().unwrap(), &port.to_string());
        let log = fs::File::create(home.path().join("log")).unwrap();
        command.env("HOME", home.path()).current_dir(home.path()).stdin(Stdio::null());
        let process = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let server = Self { process, url: format!("http://127.0.0.1:{port}"), home };
        eventually(&format!("{name} listens: {}", server.log()), LISTENS_WITHIN, || {
            TcpStream::connect(("127.0.0.1", port)).is_ok().then_some(())
        });
        server
    }

    /// The server's base URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The server's output so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.home.path().join("log")).unwrap_or_default()
    }
}

impl Drop for ThirdParty {
    fn drop(&mut self) {
        process::terminate(&mut self.process);
    }
}

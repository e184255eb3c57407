//! A separate network: a machine in it reaches a server through one proxy, and nothing outside reaches what listens there.
//!
//! ```text
//!   the test's network: server ◀── proxy: its socket listens in the other network ──▶ runner, and services on that network's loopback
//! ```
//! Needs root, and busybox.

use std::fs::File;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::proxy::Proxy;
use crate::{Server, eventually, process};

/// How long the network may take to exist.
const PATIENCE: Duration = Duration::from_secs(10);

/// The network; it ends when this is dropped, and all of its processes have ended.
pub struct Network {
    /// A process that keeps the network alive.
    holder: Child,
}

impl Network {
    /// Creates a network.
    pub fn new() -> Self {
        let holder = Command::new("unshare")
            .args(["--net", "sleep", "infinity"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let pid = holder.id().to_string();
        let network = Self { holder };
        let own = std::fs::read_link("/proc/self/ns/net").unwrap();
        eventually("the network exists", PATIENCE, || {
            let other = std::fs::read_link(format!("/proc/{pid}/ns/net")).ok()?;
            (other != own).then_some(())
        });
        let mut up = Command::new("nsenter");
        up.args(["--net", "--target", &pid, "busybox", "ip", "link", "set", "lo", "up"]);
        assert!(up.status().unwrap().success());
        network
    }

    /// Runs a function in the network: its sockets and the programs that it starts belong to that network.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let file = File::open(format!("/proc/{}/ns/net", self.holder.id())).unwrap();
        thread::scope(|scope| {
            let work = move || {
                // Only this thread enters the network; it ends with the work.
                move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
                work()
            };
            scope.spawn(work).join().unwrap()
        })
    }

    /// The address at which machines of this network reach a server of the test's network.
    pub fn proxy(&self, server: &Server) -> Proxy {
        Proxy::on(self.inside(|| TcpListener::bind("127.0.0.1:0").unwrap()), server)
    }

    /// A free port in the network.
    pub fn free_port(&self) -> u16 {
        self.inside(|| TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port())
    }
}

impl Default for Network {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        process::terminate(&mut self.holder);
    }
}

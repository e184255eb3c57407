//! A TCP proxy in front of servers: a network that drops, stalls and truncates on command.
//!
//! ```text
//! program ──▶ proxy ──▶ server, or the next one that listens
//!               │ cut: all its current connections meet the same fate; new ones are not affected
//!               │ part: all connections stall, and new ones wait
//!               │ mute: the same in one direction
//! ```

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::Server;

/// How much passes at a time; several frames or a part of one.
const CHUNK_BYTES: usize = 16 * 1024;

/// The interval of checks of a blocked write: its connection may have been cut.
const WRITE_LOOK: Duration = Duration::from_millis(50);

/// The fate of a connection.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// Both sides get a reset (RST); undelivered data is lost.
    Reset,
    /// Both sides get an end (FIN), possibly in the middle of a frame.
    End,
    /// This many more bytes of the server, or of the program, pass, then it is reset: mostly in the middle of a frame.
    Truncate {
        /// The number of bytes that still pass.
        bytes: usize,
        /// True if the server's bytes are counted, false for the program's.
        from_server: bool,
    },
    /// Nothing moves for this long; then it continues.
    Stall(Duration),
    /// The bytes of the server, or those of the program, stall for this long; then they continue.
    Mute {
        /// How long they stall.
        pause: Duration,
        /// True if the server's bytes stall, false if the program's do.
        from_server: bool,
    },
    /// Nothing moves for this long; then it is reset.
    StallAndReset(Duration),
    /// The program's side has ended, the server's is open and silent for this long, then reset.
    HalfOpen(Duration),
}

/// A listening proxy; its connections end when this is dropped.
pub struct Proxy {
    url: String,
    address: SocketAddr,
    connections: Arc<Mutex<Connections>>,
}

#[derive(Default)]
struct Connections {
    is_closed: bool,
    /// New connections begin after this time.
    parted_until: Option<Instant>,
    /// On new connections, the bytes of the server (`true`) or of the program pass after this time.
    muted_until: Option<(Instant, bool)>,
    open: Vec<Weak<Connection>>,
}

struct Connection {
    program: TcpStream,
    server: TcpStream,
    gate: Mutex<Gate>,
}

/// The data that may pass.
#[derive(Default)]
struct Gate {
    /// The times before which the bytes of the program, and those of the server, do not pass.
    closed_until: [Option<Instant>; 2],
    /// The remaining bytes in one direction, then a reset.
    rest: Option<(usize, bool)>,
    /// True if no more data passes.
    is_reset: bool,
}

impl Proxy {
    /// Listens on a new port.
    pub fn before(server: &Server) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").unwrap(), server)
    }

    /// Listens on this socket, which may be of another network.
    pub fn on(listener: TcpListener, server: &Server) -> Self {
        Self::between(listener, vec![address_of(server)])
    }

    /// A proxy in front of several servers, which take turns.
    pub fn before_each<'a>(servers: impl IntoIterator<Item = &'a Server>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Self::between(listener, servers.into_iter().map(address_of).collect())
    }

    /// A proxy in front of these addresses, which take turns.
    pub fn between(listener: TcpListener, targets: Vec<SocketAddr>) -> Self {
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(Mutex::new(Connections::default()));
        let accepted = Arc::clone(&connections);
        std::thread::spawn(move || {
            for (turn, program) in listener.incoming().flatten().enumerate() {
                let parted = lock(&accepted).parted_until;
                let pause = parted.and_then(|until| until.checked_duration_since(Instant::now()));
                std::thread::sleep(pause.unwrap_or_default());
                let mut connections = lock(&accepted);
                if connections.is_closed {
                    return;
                }
                let in_turn = targets.iter().cycle().skip(turn % targets.len()).take(targets.len());
                // If no server accepts a connection, the proxy closes its own.
                let Some(server) = in_turn.flat_map(TcpStream::connect).next() else { continue };
                connections.open.retain(|connection| connection.strong_count() > 0);
                let mut gate = Gate::default();
                if let Some((until, from_server)) = connections.muted_until {
                    gate.closed_until[usize::from(from_server)] = Some(until);
                }
                connections.open.push(Arc::downgrade(&forward(program, server, gate)));
            }
        });
        Self { url: format!("http://{address}"), address, connections }
    }

    /// The base URL for clients that should use the proxy.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Applies a fate to all current connections; returns their number.
    pub fn cut(&self, fate: Fate) -> usize {
        let open: Vec<_> = lock(&self.connections).open.iter().filter_map(Weak::upgrade).collect();
        open.iter().for_each(|connection| connection.meet(fate));
        open.len()
    }

    /// Stalls all connections, including new ones, for this long.
    pub fn part(&self, pause: Duration) {
        lock(&self.connections).parted_until = Some(Instant::now() + pause);
        self.cut(Fate::Stall(pause));
    }

    /// Stalls the bytes of the server, or those of the programs, for this long, including on new connections.
    pub fn mute(&self, pause: Duration, from_server: bool) {
        lock(&self.connections).muted_until = Some((Instant::now() + pause, from_server));
        self.cut(Fate::Mute { pause, from_server });
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        lock(&self.connections).is_closed = true;
        self.cut(Fate::Reset);
        // Wakes the accepting thread; if that fails, it has ended.
        let _ = TcpStream::connect(self.address);
    }
}

impl Connection {
    fn meet(self: &Arc<Self>, fate: Fate) {
        match fate {
            Fate::Reset => self.reset(),
            Fate::End => self.end(),
            Fate::Truncate { bytes, from_server } => lock(&self.gate).rest = Some((bytes, from_server)),
            Fate::Stall(pause) => self.stall(pause),
            Fate::Mute { pause, from_server } => {
                lock(&self.gate).closed_until[usize::from(from_server)] = Some(Instant::now() + pause);
            }
            Fate::StallAndReset(pause) => {
                self.stall(pause);
                self.later(pause, Self::reset);
            }
            Fate::HalfOpen(pause) => {
                self.stall(pause);
                let _ = self.program.shutdown(Shutdown::Both);
                self.later(pause, Self::reset);
            }
        }
    }

    fn stall(&self, pause: Duration) {
        lock(&self.gate).closed_until = [Some(Instant::now() + pause); 2];
    }

    fn later(self: &Arc<Self>, pause: Duration, then: fn(&Self)) {
        let connection = Arc::clone(self);
        std::thread::spawn(move || {
            std::thread::sleep(pause);
            then(&connection);
        });
    }

    /// Resets both sides, by closing them once their threads have ended.
    fn reset(&self) {
        lock(&self.gate).is_reset = true;
        for stream in [&self.program, &self.server] {
            // A close then sends RST. This wakes the reader, and the peer does not see it.
            let _ = rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO));
            let _ = stream.shutdown(Shutdown::Read);
        }
    }

    fn end(&self) {
        if lock(&self.gate).is_reset {
            return;
        }
        // A side that has already ended cannot be ended again.
        let _ = self.program.shutdown(Shutdown::Both);
        let _ = self.server.shutdown(Shutdown::Both);
    }

    /// Waits until data may pass; returns how much of `wanted`, and whether that is the last.
    fn admit(&self, wanted: usize, from_server: bool) -> (usize, bool) {
        loop {
            let mut gate = lock(&self.gate);
            let closed_until = gate.closed_until[usize::from(from_server)];
            let pause = closed_until.and_then(|until| until.checked_duration_since(Instant::now()));
            match (pause, &mut gate.rest) {
                (Some(pause), _) => {
                    drop(gate);
                    std::thread::sleep(pause);
                }
                (None, Some((rest, counted))) if *counted == from_server => {
                    let admitted = wanted.min(*rest);
                    *rest -= admitted;
                    return (admitted, *rest == 0);
                }
                (None, _) => return (wanted, false),
            }
        }
    }

    fn pass(&self, from_server: bool) {
        let (mut from, mut to) =
            if from_server { (&self.server, &self.program) } else { (&self.program, &self.server) };
        let mut buffer = vec![0; CHUNK_BYTES];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            let (admitted, is_last) = self.admit(read, from_server);
            let mut left = &buffer[..admitted];
            while !left.is_empty() {
                match to.write(left) {
                    Ok(written) => left = &left[written..],
                    Err(error) if error.kind() == ErrorKind::WouldBlock && !lock(&self.gate).is_reset => {}
                    Err(_) => return self.end(),
                }
            }
            if is_last {
                return self.reset();
            }
        }
        // One side's last data is delivered; the other may still send.
        if !lock(&self.gate).is_reset {
            let _ = to.shutdown(Shutdown::Write);
        }
    }
}

fn address_of(server: &Server) -> SocketAddr {
    server.url().trim_start_matches("http://").parse().unwrap()
}

fn forward(program: TcpStream, server: TcpStream, gate: Gate) -> Arc<Connection> {
    for stream in [&program, &server] {
        stream.set_nodelay(true).unwrap();
        stream.set_write_timeout(Some(WRITE_LOOK)).unwrap();
    }
    let connection = Arc::new(Connection { program, server, gate: Mutex::new(gate) });
    for from_server in [true, false] {
        let connection = Arc::clone(&connection);
        std::thread::spawn(move || connection.pass(from_server));
    }
    connection
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The limits of an unauthenticated connection.
//!
//! ```text
//!  accepted ─► a slot for the unproven ─► sent much, or reads little: a slot for the costly ─► a request proves an identity
//!                      │                                 │                                            │
//!                      └── taken by a new connection ────┴──► the connection ends          both slots are given back, for good
//! ```

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Context;
use std::time::Duration;

use crate::limits::{
    COSTLY_CONNECTIONS, OPEN_FILES_PER_UNPROVEN_CONNECTION, UNPROVEN_CHEAP_BYTES, UNPROVEN_CONNECTIONS,
    UNPROVEN_CROWD_PART, WRITE_STALL_TIMEOUT, WRITE_STALL_TIMEOUT_OF_READERS_WHO_PAUSE,
};
use crate::web::pool::{Eviction, Pool, Seat};

/// Seats for unauthenticated connections.
#[derive(Debug)]
pub struct Lobby {
    /// The seats of all unauthenticated connections.
    unproven: Arc<Pool>,
    /// The additional seats of connections that make the server keep more in memory than a small request.
    costly: Arc<Pool>,
}

impl Lobby {
    /// Creates as many seats as the server's limits allow, and fewer if the server may open only a few files.
    pub fn new(open_files: Option<u64>) -> Self {
        let files = usize::try_from(open_files.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        let unproven = UNPROVEN_CONNECTIONS.min(files / OPEN_FILES_PER_UNPROVEN_CONNECTION);
        Self { unproven: Pool::new(unproven), costly: Pool::new(COSTLY_CONNECTIONS.min(unproven)) }
    }

    /// Takes a seat for a connection from this address, which [`crate::web::rate::address_key`] has grouped.
    pub fn enter(&self, address: IpAddr) -> Standing {
        let eviction = Arc::<Eviction>::default();
        let seat = self.unproven.enter(address, &eviction);
        let seats = Seats { address, unproven: seat, costly: None };
        Standing {
            costly: Arc::clone(&self.costly),
            eviction,
            is_proven: AtomicBool::new(false),
            received_bytes: AtomicU64::new(0),
            may_pause: AtomicBool::new(false),
            seats: Mutex::new(Some(seats)),
        }
    }
}

/// How far one connection is trusted, and the seats that it takes until a sender on it has authenticated.
#[derive(Debug)]
pub struct Standing {
    costly: Arc<Pool>,
    eviction: Arc<Eviction>,
    is_proven: AtomicBool,
    received_bytes: AtomicU64,
    may_pause: AtomicBool,
    /// `None` once a sender has authenticated.
    seats: Mutex<Option<Seats>>,
}

#[derive(Debug)]
struct Seats {
    address: IpAddr,
    unproven: Seat,
    costly: Option<Seat>,
}

impl Standing {
    /// Records that a sender has authenticated: the connection permanently stops counting as unproven.
    pub fn prove(&self) {
        if !self.is_proven.swap(true, Ordering::AcqRel) {
            self.seats().take();
        }
    }

    /// True if a sender on this connection has authenticated.
    pub fn is_proven(&self) -> bool {
        self.is_proven.load(Ordering::Acquire)
    }

    /// Counts the connection as another address's, because a proxy has named its client.
    pub fn move_to(&self, address: IpAddr) {
        if let Some(seats) = self.seats().as_mut() {
            seats.address = address;
            seats.unproven.move_to(address);
            if let Some(seat) = &mut seats.costly {
                seat.move_to(address);
            }
        }
    }

    /// Allows this client to stop reading for a long time: a pager or a stopped terminal holds up its command, but not this server.
    pub fn allow_pauses(&self) {
        self.may_pause.store(true, Ordering::Relaxed);
    }

    /// How long the other end may read nothing before the connection is closed.
    pub fn stall_timeout(&self) -> Duration {
        match self.may_pause.load(Ordering::Relaxed) {
            true => WRITE_STALL_TIMEOUT_OF_READERS_WHO_PAUSE,
            false => WRITE_STALL_TIMEOUT,
        }
    }

    /// Checks, before reading, that the connection still has its seat.
    ///
    /// # Errors
    /// The connection was displaced by another one.
    pub fn check_reader(&self, context: &Context<'_>) -> io::Result<()> {
        match !self.is_proven() && self.eviction.poll_by_reader(context) && !self.is_proven() {
            true => Err(gave_way()),
            false => Ok(()),
        }
    }

    /// Checks, before writing, that the connection still has its seat.
    ///
    /// # Errors
    /// The connection was displaced by another one.
    pub fn check_writer(&self, context: &Context<'_>) -> io::Result<()> {
        match !self.is_proven() && self.eviction.poll_by_writer(context) && !self.is_proven() {
            true => Err(gave_way()),
            false => Ok(()),
        }
    }

    /// Counts received bytes; a connection that sends many of them before authentication becomes a costly one.
    pub fn received(&self, bytes: u64) {
        if self.is_proven() {
            return;
        }
        let received_bytes = self.received_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if received_bytes > UNPROVEN_CHEAP_BYTES {
            self.is_costly();
        }
    }

    /// Records that a request is kept in memory because its body has not arrived.
    pub fn holds_a_request(&self) {
        if !self.is_proven() {
            self.is_costly();
        }
    }

    /// True if this response is to be the connection's last: no sender has authenticated on it, and there are many connections of this kind.
    pub fn ends_with_answer(&self) -> bool {
        self.seats().as_ref().is_some_and(|seats| seats.unproven.is_in_a_crowd(UNPROVEN_CROWD_PART))
    }

    /// Records that the other end reads its responses too slowly, so that they are kept in memory.
    pub fn is_behind(&self) {
        if !self.is_proven() {
            self.is_costly();
        }
    }

    fn is_costly(&self) {
        if let Some(seats) = self.seats().as_mut()
            && seats.costly.is_none()
        {
            seats.costly = Some(self.costly.enter(seats.address, &self.eviction));
        }
    }

    fn seats(&self) -> MutexGuard<'_, Option<Seats>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn gave_way() -> io::Error {
    let reason = "the connection was closed in favour of a newer one: too many are open without a login";
    io::Error::new(io::ErrorKind::ConnectionReset, reason)
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    fn lobby(unproven: usize, costly: usize) -> Lobby {
        Lobby { unproven: Pool::new(unproven), costly: Pool::new(costly) }
    }

    fn is_served(standing: &Standing) -> bool {
        let context = Context::from_waker(Waker::noop());
        assert_eq!(standing.check_reader(&context).is_ok(), standing.check_writer(&context).is_ok());
        standing.check_reader(&context).is_ok()
    }

    #[test]
    fn a_proof_gives_the_seats_back_and_nothing_takes_them_again() {
        let lobby = lobby(2, 2);
        let proven = lobby.enter(ONE);
        proven.received(UNPROVEN_CHEAP_BYTES + 1);
        proven.prove();
        proven.received(UNPROVEN_CHEAP_BYTES + 1);
        proven.is_behind();
        proven.move_to(OTHER);
        assert_eq!((lobby.unproven.seats_taken(), lobby.costly.seats_taken()), (0, 0));
        let strangers: Vec<Standing> = (0..9).map(|_| lobby.enter(ONE)).collect();
        assert!(is_served(&proven));
        assert_eq!(strangers.iter().filter(|standing| is_served(standing)).count(), 2);
    }

    #[test]
    fn few_connections_hold_much_and_small_ones_are_not_displaced_by_them() {
        let lobby = lobby(100, 2);
        let small = lobby.enter(ONE);
        small.received(UNPROVEN_CHEAP_BYTES);
        let large: Vec<Standing> = (0..5).map(|_| lobby.enter(ONE)).collect();
        for standing in &large {
            standing.received(UNPROVEN_CHEAP_BYTES + 1);
        }
        let served: Vec<bool> = large.iter().map(is_served).collect();
        assert_eq!(served, [false, false, false, true, true]);
        assert!(is_served(&small));
    }

    #[test]
    fn readers_that_do_not_read_are_costly() {
        let lobby = lobby(100, 1);
        let (one, other) = (lobby.enter(ONE), lobby.enter(OTHER));
        one.is_behind();
        one.is_behind();
        assert!(is_served(&one));
        other.is_behind();
        assert!(!is_served(&one) && is_served(&other));
    }

    #[test]
    fn requests_whose_bodies_are_waited_for_are_costly() {
        let lobby = lobby(100, 1);
        let (one, other) = (lobby.enter(ONE), lobby.enter(OTHER));
        one.holds_a_request();
        other.holds_a_request();
        assert!(!is_served(&one) && is_served(&other));
    }

    #[test]
    fn in_a_crowd_an_answer_is_the_last_unless_somebody_is_known() {
        let lobby = lobby(4 * UNPROVEN_CROWD_PART, 1);
        let few: Vec<Standing> = (0..4).map(|_| lobby.enter(ONE)).collect();
        assert!(!few[0].ends_with_answer());
        let another = lobby.enter(OTHER);
        assert!(few[0].ends_with_answer() && another.ends_with_answer());
        another.prove();
        assert!(!few[0].ends_with_answer() && !another.ends_with_answer());
        let _crowd: Vec<Standing> = (0..4).map(|_| lobby.enter(ONE)).collect();
        assert!(few[0].ends_with_answer() && !another.ends_with_answer());
    }

    #[test]
    fn a_connection_that_ends_leaves_nothing() {
        let lobby = lobby(4, 4);
        let standing = lobby.enter(ONE);
        standing.is_behind();
        standing.move_to(OTHER);
        drop(standing);
        assert_eq!((lobby.unproven.seats_taken(), lobby.costly.seats_taken()), (0, 0));
    }

    #[test]
    fn a_server_that_may_open_few_files_has_room_for_fewer() {
        let lobby = Lobby::new(Some(256));
        let strangers: Vec<Standing> = (0..UNPROVEN_CONNECTIONS).map(|_| lobby.enter(ONE)).collect();
        assert_eq!(strangers.iter().filter(|standing| is_served(standing)).count(), 128);
    }
}

//! A bounded number of seats for unauthenticated connections, and a rule for evictions when all seats are taken.
//!
//! A new connection always gets a seat. When none is left, the address with the most seats loses its oldest one, so a flood
//! from one address displaces only its own connections.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Context;

use futures_util::task::AtomicWaker;

/// Notifies a connection that it has lost its seat.
#[derive(Debug, Default)]
pub struct Eviction {
    has_happened: AtomicBool,
    reader: AtomicWaker,
    writer: AtomicWaker,
}

impl Eviction {
    /// True if the seat is lost; if not, the task that reads is woken when that happens.
    pub fn poll_by_reader(&self, context: &Context<'_>) -> bool {
        self.reader.register(context.waker());
        self.has_happened()
    }

    /// True if the seat is lost; if not, the task that writes is woken when that happens.
    pub fn poll_by_writer(&self, context: &Context<'_>) -> bool {
        self.writer.register(context.waker());
        self.has_happened()
    }

    /// True if the seat is lost.
    pub fn has_happened(&self) -> bool {
        self.has_happened.load(Ordering::Acquire)
    }

    fn happen(&self) {
        self.has_happened.store(true, Ordering::Release);
        self.reader.wake();
        self.writer.wake();
    }
}

/// A bounded number of seats, counted by address as [`crate::web::rate::address_key`] groups them.
#[derive(Debug)]
pub struct Pool {
    capacity: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    count: usize,
    next: u64,
    /// The seats by address, the oldest first. Every address in the map has at least one seat.
    by_address: HashMap<IpAddr, BTreeMap<u64, Arc<Eviction>>>,
}

impl Pool {
    /// Creates a pool of `capacity` seats, but at least one.
    pub fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self { capacity: capacity.max(1), taken: Mutex::default() })
    }

    /// Takes a seat. If none is left, the address with the most seats loses its oldest one.
    pub fn enter(self: &Arc<Self>, address: IpAddr, eviction: &Arc<Eviction>) -> Seat {
        let mut taken = self.lock();
        if taken.count >= self.capacity {
            taken.evict_one();
        }
        let number = taken.next;
        taken.next += 1;
        taken.insert(address, number, Arc::clone(eviction));
        drop(taken);
        Seat { pool: Arc::clone(self), address, number }
    }

    #[cfg(test)]
    pub(in crate::web) fn seats_taken(&self) -> usize {
        self.lock().count
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        // No change can panic halfway, so the data stays consistent if another thread panics.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    fn insert(&mut self, address: IpAddr, number: u64, eviction: Arc<Eviction>) {
        self.by_address.entry(address).or_default().insert(number, eviction);
        self.count += 1;
    }

    fn remove(&mut self, address: IpAddr, number: u64) -> Option<Arc<Eviction>> {
        let seats = self.by_address.get_mut(&address)?;
        let eviction = seats.remove(&number)?;
        if seats.is_empty() {
            self.by_address.remove(&address);
        }
        self.count -= 1;
        Some(eviction)
    }

    /// Evicts the oldest seat of the address with the most seats; ties are decided by the age of the oldest seat.
    fn evict_one(&mut self) {
        let oldest = |seats: &BTreeMap<u64, _>| seats.keys().next().copied();
        let rank = |seats: &BTreeMap<u64, _>| (seats.len(), std::cmp::Reverse(oldest(seats)));
        let busiest = self.by_address.iter().max_by_key(|(_, seats)| rank(seats));
        let found = busiest.and_then(|(address, seats)| Some((*address, oldest(seats)?)));
        if let Some(eviction) = found.and_then(|(address, number)| self.remove(address, number)) {
            eviction.happen();
        }
    }
}

/// A seat in a [`Pool`], given back when dropped.
#[derive(Debug)]
pub struct Seat {
    pool: Arc<Pool>,
    address: IpAddr,
    number: u64,
}

impl Seat {
    /// Counts the seat as another address's from now on; the seat keeps its age.
    pub fn move_to(&mut self, address: IpAddr) {
        if address == self.address {
            return;
        }
        let mut taken = self.pool.lock();
        // A connection that lost its seat does not get another one.
        if let Some(eviction) = taken.remove(self.address, self.number) {
            taken.insert(address, self.number, eviction);
        }
        drop(taken);
        self.address = address;
    }

    /// True if more than one part in `parts` of all seats is taken.
    pub fn is_in_a_crowd(&self, parts: usize) -> bool {
        self.pool.lock().count > self.pool.capacity / parts
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.pool.lock().remove(self.address, self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Guest {
        eviction: Arc<Eviction>,
        seat: Seat,
    }

    fn enter(pool: &Arc<Pool>, last: u8) -> Guest {
        let eviction = Arc::new(Eviction::default());
        Guest { seat: pool.enter(IpAddr::from([192, 0, 2, last]), &eviction), eviction }
    }

    fn gone(guests: &[Guest]) -> Vec<usize> {
        let lost = guests.iter().enumerate().filter(|(_, guest)| guest.eviction.has_happened());
        lost.map(|(index, _)| index).collect()
    }

    #[test]
    fn the_address_with_the_most_seats_loses_its_oldest_one() {
        let pool = Pool::new(4);
        let quiet = enter(&pool, 1);
        let mut flood: Vec<Guest> = (0..3).map(|_| enter(&pool, 2)).collect();
        assert_eq!((gone(&flood), pool.seats_taken()), (vec![], 4));
        flood.push(enter(&pool, 2));
        assert_eq!((gone(&flood), pool.seats_taken()), (vec![0], 4));
        let newcomer = enter(&pool, 3);
        assert_eq!(gone(&flood), [0, 1]);
        assert_eq!(gone(&[quiet, newcomer]), [0; 0]);
    }

    #[test]
    fn a_flood_of_addresses_displaces_the_oldest_and_takes_bounded_room() {
        let pool = Pool::new(8);
        let guests: Vec<Guest> = (0..=255).map(|last| enter(&pool, last)).collect();
        assert_eq!(pool.seats_taken(), 8);
        assert_eq!(gone(&guests), (0..248).collect::<Vec<_>>());
        assert_eq!(pool.lock().by_address.len(), 8);
    }

    #[test]
    fn a_seat_given_back_is_free_and_its_address_forgotten() {
        let pool = Pool::new(2);
        let first = enter(&pool, 1);
        drop(enter(&pool, 2));
        let _third = enter(&pool, 3);
        assert!(!first.eviction.has_happened());
        drop(first);
        assert_eq!(pool.lock().by_address.len(), 1);
    }

    #[test]
    fn a_lost_seat_is_not_given_back_twice_nor_moved() {
        let pool = Pool::new(1);
        let mut first = enter(&pool, 1);
        let second = enter(&pool, 1);
        assert!(first.eviction.has_happened());
        first.seat.move_to(IpAddr::from([192, 0, 2, 9]));
        drop(first);
        assert_eq!(pool.seats_taken(), 1);
        drop(second);
        assert_eq!((pool.seats_taken(), pool.lock().by_address.len()), (0, 0));
    }

    #[test]
    fn a_seat_that_moves_counts_for_its_new_address_and_keeps_its_age() {
        let pool = Pool::new(3);
        let mut behind_a_proxy: Vec<Guest> = (0..3).map(|_| enter(&pool, 1)).collect();
        behind_a_proxy[0].seat.move_to(IpAddr::from([192, 0, 2, 7]));
        let _newcomer = enter(&pool, 2);
        assert_eq!(gone(&behind_a_proxy), [1]);
        let _another = enter(&pool, 2);
        assert_eq!(gone(&behind_a_proxy), [0, 1]);
    }

    #[test]
    fn a_task_that_waits_is_woken_when_its_seat_is_lost() {
        let (waker, count) = counting_waker();
        let pool = Pool::new(1);
        let guest = enter(&pool, 1);
        let context = Context::from_waker(&waker);
        assert!(!guest.eviction.poll_by_reader(&context) && !guest.eviction.poll_by_writer(&context));
        let _other = enter(&pool, 2);
        assert!(guest.eviction.poll_by_reader(&context));
        assert_eq!(count.0.load(Ordering::Relaxed), 2);
    }

    #[derive(Default)]
    struct Wakes(std::sync::atomic::AtomicUsize);

    impl std::task::Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn counting_waker() -> (std::task::Waker, Arc<Wakes>) {
        let wakes = Arc::new(Wakes::default());
        (Arc::clone(&wakes).into(), wakes)
    }
}

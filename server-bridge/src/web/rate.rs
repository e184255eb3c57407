//! A token bucket per key, in bounded memory.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Allows each key a number of attempts per minute, which may all be made at once.
#[derive(Debug)]
pub struct RateLimiter<K> {
    per_minute: f64,
    max_keys: usize,
    buckets: Mutex<HashMap<K, Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl<K: Eq + Hash + Clone> RateLimiter<K> {
    /// Creates a limiter that remembers at most `max_keys` keys.
    pub fn new(per_minute: u32, max_keys: usize) -> Self {
        Self { per_minute: f64::from(per_minute), max_keys, buckets: Mutex::new(HashMap::new()) }
    }

    /// Takes one attempt at the time `now`.
    ///
    /// # Errors
    /// The number of seconds until the next attempt is possible.
    pub fn take(&self, key: &K, now: Instant) -> Result<(), u64> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= self.max_keys && !buckets.contains_key(key) {
            self.make_room(&mut buckets, now);
        }
        let bucket = buckets.entry(key.clone()).or_insert(Bucket { tokens: self.per_minute, at: now });
        bucket.tokens = self.tokens(*bucket, now);
        bucket.at = now;
        if bucket.tokens >= 1.0 {
            bucket.tokens -= 1.0;
            return Ok(());
        }
        let wait_s = (1.0 - bucket.tokens) * 60.0 / self.per_minute;
        Err(wait_s.ceil().max(1.0) as u64)
    }

    /// Gives back an attempt that turned out to be legitimate.
    pub fn refund(&self, key: &K) {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = buckets.get_mut(key) {
            bucket.tokens = (bucket.tokens + 1.0).min(self.per_minute);
        }
    }

    fn tokens(&self, bucket: Bucket, now: Instant) -> f64 {
        let elapsed_s = now.saturating_duration_since(bucket.at).as_secs_f64();
        (bucket.tokens + elapsed_s * self.per_minute / 60.0).min(self.per_minute)
    }

    /// Evicts expired entries; if none expired, the one closest to expiry.
    fn make_room(&self, buckets: &mut HashMap<K, Bucket>, now: Instant) {
        buckets.retain(|_, bucket| self.tokens(*bucket, now) < self.per_minute);
        if buckets.len() >= self.max_keys {
            let fullest = buckets
                .iter()
                .max_by(|(_, a), (_, b)| a.tokens.total_cmp(&b.tokens))
                .map(|(key, _)| key.clone());
            if let Some(key) = fullest {
                buckets.remove(&key);
            }
        }
    }
}

/// The target of a delivery. Each one has its own limit on refused deliveries from an address: services such as GitHub send from the same addresses for
/// all their customers, so the refused deliveries of one user must not hold up those of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeliveryTarget {
    /// No trigger.
    Unknown,
    /// The trigger with this id.
    Trigger(i64),
    /// The channel with this id.
    Channel(i64),
    /// All channels together, with those that do not exist or accept no deliveries.
    Channels,
}

/// The key of an address: the address itself, or for IPv6 its /64 network, because one subscriber has at least such a network.
pub fn address_key(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from(u128::from(v6) & !u128::from(u64::MAX))),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_key_has_its_attempts_and_earns_them_back() {
        let limiter = RateLimiter::new(2, 8);
        let start = Instant::now();
        assert_eq!(limiter.take(&"a", start), Ok(()));
        assert_eq!(limiter.take(&"a", start), Ok(()));
        assert_eq!(limiter.take(&"a", start), Err(30));
        assert_eq!(limiter.take(&"b", start), Ok(()));
        assert_eq!(limiter.take(&"a", start + Duration::from_secs(31)), Ok(()));
        assert!(limiter.take(&"a", start + Duration::from_secs(31)).is_err());
    }

    #[test]
    fn a_refund_is_another_attempt() {
        let limiter = RateLimiter::new(1, 8);
        let now = Instant::now();
        assert_eq!(limiter.take(&"a", now), Ok(()));
        limiter.refund(&"a");
        assert_eq!(limiter.take(&"a", now), Ok(()));
        assert!(limiter.take(&"a", now).is_err());
    }

    #[test]
    fn a_flood_of_keys_takes_bounded_memory() {
        let limiter = RateLimiter::new(1, 8);
        let now = Instant::now();
        for key in 0..1000 {
            let _ = limiter.take(&key, now);
        }
        assert!(limiter.buckets.lock().unwrap().len() <= 8);
    }

    #[test]
    fn neighbours_in_one_v6_network_share_a_bucket() {
        let key = |text: &str| address_key(text.parse().unwrap());
        assert_eq!(key("2001:db8::1"), key("2001:db8::ffff:2"));
        assert_ne!(key("2001:db8::1"), key("2001:db8:0:1::1"));
        assert_eq!(key("::ffff:192.0.2.1"), key("192.0.2.1"));
    }
}

//! Limits on password attempts: guessing is slow, and one person's guesses do not lock another out. The store keeps the counts, so
//! all nodes that share the store count together, and a restart does not reset the counts.
//!
//! An attempt counts for the pair of its account and its address. If the pair's limit allows it and that address never logged
//! in to the account, the attempt also counts for the account over all addresses and for the address over all accounts. So one
//! address cannot use up an account's attempts from other addresses, and many addresses cannot keep an account's owner from
//! logging in from an address from which they have logged in before.

use std::net::IpAddr;

use store::{Bucket, Store};

use crate::limits::{
    LOGINS_PER_ACCOUNT_PER_MINUTE, LOGINS_PER_ADDRESS_PER_MINUTE, LOGINS_PER_NAME_PER_MINUTE,
};
use crate::{Accounts, Error, Result};

/// An allowed attempt. It is counted before the password is checked, and refunded if the password is correct.
#[derive(Debug)]
#[must_use = "an attempt that succeeds is refunded"]
pub struct Attempt<'a> {
    store: &'a Store,
    counted: Vec<Bucket>,
}

impl Accounts {
    /// Counts an attempt at an account from an address. The caller has cut the address to the prefix that one subscriber gets.
    /// `is_known` is true if that address logged in to the account before, or is doing so.
    ///
    /// # Errors
    /// [`Error::TooManyAttempts`]: a refused attempt does not count; [`Error::Internal`].
    pub async fn begin_attempt(&self, address: IpAddr, account: &str, is_known: bool) -> Result<Attempt<'_>> {
        let mut attempt = Attempt { store: &self.store, counted: Vec::new() };
        for bucket in buckets(address, account, is_known) {
            if let Some(wait_ms) = self.store.take_attempt(&bucket).await? {
                attempt.succeeded().await;
                return Err(Error::TooManyAttempts {
                    retry_after_s: wait_ms.unsigned_abs().div_ceil(1000).max(1),
                });
            }
            attempt.counted.push(bucket);
        }
        Ok(attempt)
    }
}

impl Accounts {
    /// Like [`Self::begin_attempt`], for a login; a refused login is recorded in the audit trail of its account.
    ///
    /// # Errors
    /// As for [`Self::begin_attempt`].
    pub async fn begin_login(&self, address: IpAddr, account: &str, is_known: bool) -> Result<Attempt<'_>> {
        let begun = self.begin_attempt(address, account, is_known).await;
        if let Err(Error::TooManyAttempts { .. }) = &begun {
            self.note_locked_login(account, address).await?;
        }
        begun
    }
}

impl Attempt<'_> {
    /// The password was correct: the attempt does not count.
    pub async fn succeeded(self) {
        for bucket in &self.counted {
            if let Err(error) = self.store.refund_attempt(bucket).await {
                tracing::warn!(%error, "a successful attempt could not be refunded, and counts as a failed one");
            }
        }
    }
}

fn buckets(address: IpAddr, account: &str, is_known: bool) -> Vec<Bucket> {
    let of = |kind, what: &str, per_minute| Bucket { key: format!("login/{kind}/{what}"), per_minute };
    let mut buckets = vec![of("pair", &format!("{address}/{account}"), LOGINS_PER_NAME_PER_MINUTE)];
    if !is_known {
        buckets.push(of("account", account, LOGINS_PER_ACCOUNT_PER_MINUTE));
        buckets.push(of("address", &address.to_string(), LOGINS_PER_ADDRESS_PER_MINUTE));
    }
    buckets
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn accounts() -> Accounts {
        // The clock is stopped, so that no attempts become available again while a slow machine runs the test.
        let clock = store::Clock::from_fn(|| 1_800_000_000_000);
        Accounts::new(Store::open_in_memory().await.unwrap().with_clock(clock))
    }

    fn address(number: u32) -> IpAddr {
        IpAddr::from([198, 51, (number >> 8) as u8, number as u8])
    }

    async fn is_let_in(accounts: &Accounts, at: u32, account: &str, is_known: bool) -> bool {
        match accounts.begin_attempt(address(at), account, is_known).await {
            Ok(_failed) => true,
            Err(Error::TooManyAttempts { .. }) => false,
            Err(error) => panic!("{error}"),
        }
    }

    /// How many of `attempts` wrong passwords are checked, if they come from `addresses` addresses in turn.
    async fn guess(accounts: &Accounts, account: &str, addresses: u32, attempts: u32) -> u32 {
        let mut checked = 0;
        for at in 0..attempts {
            checked += u32::from(is_let_in(accounts, at % addresses, account, false).await);
        }
        checked
    }

    #[tokio::test]
    async fn guesses_from_one_address_are_few_and_keep_nobody_out_elsewhere() {
        let accounts = accounts().await;
        assert_eq!(guess(&accounts, "alice", 1, 200).await, LOGINS_PER_NAME_PER_MINUTE);
        assert!(is_let_in(&accounts, 7, "alice", false).await);
        let refused = accounts.begin_attempt(address(0), "alice", false).await.unwrap_err();
        assert!(matches!(refused, Error::TooManyAttempts { retry_after_s: 6 }), "{refused}");
    }

    #[tokio::test]
    async fn guesses_from_many_addresses_share_the_accounts_limit() {
        let accounts = accounts().await;
        assert_eq!(guess(&accounts, "alice", 500, 500).await, LOGINS_PER_ACCOUNT_PER_MINUTE);
        assert!(!is_let_in(&accounts, 600, "alice", false).await);
        assert!(is_let_in(&accounts, 600, "bob", false).await);
    }

    #[tokio::test]
    async fn where_an_account_is_at_home_others_guesses_do_not_keep_it_out() {
        let accounts = accounts().await;
        guess(&accounts, "alice", 500, 500).await;
        assert!(is_let_in(&accounts, 600, "alice", true).await);
        for account in 0..100 {
            is_let_in(&accounts, 600, &format!("guessed-{account}"), false).await;
        }
        assert!(!is_let_in(&accounts, 600, "bob", false).await);
        assert!(is_let_in(&accounts, 600, "alice", true).await);
    }

    #[tokio::test]
    async fn a_known_address_may_guess_no_faster() {
        let accounts = accounts().await;
        let mut checked = 0;
        for _ in 0..200 {
            checked += u32::from(is_let_in(&accounts, 1, "alice", true).await);
        }
        assert_eq!(checked, LOGINS_PER_NAME_PER_MINUTE);
    }

    #[tokio::test]
    async fn names_tried_from_one_address_share_its_limit() {
        let accounts = accounts().await;
        let mut checked = 0;
        for name in 0..200 {
            checked += u32::from(is_let_in(&accounts, 1, &name.to_string(), false).await);
        }
        assert_eq!(checked, LOGINS_PER_ADDRESS_PER_MINUTE);
    }

    #[tokio::test]
    async fn right_passwords_and_refused_attempts_count_for_nothing() {
        let accounts = accounts().await;
        for _ in 0..100 {
            for is_known in [false, true] {
                accounts.begin_attempt(address(1), "alice", is_known).await.unwrap().succeeded().await;
            }
        }
        // Refused attempts of one address do not use up the account's limit.
        guess(&accounts, "alice", 1, 200).await;
        assert!(is_let_in(&accounts, 2, "alice", false).await);
    }
}

//! Limits the memory that messages of xbot's dialect take, over all links together.
//!
//! Such a message may be 256 MiB, so a few runners could take all memory. Each byte is counted once, from when it is
//! read from the socket until its reader has taken it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::limits::XBOT_BUDGET_BYTES;

/// The number of bytes that large messages may take in total. All clones share one budget.
#[derive(Debug, Clone)]
pub struct MessageBudget {
    left_bytes: Arc<AtomicU64>,
}

impl MessageBudget {
    pub(crate) fn new() -> Self {
        Self::of(XBOT_BUDGET_BYTES)
    }

    pub(crate) fn of(bytes: u64) -> Self {
        Self { left_bytes: Arc::new(AtomicU64::new(bytes)) }
    }

    /// An account on this budget to which nothing has been charged yet.
    pub fn account(&self) -> MessageAccount {
        MessageAccount { budget: self.clone(), held_bytes: AtomicU64::new(0) }
    }

    /// An account that is charged this many bytes; `None` if fewer are left.
    pub(crate) fn charge(&self, bytes: usize) -> Option<MessageAccount> {
        let account = self.account();
        account.take(bytes as u64).then_some(account)
    }

    #[cfg(test)]
    pub(crate) fn left_bytes(&self) -> u64 {
        self.left_bytes.load(Ordering::Relaxed)
    }
}

/// The share of one link or message in a [`MessageBudget`]; given back when it is dropped.
#[derive(Debug)]
pub struct MessageAccount {
    budget: MessageBudget,
    held_bytes: AtomicU64,
}

impl MessageAccount {
    /// Charges that many more bytes; if fewer are left, returns `false` and charges nothing.
    pub fn take(&self, bytes: u64) -> bool {
        let left = &self.budget.left_bytes;
        let taken = left.try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        if taken.is_ok() {
            self.held_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        taken.is_ok()
    }

    /// Gives everything back.
    pub fn release(&self) {
        let held = self.held_bytes.swap(0, Ordering::Relaxed);
        self.budget.left_bytes.fetch_add(held, Ordering::Relaxed);
    }
}

impl Drop for MessageAccount {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_comes_back_and_no_more_than_there_is_can_be_taken() {
        let budget = MessageBudget::of(100);
        let link = budget.account();
        assert!(link.take(60) && !link.take(41) && link.take(1));
        assert!(budget.charge(40).is_none());
        let message = budget.charge(39).unwrap();
        assert_eq!(budget.left_bytes(), 0);
        link.release();
        drop(message);
        assert_eq!(budget.left_bytes(), 100);
        link.take(5);
        drop(link);
        assert_eq!(budget.left_bytes(), 100);
    }
}

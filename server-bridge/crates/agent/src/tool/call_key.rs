//! [`CallKey`]: a call's identifier, which stays the same after a restart of the server.

use records::{ChatId, ItemId};
use sha2::{Digest, Sha256};

/// The identifier of one call of a tool. Work that a tool begins under this key can be found again if the server was cut off during the
/// call. An id from the provider would not be enough, because it may occur twice in a turn; the chat's own id keeps two servers that
/// share a runner apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallKey(pub [u8; 16]);

impl CallKey {
    /// The key of call number `at`, counted from 0, of an answer on record.
    pub fn of(chat: &ChatId, answer: ItemId, at: usize) -> Self {
        let named = format!("call {chat} {} {at}", answer.0);
        let hash = Sha256::digest(named);
        Self(std::array::from_fn(|byte| hash[byte]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_same_each_time_and_that_of_one_call() {
        let (one, other) = (ChatId::random(), ChatId::random());
        let keys = [(&one, 1, 0), (&one, 1, 1), (&one, 11, 0), (&other, 1, 0)];
        let keys = keys.map(|(chat, item, at)| CallKey::of(chat, ItemId(item), at));
        assert_eq!(keys[0], CallKey::of(&one, ItemId(1), 0));
        let all: std::collections::HashSet<_> = keys.into_iter().collect();
        assert_eq!(all.len(), 4);
    }
}

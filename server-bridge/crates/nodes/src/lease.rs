//! A node's standing, which is derived from the responses to its renewals and never from its own clock: while the database is unreachable, no node
//! can take over.
//!
//! ```text
//!           no answer             no answer: nothing new
//!    held ───────────► away ──┐
//!     ▲ ▲                │◄───┘
//!     │ └── renewed ─────┤
//!     │                  │ refused
//!     │     refused      ▼
//!     ├───────────────► gone ── joined ──► held
//!     └─ renewed: nothing new
//! ```

/// The database's response to a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The lease was extended.
    Renewed,
    /// The database considers the node gone.
    Refused,
    /// The database did not respond.
    None,
}

/// The state of a node's lease, as far as the node knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// The database renewed the lease.
    #[default]
    Held,
    /// The database does not respond. Sockets stay open; changes fail or wait.
    Away,
    /// Another node may have taken over; changes fail until this one joins again.
    Gone,
}

/// A change of the standing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// The database no longer responds.
    Away,
    /// The database responds again, and no other node has taken over.
    Back,
    /// The database considers the node gone, so the node must join again.
    Gone,
}

impl Standing {
    /// Updates the standing after a response; returns the change, if there is one.
    pub fn after(&mut self, answer: Answer) -> Option<News> {
        let (next, news) = match (*self, answer) {
            (Self::Held, Answer::Renewed) => (Self::Held, None),
            (Self::Away | Self::Gone, Answer::Renewed) => (Self::Held, Some(News::Back)),
            (Self::Held, Answer::None) => (Self::Away, Some(News::Away)),
            (Self::Away, Answer::None) => (Self::Away, None),
            // The node still has to join.
            (Self::Gone, Answer::None) => (Self::Gone, None),
            (_, Answer::Refused) => (Self::Gone, Some(News::Gone)),
        };
        *self = next;
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_said_once_and_ends_by_itself() {
        let mut standing = Standing::default();
        let answers = [Answer::Renewed, Answer::None, Answer::None, Answer::Renewed, Answer::Renewed];
        let news: Vec<_> = answers.into_iter().filter_map(|answer| standing.after(answer)).collect();
        assert_eq!(news, [News::Away, News::Back]);
        assert_eq!(standing, Standing::Held);
    }

    #[test]
    fn only_the_databases_word_makes_a_node_gone_and_it_tries_to_join_until_it_has() {
        let mut standing = Standing::default();
        for _ in 0..1000 {
            assert_ne!(standing.after(Answer::None), Some(News::Gone));
        }
        assert_eq!(standing.after(Answer::Refused), Some(News::Gone));
        assert_eq!(standing.after(Answer::None), None, "the database went away before it joined");
        assert_eq!(standing.after(Answer::Refused), Some(News::Gone));
        assert_eq!(standing.after(Answer::Renewed), Some(News::Back));
    }
}

//! Tickets: secrets in the URLs that a browser fetches by itself, without a token. A ticket is valid for one URL, once, for a short
//! time, and for the session that requested it; the handler that redeems it also checks that session.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use store::{NewOneTime, OneTimeKind};

use crate::limits::{TICKET_BYTES, TICKET_LIFETIME, TICKETS, TICKETS_PER_SESSION};
use crate::{Accounts, Error, Result};

/// What a ticket permits: one request to an address, as part of a session.
#[derive(Clone, PartialEq, Eq)]
pub struct Ticket {
    /// The token of the session that requested it.
    pub token: String,
    /// The address that the ticket opens.
    pub address: String,
}

/// Omits the session's token.
impl std::fmt::Debug for Ticket {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Ticket({})", self.address)
    }
}

impl Ticket {
    /// The stored form: the token, a line break (which no token contains) and the address.
    fn document(&self) -> String {
        format!("{}\n{}", self.token, self.address)
    }

    fn read(document: &str) -> Option<Self> {
        let (token, address) = document.split_once('\n')?;
        Some(Self { token: token.to_owned(), address: address.to_owned() })
    }
}

impl Accounts {
    /// Issues a ticket, and returns its secret.
    ///
    /// # Errors
    /// [`Error::TooManyTickets`]; [`Error::Internal`].
    pub async fn issue_ticket(&self, ticket: &Ticket) -> Result<String> {
        let secret = URL_SAFE_NO_PAD.encode(rand::random::<[u8; TICKET_BYTES]>());
        let new = NewOneTime {
            kind: OneTimeKind::Ticket,
            secret: &secret,
            owner: &ticket.token,
            document: &ticket.document(),
            lifetime: TICKET_LIFETIME,
            most: TICKETS,
            most_of_owner: TICKETS_PER_SESSION,
        };
        if self.store.put_one_time(&new).await? { Ok(secret) } else { Err(Error::TooManyTickets) }
    }

    /// Finds the ticket with this secret, without using it up; `None` if it is unknown, used or expired.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub async fn ticket(&self, shown: &str) -> Result<Option<Ticket>> {
        let found = self.store.find_one_time(OneTimeKind::Ticket, shown).await?;
        Ok(found.and_then(|document| Ticket::read(&document)))
    }

    /// Redeems the ticket with this secret: it cannot be used again. `None` if it is unknown, used or expired.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub async fn redeem_ticket(&self, shown: &str) -> Result<Option<Ticket>> {
        let taken = self.store.take_one_time(OneTimeKind::Ticket, shown).await?;
        Ok(taken.and_then(|document| Ticket::read(&document)))
    }
}

#[cfg(test)]
mod tests {
    use store::Store;

    use super::*;

    #[tokio::test]
    async fn a_session_has_so_many_tickets_and_each_opens_once() {
        let accounts = Accounts::new(Store::open_in_memory().await.unwrap());
        let of = |token: &str| Ticket { token: token.to_owned(), address: "/files?path=a%20b".to_owned() };
        let (ann, bob) = (of("sbs_a"), of("sbs_b"));
        let ticket = accounts.issue_ticket(&ann).await.unwrap();
        assert_eq!(accounts.ticket(&ticket).await.unwrap(), Some(ann.clone()));
        assert_eq!(accounts.redeem_ticket(&ticket[1..]).await.unwrap(), None);
        assert_eq!(accounts.redeem_ticket(&ticket).await.unwrap(), Some(ann.clone()));
        assert_eq!(accounts.redeem_ticket(&ticket).await.unwrap(), None, "once");
        for _ in 0..TICKETS_PER_SESSION {
            accounts.issue_ticket(&ann).await.unwrap();
        }
        assert!(matches!(accounts.issue_ticket(&ann).await, Err(Error::TooManyTickets)));
        accounts.issue_ticket(&bob).await.expect("another session's do not count");
        assert!(!format!("{ann:?}").contains("sbs_"));
    }
}

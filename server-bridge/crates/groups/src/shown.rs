//! Groups whose log is shown elsewhere, such as in a conversation of a messenger. Everybody there can read the log, so only an owner of the
//! group may show it.

use api::chain::GateView;
use store::{Group, User};

use crate::error::{Error, Result};
use crate::rights::{Action, check};
use crate::service::Groups;
use crate::views;

impl Groups {
    /// Finds a group by number or title, and returns its id and title if the user may show its log.
    ///
    /// # Errors
    /// [`Error::Refused`] if the user is in no such group or in several, or is not an owner of it.
    pub async fn group_to_show(&self, user: &User, name: &str) -> Result<(i64, String)> {
        let of_user = self.0.store.groups(user.id).await?;
        let is_number = |group: &&Group| name.trim_start_matches('#') == group.id.to_string();
        let mut named: Vec<_> = of_user.iter().filter(is_number).collect();
        if named.is_empty() {
            named =
                of_user.iter().filter(|group| group.title.to_lowercase() == name.to_lowercase()).collect();
        }
        match named[..] {
            [group] => self.may_show(user, group.id).await.map(|title| (group.id, title)),
            [] => Err(Error::refused(
                "not_found",
                format!("you are in no group called {name:?}; `sandbridge group list` lists your groups"),
            )),
            _ => {
                let ids: Vec<_> = named.iter().map(|group| group.id.to_string()).collect();
                Err(Error::invalid(format!(
                    "you are in several groups called {name:?}; use a group's id instead: {}",
                    ids.join(", ")
                )))
            }
        }
    }

    /// Returns the title of a group, if the user may show its log.
    ///
    /// # Errors
    /// [`Error::Store`] if the user is not in it; [`Error::Refused`] if the user is not an owner of it.
    pub async fn may_show(&self, user: &User, group: i64) -> Result<String> {
        Ok(self.0.group_for(user, group, Action::Show).await?.title)
    }

    /// Returns true if a person in a group may show its log.
    ///
    /// # Errors
    /// [`Error::Store`] if the user is not in it.
    pub async fn shows(&self, user: &User, group: i64) -> Result<bool> {
        let group = self.0.group_for(user, group, Action::Read).await?;
        Ok(check(group.access, Action::Show).is_ok())
    }

    /// Adds a message from the server to a group's log.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn note(&self, group: i64, text: &str) -> Result<()> {
        self.0.store.post_notice(group, text).await?;
        self.0.tell_all(group).await;
        Ok(())
    }

    /// Returns the gates of a group that wait for an answer and have a higher id than `after`, each with the name of its chain.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn open_gates(&self, group: i64, after: i64) -> Result<Vec<(String, GateView)>> {
        let mut open = Vec::new();
        for gate in self.0.store.open_gates(group, after).await? {
            let run = self.0.store.group_run(group, gate.run_id).await?;
            open.push((run.chain, views::gate(&gate)));
        }
        Ok(open)
    }
}

//! Connects channels to the groups whose logs they show.

use std::sync::Arc;

use api::chain::GateAnswer;
use api::group::GroupPost;
use channels::{Channels, GroupLogs, OpenGate, ShownGroup};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use groups::Groups;
use store::User;

/// Allows conversations on messengers to be bound to these groups.
pub(super) fn offer(channels: &Channels, groups: &Groups) {
    channels.show_groups(Arc::new(Logs(groups.clone())));
}

struct Logs(Groups);

/// Converts an error of groups to one of channels.
fn of_channels(error: groups::Error) -> channels::Error {
    match error {
        groups::Error::Store(error) => channels::Error::Store(error),
        groups::Error::Refused { kind, text } => channels::Error::Refused { kind, text },
    }
}

impl GroupLogs for Logs {
    fn named<'a>(&'a self, user: &'a User, name: &'a str) -> BoxFuture<'a, channels::Result<ShownGroup>> {
        async move {
            let (id, title) = self.0.group_to_show(user, name).await.map_err(of_channels)?;
            Ok(ShownGroup { id, title })
        }
        .boxed()
    }

    fn shown<'a>(&'a self, user: &'a User, group: i64) -> BoxFuture<'a, channels::Result<ShownGroup>> {
        async move {
            let title = self.0.may_show(user, group).await.map_err(of_channels)?;
            Ok(ShownGroup { id: group, title })
        }
        .boxed()
    }

    fn may_show<'a>(&'a self, user: &'a User, group: i64) -> BoxFuture<'a, channels::Result<bool>> {
        async move { self.0.shows(user, group).await.map_err(of_channels) }.boxed()
    }

    fn note<'a>(&'a self, group: i64, text: &'a str) -> BoxFuture<'a, channels::Result<()>> {
        async move { self.0.note(group, text).await.map_err(of_channels) }.boxed()
    }

    fn post<'a>(
        &'a self,
        user: &'a User,
        group: i64,
        text: String,
        send_id: String,
    ) -> BoxFuture<'a, channels::Result<Vec<String>>> {
        async move {
            let post = GroupPost { text, send_id: Some(send_id) };
            Ok(self.0.post(user, group, post).await.map_err(of_channels)?.notes)
        }
        .boxed()
    }

    fn open_gates(&self, group: i64, after: i64) -> BoxFuture<'_, channels::Result<Vec<OpenGate>>> {
        async move {
            let open = self.0.open_gates(group, after).await.map_err(of_channels)?;
            Ok(open.into_iter().map(|(chain, gate)| OpenGate { chain, gate }).collect())
        }
        .boxed()
    }

    fn answer_gate<'a>(
        &'a self,
        user: &'a User,
        group: i64,
        gate: i64,
        answer: GateAnswer,
    ) -> BoxFuture<'a, channels::Result<()>> {
        async move { self.0.answer_gate(user, group, gate, answer).await.map(|_| ()).map_err(of_channels) }
            .boxed()
    }
}

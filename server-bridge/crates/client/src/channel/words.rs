//! Channels as text. Names come from other people, so they are reduced to one line and cannot forge output.

use api::channel::{
    ChannelCode, ChannelKind, ChannelLinkView, ChannelLoggedIn, ChannelLoginList, ChannelTested, ChannelView,
};
use api::words::{ChannelLoginState, ChannelState};

use crate::output::{ago, one_line, short_line, table, until};

/// The messengers, with the values that an account needs.
pub(super) fn kinds(kinds: &[ChannelKind]) -> String {
    let mut lines = Vec::new();
    for kind in kinds {
        lines.push(format!("{} ({})", kind.name, kind.title));
        for setup in &kind.setup {
            let needed = match (&setup.default, setup.is_secret) {
                (None, true) => "needed, secret",
                (None, false) => "needed",
                (Some(_), true) => "secret",
                (Some(_), false) => "may be left out",
            };
            lines.push(format!("  {}  {} ({needed})", setup.key, setup.label));
            lines.push(format!("    {}", one_line(&setup.help)));
        }
    }
    if lines.is_empty() { "this server supports no messengers".to_owned() } else { lines.join("\n") }
}

/// The channels, as a table.
pub(super) fn list(channels: &[ChannelView]) -> String {
    if channels.is_empty() {
        return "there are no channels; `sandbridge channel kinds` shows the messengers, and `sandbridge channel add NAME KIND` adds one"
            .to_owned();
    }
    let heading = ["NAME", "KIND", "OWNER", "STATE", "CONNECTED AS", "WAITING"].map(str::to_owned).to_vec();
    let rows = channels.iter().map(|channel| {
        vec![
            channel.name.clone(),
            channel.kind.clone(),
            format!("{}{}", channel.owner, if channel.shared { " (shared)" } else { "" }),
            channel.state.to_string(),
            short_line(&channel.connected_as),
            channel.waiting.to_string(),
        ]
    });
    table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>())
}

/// The channels whose services have logins, and the tools.
pub(super) fn logins(list: &ChannelLoginList) -> String {
    if list.logins.is_empty() {
        return "there is no channel whose service you can log in to; `sandbridge channel add NAME feishu` adds one".to_owned();
    }
    let heading = ["CHANNEL", "OWNER", "ADDRESS", "LOGIN"].map(str::to_owned).to_vec();
    let rows = list.logins.iter().map(|login| {
        let state = match (&login.state, login.since) {
            (ChannelLoginState::None, _) => "not logged in".to_owned(),
            (ChannelLoginState::LoggedIn, Some(since)) => format!("logged in ({})", ago(since)),
            (ChannelLoginState::LoggedIn, None) => "logged in".to_owned(),
            (ChannelLoginState::Ended, _) => "ended; log in again".to_owned(),
            (ChannelLoginState::Unknown(word), _) => short_line(word),
        };
        vec![login.channel.clone(), login.owner.clone(), short_line(&login.address), state]
    });
    let table = table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>());
    let tools: Vec<String> = list.tools.iter().map(|tool| format!("  {}", one_line(tool))).collect();
    format!("{table}\ntools for agents of users who are logged in:\n{}", tools.join("\n"))
}

/// The result of completing a login.
pub(super) fn logged_in(login: &ChannelLoggedIn) -> String {
    format!(
        "you are logged in to the service of the channel {}; your agents find its tools with `search_tools`",
        one_line(&login.channel)
    )
}

/// The result of forgetting a login.
pub(super) fn logged_out(name: &str) -> String {
    format!(
        "your login to the service of the channel {name} was removed here; to revoke the app's rights there too, remove the app from \
         your account on the service"
    )
}

/// The status of a channel.
pub(super) fn status(channel: &ChannelView) -> String {
    let time = |at: Option<i64>| at.map_or_else(|| "never".to_owned(), ago);
    let mut lines = vec![
        format!("{} ({}) of {}", channel.name, channel.kind, channel.owner),
        format!("state:        {} (changed: {})", channel.state, time(channel.since)),
        format!("connected as: {}", one_line(&channel.connected_as)),
        format!("last traffic: {}", time(channel.last_traffic)),
        format!("to be sent:   {}", channel.waiting),
        format!("not sent:     {}", channel.failed),
        format!("maybe twice:  {}", channel.unsure),
    ];
    if !channel.last_error.is_empty() {
        lines.push(format!("last error:   {}", one_line(&channel.last_error)));
    }
    if !channel.gap.is_empty() {
        lines.push(format!("gap:          {}", one_line(&channel.gap)));
    }
    if let Some(path) = &channel.delivery_path {
        lines.push(format!("deliveries:   {path} on this server, for messengers that deliver by HTTP"));
    }
    lines.join("\n")
}

/// The result of saving a channel.
pub(super) fn saved(channel: &ChannelView) -> String {
    let name = &channel.name;
    match channel.state {
        ChannelState::Off => format!("{name} was saved; it is off"),
        _ => format!(
            "{name} was saved and is being connected; `sandbridge channel test {name}` tests it, and `sandbridge channel link {name}` links you"
        ),
    }
}

/// The result of testing a channel.
pub(super) fn tested(name: &str, tested: &ChannelTested) -> String {
    match tested.ok {
        true => format!("{name} works; the messenger knows it as {}", one_line(&tested.connected_as)),
        false => format!("{name} does not work: {}", one_line(&tested.error)),
    }
}

/// The instruction for using a code.
pub(super) fn linking(name: &str, code: &ChannelCode) -> String {
    let to = match code.connected_as.as_str() {
        "" => name.to_owned(),
        known => one_line(known),
    };
    format!(
        "send {} to {to} in a direct message, {} at the latest; never to a group",
        code.code,
        until(code.expires_at)
    )
}

/// The links, as a table.
pub(super) fn links(links: &[ChannelLinkView]) -> String {
    if links.is_empty() {
        return "there are no links; `sandbridge channel link NAME` creates one".to_owned();
    }
    let heading = ["NUMBER", "CHANNEL", "KIND", "USER", "PERSON", "SINCE"].map(str::to_owned).to_vec();
    let rows = links.iter().map(|link| {
        vec![
            link.id.to_string(),
            link.channel.clone(),
            link.kind.clone(),
            link.user.clone(),
            short_line(&format!("{} ({})", link.person_name, link.person)),
            ago(link.created_at),
        ]
    });
    table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>())
}

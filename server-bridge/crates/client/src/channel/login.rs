//! `sandbridge channel login`: logs in to the service of a channel, so that agents use its tools with the user's own token.

use api::channel::ChannelLoginStart;
use clap::Args;

use super::words;
use crate::browser_login::{Answer, Listener, Page};
use crate::failure::Failure;
use crate::http::Client;
use crate::limits::CHANNEL_LOGIN_PORT;
use crate::names;
use crate::output::both;

/// A login to the service of a channel.
#[derive(Args)]
pub(crate) struct LoginOptions {
    /// The name of a channel on Feishu
    #[arg(add = names::channels())]
    name: String,
    /// The port of this machine to which the browser is redirected; the app must list http://127.0.0.1:PORT/callback as a redirect URL
    #[arg(long, default_value_t = CHANNEL_LOGIN_PORT, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
}

/// Logs in. Returns the result as JSON for programs, and as text.
pub(super) async fn log_in(
    client: &mut Client,
    options: &LoginOptions,
    as_json: bool,
) -> Result<(String, String), Failure> {
    let listener = Listener::bind(Some(options.port)).await?;
    let start = ChannelLoginStart { redirect_uri: listener.address() };
    let begun = client.begin_channel_login(&options.name, &start).await?;
    let what = format!("the service of the channel {}", options.name);
    let (answer, browser) = listener.wait(&what, &begun.url, as_json).await?;
    client.hang_up();
    let Answer { url, refusal } = answer;
    let ended = client.end_channel_login(url).await;
    // The server forgets a login that was refused.
    let ended = match refusal {
        Some(refusal) => Err(Failure::other("denied", format!("{refusal}; nothing was changed"))),
        None => ended,
    };
    if let Some(browser) = browser {
        browser.show(if ended.is_ok() { Page::LoggedIn } else { Page::Failed }).await;
    }
    let logged_in = ended?;
    Ok(both(&logged_in, words::logged_in(&logged_in)))
}

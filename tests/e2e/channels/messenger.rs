//! A messenger as these tests see it: its stand-in, and people who write to the bot directly. Person 0 is alice; each has a conversation.

use serde_json::Value;

/// Somebody who is linked with nobody.
pub(super) const STRANGER: usize = 99;

/// The values of set-ups that are secret.
const SECRETS: &[&str] = &["token", "app_token", "bot_token", "app_secret", "secret", "client_secret"];

/// A message of the bot, as it stands now.
#[derive(Clone, Debug)]
pub(super) struct Said {
    /// Its place among the messages of the bot.
    pub(super) at: usize,
    /// What it says, in the messenger's own markup.
    pub(super) text: String,
    /// The labels of its buttons.
    pub(super) labels: Vec<String>,
}

/// A messenger.
pub(super) trait Messenger {
    /// Its name in commands.
    fn kind(&self) -> &'static str;

    /// What an account on it needs.
    fn setup(&self) -> Value;

    /// A person writes to the bot.
    fn say(&self, person: usize, text: &str);

    /// What the bot said to everybody.
    fn said(&self) -> Vec<Said>;

    /// True if choices are buttons; elsewhere they are numbers.
    fn has_buttons(&self) -> bool;

    /// A person presses a button.
    fn press(&self, person: usize, said: &Said, label: &str);

    /// The files that the bot sent, with their names where the messenger tells them.
    fn files(&self) -> Vec<(Option<String>, Vec<u8>)>;

    /// What the messenger refused.
    fn refused(&self) -> Vec<String>;

    /// Ends all connections.
    fn cut(&self);

    /// Delivers again what was not acknowledged, and the last message again.
    fn redeliver(&self);

    /// The next message is taken and the connection ends before the answer; the one after it comes too fast.
    fn fail(&self);

    /// False where what is sent while the bot is not connected is lost.
    fn replays(&self) -> bool {
        true
    }
}

/// A messenger's set-up as arguments of `channel add`, and its secrets as lines of standard input.
pub(super) fn arguments(messenger: &dyn Messenger) -> (Vec<String>, String) {
    let (mut arguments, mut secrets) = (Vec::new(), String::new());
    for (key, value) in messenger.setup().as_object().unwrap() {
        let pair = format!("{key}={}", value.as_str().unwrap());
        if SECRETS.contains(&key.as_str()) {
            secrets.push_str(&format!("{pair}\n"));
        } else {
            arguments.extend(["--set".to_owned(), pair]);
        }
    }
    (arguments, secrets)
}

/// The secrets of a messenger's set-up.
pub(super) fn secrets(messenger: &dyn Messenger) -> Vec<String> {
    let setup = messenger.setup();
    let secret = setup.as_object().unwrap().iter().filter(|(key, _)| SECRETS.contains(&key.as_str()));
    secret.map(|(_, value)| value.as_str().unwrap().to_owned()).collect()
}

/// A text of a document.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The texts at a path in each element of a list.
pub(super) fn texts(list: &Value, path: &str) -> Vec<String> {
    let list = list.as_array().map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(|one| one.pointer(path)?.as_str().map(str::to_owned)).collect()
}

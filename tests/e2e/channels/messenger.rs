//! A messenger as these tests use it: its stand-in, and people who write to the bot directly. Person 0 is alice; each person has a
//! conversation.

use serde_json::Value;

/// The number of a person who is not linked to any user.
pub(super) const STRANGER: usize = 99;

/// The names of the settings that are secret.
const SECRETS: &[&str] = &["token", "app_token", "bot_token", "app_secret", "secret", "client_secret"];

/// A message of the bot in its current version.
#[derive(Clone, Debug)]
pub(super) struct Said {
    /// The message's index among the messages of the bot.
    pub(super) at: usize,
    /// The text, in the messenger's own markup.
    pub(super) text: String,
    /// The labels of the message's buttons.
    pub(super) labels: Vec<String>,
}

/// A messenger's stand-in.
pub(super) trait Messenger: Sync {
    /// The messenger's name in commands.
    fn kind(&self) -> &'static str;

    /// The settings of an account on this messenger.
    fn setup(&self) -> Value;

    /// Sends a message to the bot as a person.
    fn say(&self, person: usize, text: &str);

    /// All messages of the bot, to everybody.
    fn said(&self) -> Vec<Said> {
        self.said_after(0)
    }

    /// The messages of the bot without the first `count`. A messenger that is slow to list them may show a changed message as two.
    fn said_after(&self, count: usize) -> Vec<Said>;

    /// True if choices are buttons; on other messengers they are numbers.
    fn has_buttons(&self) -> bool;

    /// Presses a button as a person.
    fn press(&self, person: usize, said: &Said, label: &str);

    /// The files that the bot sent, with their names if the messenger passes names on.
    fn files(&self) -> Vec<(Option<String>, Vec<u8>)>;

    /// The requests that the messenger refused.
    fn refused(&self) -> Vec<String>;

    /// Ends all of the bot's connections.
    fn cut(&self);

    /// Redelivers the messages that were not acknowledged, unless the messenger does so by itself.
    fn redeliver(&self) {}

    /// Redelivers the last messages of people, even those that were acknowledged.
    fn repeat(&self, last: usize);

    /// Makes the messenger accept the next message and close the connection before it answers, and refuse the message
    /// after it as too fast.
    fn fail(&self);

    /// Makes the messenger accept the next message, and not answer.
    fn hang(&self);

    /// True if the messenger refuses a second message with the same key.
    fn has_keys(&self) -> bool;

    /// Forgets the keys of earlier messages, if the messenger keeps them for less than seven hours.
    fn forget_keys(&self) {}

    /// False if messages that are sent while the bot is disconnected are lost.
    fn replays(&self) -> bool {
        true
    }

    /// True if the bot is connected, or if its messenger keeps messages for it until it is.
    fn is_connected(&self) -> bool {
        true
    }

    /// Waits until the server has stored all messages that were sent to the bot; false if the connection ended before. Only for messengers that
    /// do not redeliver what the bot missed.
    fn is_stored(&self) -> bool {
        true
    }
}

/// The settings of a messenger as arguments of `channel add`, and its secrets as lines of standard input.
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

/// The values of a messenger's secret settings.
pub(super) fn secrets(messenger: &dyn Messenger) -> Vec<String> {
    let setup = messenger.setup();
    let secret = setup.as_object().unwrap().iter().filter(|(key, _)| SECRETS.contains(&key.as_str()));
    secret.map(|(_, value)| value.as_str().unwrap().to_owned()).collect()
}

/// A string in a JSON document; empty if it is another value.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The strings at a path in each element of a list.
pub(super) fn texts(list: &Value, path: &str) -> Vec<String> {
    let list = list.as_array().map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(|one| one.pointer(path)?.as_str().map(str::to_owned)).collect()
}

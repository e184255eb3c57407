//! Asking a model once, to find out whether it answers.

use llm::retry::Patience;
use llm::{Draft, Message, Request, call};
use tokio::time::{Instant, timeout};

use agent::models::ModelSetup;

use crate::house::House;
use crate::limits::{MODEL_TRIAL_ANSWER_CHARS, MODEL_TRIAL_TIMEOUT, MODEL_TRIAL_TOKENS};
use crate::models::Choice;
use crate::{Error, Result};

/// The result of trying a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The subscription's name.
    pub subscription: String,
    /// The provider's name for the model.
    pub model: String,
    /// The model's answer, on one line of at most 80 characters.
    pub answer: String,
    /// The time that the model took to answer, in milliseconds.
    pub duration_ms: u64,
}

/// Asks a user's model for one word, once.
pub(super) async fn trial(house: &House, user: &store::User, choice: &str) -> Result<Trial> {
    let known = house.models.known(house, user).await?;
    let chosen = house.models.chosen(house, user, None).await?;
    let current = match chosen.as_deref().map(Choice::parse) {
        Some(Ok(chosen)) => known.pick(Some(&chosen), None).ok().map(|picked| picked.subscription),
        _ => None,
    };
    let picked = known.pick(Some(&Choice::parse(choice)?), current.as_deref())?;
    let setup = house.models.setup(house, user, &known, &picked).await?;
    ask_for_a_word(house, user.id, setup).await
}

/// Asks this model for one word, once.
pub(super) async fn ask_for_a_word(house: &House, user: store::UserId, setup: ModelSetup) -> Result<Trial> {
    let request = Request {
        model: setup.name.clone(),
        tools: Vec::new(),
        system: Vec::new(),
        messages: vec![Message::user("Answer with the word: ready").into()],
        reminder: None,
        max_tokens: MODEL_TRIAL_TOKENS.min(setup.reply_tokens),
        thinking_tokens: None,
    };
    let seat = house.models.seat(user, setup.kind);
    let begun = Instant::now();
    let once = Patience { attempts: 1, ..Patience::default() };
    let draft = &mut Draft::default();
    let asked = call(&setup.model, &request, draft, once, &seat, |_| {});
    let late = || llm::Error::Timeout(format!("no answer within {} s", MODEL_TRIAL_TIMEOUT.as_secs()));
    let reply = timeout(MODEL_TRIAL_TIMEOUT, asked).await.map_err(|_| Error::Model(late()))??;
    Ok(Trial {
        subscription: setup.subscription,
        model: setup.name,
        answer: on_one_line(&reply.message.text),
        duration_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
    })
}

/// The beginning of a text, without line breaks.
fn on_one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MODEL_TRIAL_ANSWER_CHARS) {
        Some(_) => line.chars().take(MODEL_TRIAL_ANSWER_CHARS - 1).chain(['…']).collect(),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_one_short_line() {
        assert_eq!(on_one_line(" ready\n\n now\r\n"), "ready now");
        assert_eq!(
            on_one_line(&"é".repeat(MODEL_TRIAL_ANSWER_CHARS)).chars().count(),
            MODEL_TRIAL_ANSWER_CHARS
        );
        let cut = on_one_line(&"é ".repeat(1000));
        assert!(cut.chars().count() == MODEL_TRIAL_ANSWER_CHARS && cut.ends_with('…'), "{cut}");
    }
}

//! `card_create`, `card_preview` and `card_send`.

use agent::tool::{Failure, Live, Outcome, Rules, ToolContext, TypedTool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{RULES, card, parts, refused, shown};
use crate::Services;

/// The number of bytes of a call's key that form its card's id.
const ID_BYTES: usize = 8;

/// The card to begin.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Create {
    /// The title, on one line.
    title: String,
    /// The tone of the card; plain if not given.
    #[serde(default)]
    style: parts::Tone,
}

/// The card to look at.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Preview {
    /// The card's id.
    card: String,
}

/// The card to send.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Send {
    /// The card's id.
    card: String,
}

impl TypedTool for Create {
    type Services = Services;

    const NAME: &'static str = "card_create";
    const DESCRIPTION: &'static str = "Begins a card: a report, a choice or a form that the user sees as one piece. Returns its id. Add \
to it with the other card tools, then card_send. For a plain answer write text instead.";
    const RULES: Rules = RULES;

    fn hint(&self) -> &str {
        &self.title
    }

    async fn run(
        &self,
        _services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        // The id is derived from the call's key, so a repeated call has the same card.
        let unknown = || Failure::Message("this tool works only in a recorded conversation".to_owned());
        let key = context.agent()?.call.ok_or_else(unknown)?;
        let id = format!("card-{}", store::hex(&key.0[..ID_BYTES]));
        let card = cards::begin(id.clone(), &self.title, self.style.into()).map_err(refused)?;
        Ok(shown(format!("the card's id is {id}"), &card))
    }
}

impl TypedTool for Preview {
    type Services = Services;

    const NAME: &'static str = "card_preview";
    const DESCRIPTION: &'static str = "Shows a card as text, for you to check before it is sent.";
    const RULES: Rules = RULES;

    fn hint(&self) -> &str {
        &self.card
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let card = card(services, context, &self.card).await?;
        let text = cards::text(&card);
        // A card that was sent is shown only once, where it was sent.
        if card.is_sent {
            return Ok(Outcome::done(text));
        }
        Ok(shown(text, &card))
    }
}

impl TypedTool for Send {
    type Services = Services;

    const NAME: &'static str = "card_send";
    const DESCRIPTION: &'static str = "Sends a finished card to the user, in this chat. It cannot be changed afterwards. If it asks for \
something, end your turn: the answer is the user's next message.";
    const RULES: Rules = RULES;

    fn hint(&self) -> &str {
        &self.card
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let mut card = card(services, context, &self.card).await?;
        cards::close(&mut card).map_err(refused)?;
        // Terminals and exports show the result's text, so the card is in it as text.
        Ok(shown(format!("the user sees this card now:\n{}", cards::text(&card)), &card))
    }
}

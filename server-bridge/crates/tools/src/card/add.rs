//! `card_add_content`, `card_add_interactive` and `card_add_container`.

use agent::tool::{Failure, Live, Outcome, Rules, ToolContext, TypedTool};
use api::card::{CardBlock, CardLayout};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{RULES, card, parts, refused, shown};
use crate::Services;

/// Content to add.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Content {
    /// The card's id.
    card: String,
    /// The content to add, in order.
    content: Vec<parts::Content>,
}

/// Controls to add.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Interactive {
    /// The card's id.
    card: String,
    /// The controls to add, in order.
    controls: Vec<parts::Control>,
}

/// A group to add.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Container {
    /// The card's id.
    card: String,
    /// How the parts are arranged; one below the other if not given.
    #[serde(default)]
    layout: Layout,
    /// A heading, on one line.
    #[serde(default)]
    title: String,
    /// The content of the group.
    #[serde(default)]
    content: Vec<parts::Content>,
    /// The controls of the group, shown below the content.
    #[serde(default)]
    controls: Vec<parts::Control>,
}

/// How the parts are arranged.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Layout {
    /// One below the other.
    #[default]
    Stack,
    /// Side by side.
    Columns,
}

async fn add(
    services: &Services,
    context: &ToolContext<'_>,
    id: &str,
    block: CardBlock,
) -> Result<Outcome, Failure> {
    let mut card = card(services, context, id).await?;
    cards::add(&mut card, block).map_err(refused)?;
    Ok(shown("added; the card has not been sent yet".to_owned(), &card))
}

impl TypedTool for Content {
    type Services = Services;

    const NAME: &'static str = "card_add_content";
    const DESCRIPTION: &'static str = "Adds texts, fields, tables, links or dividers to a card.";
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
        let parts = self.content.iter().map(parts::Content::part).collect();
        add(services, context, &self.card, CardBlock { parts, ..CardBlock::default() }).await
    }
}

impl TypedTool for Interactive {
    type Services = Services;

    const NAME: &'static str = "card_add_interactive";
    const DESCRIPTION: &'static str = "Adds buttons, choices (select) or fields to fill in (input) to a card. Pressing a button sends \
all values of the card with it, once, as the user's next message.";
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
        let parts = self.controls.iter().map(parts::Control::part).collect();
        add(services, context, &self.card, CardBlock { parts, ..CardBlock::default() }).await
    }
}

impl TypedTool for Container {
    type Services = Services;

    const NAME: &'static str = "card_add_container";
    const DESCRIPTION: &'static str = "Adds a group with a heading, or columns side by side, to a card.";
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
        let content = self.content.iter().map(parts::Content::part);
        let parts = content.chain(self.controls.iter().map(parts::Control::part)).collect();
        let layout = match self.layout {
            Layout::Stack => CardLayout::Stack,
            Layout::Columns => CardLayout::Columns,
        };
        let title = self.title.trim().to_owned();
        add(services, context, &self.card, CardBlock { layout, title, parts }).await
    }
}

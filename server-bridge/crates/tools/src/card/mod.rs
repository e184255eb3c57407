//! Cards: `card_create`, `card_add_content`, `card_add_interactive`, `card_add_container`, `card_preview`, `card_send`.
//!
//! A card's state is the document of its last call's message, and there is no other record of it. So if the server was cut off during a
//! call, that call is either on record with its effect or had none; an undo takes back what its turn built, and a fork has the card too.

mod add;
mod parts;
mod show;

use agent::tool::{CardData, Failure, ForSubAgents, Outcome, Registry, Rules, ToolContext, Typed};
use agent::{approval::Access, tool::Beside};
use api::card::CardDocument;
use api::document::{AgentDocument, ToolData};

use crate::{Ported, Services};

/// The rules of all six tools: a card is changed by one call at a time, and belongs to the chat that its user reads.
const RULES: Rules =
    Rules::of(Access::Read).beside(Beside::Nothing).for_sub_agents(ForSubAgents::Never).without_machine();

/// Adds the six tools.
pub(crate) fn add_all(tools: &Registry, services: &Services) {
    tools.put(Typed::<show::Create>::new(services.clone()));
    tools.put(Typed::<add::Content>::new(services.clone()));
    tools.put(Typed::<add::Interactive>::new(services.clone()));
    tools.put(Typed::<add::Container>::new(services.clone()));
    tools.put(Typed::<show::Preview>::new(services.clone()));
    tools.put(Typed::<show::Send>::new(services.clone()));
}

/// The card with this id in the caller's chat, as its last call left it.
async fn card(services: &Services, context: &ToolContext<'_>, id: &str) -> Result<CardDocument, Failure> {
    let chat = context.agent()?.chat;
    let unknown = || Failure::Message(format!("this chat has no card {id:?}; begin one with card_create"));
    let is_id = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if id.is_empty() || !id.chars().all(is_id) {
        return Err(unknown());
    }
    let shown = services.store.card_message(context.user.id, chat, id).await.ported()?;
    let document = shown.and_then(|message| message.document_json);
    match document.as_deref().and_then(|json| serde_json::from_str(json).ok()) {
        Some(AgentDocument::Tool { data: Some(ToolData::Card { card }), .. }) if card.card_id == id => {
            Ok(*card)
        }
        _ => Err(unknown()),
    }
}

/// A card as the outcome of a call.
fn shown(text: String, card: &CardDocument) -> Outcome {
    let document = serde_json::to_value(card).expect("texts and flags are always JSON");
    Outcome { data: Some(CardData::Card(document)), ..Outcome::done(text) }
}

/// A broken rule of cards, as a failure that the model can react to.
fn refused(error: cards::Error) -> Failure {
    Failure::Message(error.to_string())
}

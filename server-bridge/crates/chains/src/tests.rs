mod handles;
mod next;
mod prompt;
mod text;

use api::chain::ChainStep;

fn step(agent: &str) -> ChainStep {
    ChainStep { agent: agent.to_owned(), instruction: format!("the part of {agent}"), ..ChainStep::default() }
}

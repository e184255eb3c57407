//! Chains that are being written: read and shown in both forms. Only their size is checked, and nothing is stored.

use api::chain::{ChainDraft, ChainForms, ChainText, ChainTextAsk};
use chains::handles::{fit, handles, strangers};
use chains::{check_size, text};
use store::User;

use crate::error::{Error, Result};
use crate::house::Inner;
use crate::rights::Action;
use crate::service::Groups;

impl Groups {
    /// A chain that is being written, in both forms, with the agents of its steps.
    ///
    /// # Errors
    /// [`Error::Refused`] for a text that is no chain, a file that cannot be read, and a chain with too many steps or too long instructions.
    pub async fn chain_text(&self, user: &User, group: i64, ask: ChainTextAsk) -> Result<ChainText> {
        self.0.group_for(user, group, Action::ChangeChains).await?;
        let mut chain = self.0.written_chain(user, group, ask.forms).await?;
        check_size(&chain)?;
        // A step that nobody has written yet: the page chooses its agent beforehand.
        chain.steps.retain(|step| !step.instruction.trim().is_empty());
        let agents = self.0.store.group_agents(group).await?;
        let agents: Vec<&str> = agents.iter().map(|agent| agent.handle.as_str()).collect();
        if ask.fit {
            fit(&mut chain, &agents);
        }
        let named = handles(&chain);
        let strangers = strangers(&named, &agents).into_iter().map(str::to_owned).collect();
        Ok(ChainText { text: text::write(&chain), chain, strangers, agents: named })
    }
}

impl Inner {
    /// The chain in one of its three forms.
    pub(crate) async fn written_chain(
        &self,
        user: &User,
        group: i64,
        forms: ChainForms,
    ) -> Result<ChainDraft> {
        match (forms.chain, forms.text, forms.file) {
            (Some(chain), None, None) => Ok(chain),
            (None, Some(written), None) => Ok(text::read(&written)?),
            (None, None, Some(file)) => Ok(text::read(&self.chain_file(user, group, &file).await?)?),
            _ => Err(Error::invalid(
                "provide exactly one of: the chain's steps, the chain as text, or a file that contains this text",
            )),
        }
    }
}

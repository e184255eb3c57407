//! `14_perm_control`: the mode of approval. It changes whenever the user chooses another mode.

use futures_util::future::BoxFuture;

use agent::approval::Mode;
use agent::engine::{Made, PromptContext, PromptPart};

/// The part `14_perm_control` of the prompt.
pub(super) struct Permission;

impl PromptPart for Permission {
    fn key(&self) -> &str {
        "14_perm_control"
    }

    fn is_static(&self) -> bool {
        false
    }

    fn make<'a>(&'a self, context: &'a PromptContext<'a>) -> BoxFuture<'a, Made> {
        Box::pin(async { Ok(Some(text(context.mode).to_owned())) })
    }
}

fn text(mode: Mode) -> &'static str {
    match mode {
        Mode::Plan => {
            "Plan mode: look, but change nothing. Files cannot be written, and commands run with a read-only workspace; what \
             they write elsewhere is lost when they end. Say what you would do."
        }
        Mode::Ask => {
            "Ask mode: the user is asked before a file is changed or a command runs. Ask rarely, and only for what matters."
        }
        Mode::AutoEdit => "Auto-edit mode: files may be changed; the user is asked before a command runs.",
        Mode::Full => {
            "Full mode: only changes to the user's settings, commands run as the machine's privileged user, and what a rule or hook \
             asks about need approval. Be as careful as the user would be."
        }
    }
}

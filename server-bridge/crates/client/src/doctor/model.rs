//! The models of chats.

use super::Check;
use crate::failure::Failure;
use crate::http::Client;
use crate::limits::MODEL_PATIENCE;
use crate::model;
use crate::session::Session;

/// Checks that a model is set up, and that it answers.
pub(super) async fn check(session: &Session, is_asked: bool, checks: &mut Vec<Check>) -> Result<(), Failure> {
    let mut client = Client::new(session)?;
    if client.models(None).await?.models.is_empty() {
        let fix = "add one with `sandbridge model add NAME`, or start the server with SANDBRIDGE_LLM_PROVIDER; \
                   commands work without one";
        checks.push(Check::missing("model", "no model is set up, so nothing answers in chats", fix));
        return Ok(());
    }
    if !is_asked {
        return Ok(());
    }
    let asked = tokio::time::timeout(MODEL_PATIENCE, model::test(&mut client, None)).await;
    let seconds = MODEL_PATIENCE.as_secs();
    checks.push(match asked {
        Ok(Ok(trial)) => Check::works("model", model::trial_words(&trial)),
        Ok(Err(failure)) => broken(failure.message),
        Err(_) => broken(format!("it did not answer within {seconds} s")),
    });
    Ok(())
}

fn broken(why: String) -> Check {
    let fix = "see `sandbridge model list`: is its address right, and its key? Change it with `sandbridge model add --replace`, \
               or choose another with `sandbridge model use`";
    Check::broken("model", why, fix)
}

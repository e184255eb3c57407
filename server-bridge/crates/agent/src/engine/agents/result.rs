//! The result of a sub-agent's turn for its parent.

use records::TurnStatus;

use crate::engine::ports::TurnEnd;
use crate::limits::SUB_AGENT_RESULT_BYTES;
use crate::tool::Outcome;

/// The outcome that the parent gets when the turn has ended.
pub(super) fn told(end: &TurnEnd) -> Outcome {
    let words = end.words.as_deref().map(bounded);
    let why = match (end.status, &end.error) {
        (TurnStatus::Done, _) => {
            return Outcome::done(
                words.unwrap_or_else(|| "(the sub-agent ended without an answer)".to_owned()),
            );
        }
        (_, Some(error)) => error.as_str(),
        (TurnStatus::Cancelled, None) => "the user stopped it",
        (_, None) => "how it ended is not known",
    };
    let words = words.map_or_else(String::new, |words| format!("\nIts last message:\n{words}"));
    Outcome::failed(&format!("the sub-agent did not finish: {why}{words}"))
}

fn bounded(words: &str) -> String {
    if words.len() <= SUB_AGENT_RESULT_BYTES {
        return words.to_owned();
    }
    let kept = &words[..words.floor_char_boundary(SUB_AGENT_RESULT_BYTES)];
    format!("{kept}\n(it wrote {} more bytes, which are left out)", words.len() - kept.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::TurnCost;

    #[test]
    fn a_parent_is_told_what_came_of_it_and_why_nothing_did() {
        let ended = |status, error: Option<&str>, words: Option<&str>| {
            let (error, words) = (error.map(str::to_owned), words.map(str::to_owned));
            told(&TurnEnd { status, error, cost: TurnCost::default(), words })
        };
        assert_eq!(ended(TurnStatus::Done, None, Some("found it")), Outcome::done("found it"));
        let silent = ended(TurnStatus::Done, None, None);
        assert!(!silent.is_error && silent.text.contains("without an answer"));
        let failed = ended(TurnStatus::Failed, Some("offline"), Some("half"));
        assert!(
            failed.is_error && failed.text.contains("offline\nIts last message:\nhalf"),
            "{}",
            failed.text
        );
        assert!(ended(TurnStatus::Cancelled, None, None).text.contains("the user stopped it"));
        assert!(ended(TurnStatus::Interrupted, None, None).is_error);
    }

    #[test]
    fn long_words_are_cut_where_it_is_said() {
        let most = "é".repeat(SUB_AGENT_RESULT_BYTES / 2);
        assert_eq!(bounded(&most), most);
        let cut = bounded(&format!("{most}é"));
        assert!(cut.starts_with(&most) && cut.ends_with("(it wrote 2 more bytes, which are left out)"));
    }
}

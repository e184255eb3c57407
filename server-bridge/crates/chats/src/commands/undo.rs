//! `/undo` and `/rewind`: take back the last messages and their effects.

use super::{Command, Context};
use crate::limits::TURNS_LISTED;
use crate::undo::{TakeBack, Turns, address, said, take_back};
use crate::{Error, Posted, Result};

pub(super) const UNDO: Command = Command {
    word: "undo",
    usage: &[
        ("/undo", "take back your last message and its answer, and restore the files it changed"),
        ("/undo force", "the same, overwriting changes made to those files since"),
    ],
    run: |context, argument| Box::pin(undo(context, argument)),
};

pub(super) const REWIND: Command = Command {
    word: "rewind",
    usage: &[
        ("/rewind", "list your messages that can be taken back"),
        ("/rewind N [--files]", "take back the last N messages; files stay, unless --files restores them"),
        ("/rewind #ID [--files]", "the same for message #ID and everything after it"),
    ],
    run: |context, argument| Box::pin(rewind(context, argument)),
};

async fn undo(context: &Context<'_>, argument: Option<&str>) -> Result<Posted> {
    let force = match argument {
        None => false,
        Some("force") => true,
        Some(_) => {
            let text = "Write /undo, or /undo force. /rewind takes back more than one message.";
            return context.refusal("invalid", text).await;
        }
    };
    run(context, TakeBack { turns: Turns::Last(1), files: true, force }).await
}

async fn rewind(context: &Context<'_>, argument: Option<&str>) -> Result<Posted> {
    let Some(argument) = argument else { return list(context).await };
    match parse(argument) {
        Some(wanted) => run(context, wanted).await,
        None => {
            let text = "Write /rewind N for the last N messages, or /rewind #ID; --files also restores the files they changed. \
                        /rewind alone lists the messages.";
            context.refusal("invalid", text).await
        }
    }
}

async fn run(context: &Context<'_>, wanted: TakeBack) -> Result<Posted> {
    match take_back(context.service, context.user, &context.chat.id, wanted).await {
        Ok(taken) => {
            Ok(Posted { messages: vec![taken.notice], input: Some(taken.text), ..Posted::default() })
        }
        Err(Error::Refused { kind, text }) => context.refusal(kind, &text).await,
        Err(error) => Err(error),
    }
}

async fn list(context: &Context<'_>) -> Result<Posted> {
    let past = context.service.store.past_turns(context.user.id, &context.chat.id, TURNS_LISTED).await?;
    if past.is_empty() {
        return context.notice("There is nothing to take back in this chat.").await;
    }
    let line = |(at, turn): (usize, &store::PastTurn)| {
        let id = turn.message.map(|message| format!("#{message}")).unwrap_or_default();
        format!("{:>2}  {id}  {}", at + 1, said(&turn.text))
    };
    let lines: Vec<String> = past.iter().enumerate().map(line).collect();
    let head = context.in_words("Your last messages, newest first:");
    let foot = context
        .in_words("/rewind N takes back the last N of them; --files also restores the files they changed.");
    context.notice_as_it_is(&format!("{head}\n\n{}\n\n{foot}", lines.join("\n"))).await
}

/// Parses `N` or `#ID`, and the text after it.
fn parse(argument: &str) -> Option<TakeBack> {
    let mut words = argument.split_whitespace();
    let turns = address(words.next()?)?;
    let mut wanted = TakeBack { turns, files: false, force: false };
    for word in words {
        match word {
            "--files" => wanted.files = true,
            "force" | "--force" => wanted.force = true,
            _ => return None,
        }
    }
    Some(wanted)
}

#[cfg(test)]
mod tests {
    use store::MessageId;

    use super::*;

    #[test]
    fn what_is_to_be_taken_back_is_read() {
        let last = |count, files, force| Some(TakeBack { turns: Turns::Last(count), files, force });
        assert_eq!(parse("2"), last(2, false, false));
        assert_eq!(parse("2  --files"), last(2, true, false));
        assert_eq!(parse("1 --files force"), last(1, true, true));
        let from = TakeBack { turns: Turns::From(MessageId(7)), files: false, force: false };
        assert_eq!(parse("#7"), Some(from));
        for bad in ["0", "-1", "x", "#", "#x", "1 2", "1 files", "99999999999999999999999"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}

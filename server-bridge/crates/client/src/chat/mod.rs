//! `sandbridge chat`: a chat in the terminal, line by line, or one message of a chat for a program.
//!
//! On a terminal, and without other options, `tui` is used instead.

mod asking;
mod catch_up;
mod printer;
mod sessions;
mod turn;

use std::io::{BufRead, IsTerminal, Write};
use std::process::ExitCode;

use api::words::Approval;
use clap::{Args, Parser};
use tokio::signal::unix::Signal;
use tokio::sync::mpsc;

use super::failure::{self, Failure};
use super::session::Session;
use super::{interrupts, names, tui};
use crate::command::{Command, block_on};
use crate::globals::Globals;
use asking::Answers;
use printer::Printer;
use sessions::ChatCommand;
use turn::{Conversation, Which};

/// Chat with a model; "!command" runs a shell command
#[derive(Parser)]
#[command(disable_help_subcommand = true)]
pub(crate) struct ChatOptions {
    #[command(subcommand)]
    command: Option<ChatCommand>,
    #[command(flatten)]
    talk: TalkOptions,
    /// Send this, print the answer, and exit; without it, the chat fills the terminal
    #[arg(value_name = "MESSAGE")]
    message: Option<String>,
}

impl Command for ChatOptions {
    const NAME: &'static str = "chat";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

/// The chat to talk in, and the way to show it.
#[derive(Args)]
pub struct TalkOptions {
    /// Begin a new chat instead of continuing the last one
    #[arg(long)]
    new: bool,
    /// Continue the chat with this ID, or with an ID that begins with it; without ID, the chat that was active last, here or elsewhere
    #[arg(long, value_name = "ID", num_args = 0..=1, conflicts_with = "new", add = names::chats())]
    resume: Option<Option<String>>,
    /// What the model may do without asking in this chat, from now on: plan, ask, auto-edit or full [default: as it
    /// was; in a new chat, your own mode for new chats]
    #[arg(long, value_name = "MODE", value_parser = approval)]
    approval: Option<Approval>,
    /// Chat line by line instead of in full screen; the default without a terminal
    #[arg(long)]
    lines: bool,
}

async fn run(globals: &Globals, options: ChatOptions) -> Result<ExitCode, Failure> {
    let ChatOptions { command, talk, message } = options;
    if let Some(command) = command {
        if message.is_some() {
            return Err(Failure::usage(
                "give a MESSAGE, or list or export chats; to send one of these words as a message, write: chat -- list",
            ));
        }
        return sessions::run(globals, command).await;
    }
    run_in(globals.session()?, talk, message, globals.json).await
}

/// Parses an approval mode.
fn approval(word: &str) -> Result<Approval, &'static str> {
    match Approval::from(word) {
        Approval::Unknown(_) => Err("must be plan, ask, auto-edit or full"),
        mode => Ok(mode),
    }
}

/// Talks within a session: on the full screen, line by line, or one message.
pub async fn run_in(
    session: Session,
    mut talk: TalkOptions,
    mut message: Option<String>,
    as_json: bool,
) -> Result<ExitCode, Failure> {
    let which = which(&mut talk, &mut message)?;
    if message.as_ref().is_some_and(|message| message.trim().is_empty()) {
        return Err(Failure::usage("MESSAGE is empty; write a message, or omit it to open the chat"));
    }
    let mut conversation = Conversation::open(session, which, Printer::new(as_json)).await?;
    if let Some(mode) = &talk.approval {
        conversation.set_approval(mode).await?;
    }
    if message.is_none() && !talk.lines && !as_json && tui::fits() {
        let (session, chat) = conversation.into_parts();
        return tui::run(session, &chat, talk.approval).await;
    }
    let mut ctrl_c = interrupts::ctrl_c()?;
    match message {
        Some(message) => {
            let mut answers = Answers::new(as_json)?;
            Ok(ExitCode::from(conversation.say(&message, &mut ctrl_c, &mut answers).await?))
        }
        None => line_by_line(&mut conversation, &mut ctrl_c, as_json).await,
    }
}

/// The chat to continue. An argument of --resume that cannot be an id is the message.
fn which(talk: &mut TalkOptions, message: &mut Option<String>) -> Result<Which, Failure> {
    Ok(match (talk.new, talk.resume.take()) {
        (true, _) => Which::New,
        (false, None) => Which::Used,
        (false, Some(None)) => Which::Last,
        (false, Some(Some(id))) if sessions::is_id(&id) => Which::Id(id),
        (false, Some(text)) if message.is_none() => {
            *message = text;
            Which::Last
        }
        (false, Some(Some(id))) => {
            return Err(Failure::usage(format!(
                "{id:?} is not a chat's id; `sandbridge chat list` lists your chats"
            )));
        }
    })
}

/// Sends one line after another, until the input ends.
async fn line_by_line(
    conversation: &mut Conversation,
    ctrl_c: &mut Signal,
    as_json: bool,
) -> Result<ExitCode, Failure> {
    let prompt = !as_json && std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if prompt {
        println!("!COMMAND runs a command, /help lists the rest, Ctrl-D quits.");
    }
    let mut answers = if prompt { Answers::Person(read_lines()?) } else { Answers::Nobody };
    let mut others = if prompt { None } else { Some(read_lines()?) };
    loop {
        if prompt {
            print!("> ");
            let _ = std::io::stdout().flush();
        }
        let line = tokio::select! {
            line = async {
                match (&mut others, &mut answers) {
                    (Some(lines), _) | (None, Answers::Person(lines)) => lines.recv().await,
                    (None, Answers::Nobody) => None,
                }
            } => line,
            _ = ctrl_c.recv() => {
                println!();
                return Ok(ExitCode::from(failure::INTERRUPTED));
            }
        };
        let Some(line) = line else { break };
        if line.trim().is_empty() {
            continue;
        }
        // A message that could not be sent does not end the chat, unless there is no person to try again.
        match conversation.say(&line, ctrl_c, &mut answers).await {
            Ok(_) => {}
            Err(failure) if prompt => {
                failure.report(false);
            }
            Err(failure) => return Err(failure),
        }
    }
    if prompt {
        println!();
    }
    Ok(ExitCode::SUCCESS)
}

/// Standard input line by line, read on a separate thread: a read from a terminal may block forever.
fn read_lines() -> Result<mpsc::Receiver<String>, Failure> {
    let (sender, lines) = mpsc::channel(1);
    std::thread::Builder::new()
        .name("stdin".to_owned())
        .spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        })
        .map_err(|error| Failure::other("io", format!("cannot read standard input: {error}")))?;
    Ok(lines)
}

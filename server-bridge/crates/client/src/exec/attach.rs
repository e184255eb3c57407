//! `sandbridge attach`: shows the output of a background command.

use std::process::ExitCode;

use clap::Parser;

use super::stdin::Stdin;
use super::stream::{OnInterrupt, Opening, Stream};
use super::{finish, format};
use crate::command::{Command, block_on};
use crate::failure::Failure;
use crate::globals::Globals;
use crate::http::percent_encoded;
use crate::names;

/// Read the output of a running command, and exit with its code
#[derive(Parser)]
pub(crate) struct AttachOptions {
    /// The command's id, as `exec --detach` and `ps` print it
    #[arg(value_name = "ID", add = names::commands())]
    exec_id: String,
    /// Skip this many bytes of its output
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    offset: u64,
    /// Send it this program's standard input
    #[arg(long)]
    stdin: bool,
}

impl Command for AttachOptions {
    const NAME: &'static str = "attach";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(attach(globals, self)).map_err(Failure::into_not_run)
    }
}

/// Shows a command's output from its beginning, and ends with its code. Ctrl-C ends this program, not the command.
async fn attach(globals: &Globals, options: AttachOptions) -> Result<ExitCode, Failure> {
    let session = globals.session()?;
    let stdin = if options.stdin { Stdin::start()? } else { Stdin::none() };
    let opening = Opening::Attach(format!("/api/v1/execs/{}", percent_encoded(&options.exec_id)));
    let (leave, offset) = (OnInterrupt::Leave, options.offset);
    let stream = Stream::start(&session, opening, leave, stdin, format(globals), offset).await?;
    finish(globals, stream, None).await
}

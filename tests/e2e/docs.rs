//! The pages in `docs/`: each line of each `sh` block is typed into a shell on a terminal as it is written, including its comment, and must
//! succeed.
//!
//! A page's commands run in their order, in a [`world`] of the page: a separate network with a server, alice's shell, her machines and bob's.
//! A command that runs there as it is written needs nothing else. [`table`] lists all exceptions, each with its reason: text that names
//! something outside and what is used in its place, what must have happened before, answers to questions, and commands that cannot run here.
//! `tidy::docs` checks the options of all commands, including those that cannot run here.
//!
//! | module | contents |
//! |---|---|
//! | [`page`] | the blocks of a page, and the commands in them |
//! | [`table`] | the exceptions |
//! | [`files`] | the files that the pages name |
//! | [`world`] | the servers, machines and people of a page |
//! | [`shell`] | the shell on a terminal |

mod files;
mod page;
mod shell;
mod table;
mod world;

use std::collections::BTreeSet;

use tests::Network;

use page::Command;
use shell::{Ended, Shell};
use table::{Act, Row, TABLE};
use world::World;

/// The advice at the end of each failure.
const ADVICE: &str = "Correct the document or the program. If the command needs something that this test does not have, \
     add rows to tests/e2e/docs/table.rs: Puts if a text names something outside, After if something must have happened before, \
     Answers if the command asks or runs until it is stopped, Ends if it must fail, LeftOut if it cannot \
     run here at all. The files that commands read are in tests/e2e/docs/files.rs.";

/// Makes a test for each page with commands.
macro_rules! pages {
    ($($name:ident: $page:literal,)*) => {
        /// The pages that have a test.
        const TESTED: &[&str] = &[$($page),*];

        $(#[test]
        fn $name() {
            every_command_runs($page);
        })*
    };
}

pages! {
    api: "api",
    approvals: "approvals",
    automations: "automations",
    channels: "channels",
    chat: "chat",
    cluster: "cluster",
    docker: "docker",
    groups: "groups",
    hooks: "hooks",
    http_tools: "http-tools",
    install: "install",
    knowledge: "knowledge",
    mcp_servers: "mcp-servers",
    memory: "memory",
    models: "models",
    operation: "operation",
    plugins: "plugins",
    trust: "trust",
}

#[test]
fn every_page_with_commands_has_a_test() {
    let with_commands: BTreeSet<String> =
        page::names().into_iter().filter(|page| !page::commands(page).is_empty()).collect();
    let tested: BTreeSet<String> = TESTED.iter().map(|&page| page.to_owned()).collect();
    assert_eq!(with_commands, tested, "add a page with `sh` blocks to `pages!` in tests/e2e/docs.rs");
    let unknown: Vec<&Row> = TABLE.iter().filter(|row| !TESTED.contains(&row.page)).collect();
    assert!(unknown.is_empty(), "rows of pages that do not exist: {unknown:?}");
}

fn every_command_runs(page: &'static str) {
    let network = Network::new();
    network.inside(|| {
        let mut world = World::new(page);
        let mut shell = Shell::start(&world);
        let rows: Vec<&Row> = TABLE.iter().filter(|row| row.page == page).collect();
        let mut used = vec![false; rows.len()];
        for command in page::commands(page) {
            let mut of_command = Vec::new();
            for (row, is_used) in rows.iter().zip(&mut used) {
                if row.applies_to(&command.text) {
                    *is_used = true;
                    of_command.push(*row);
                }
            }
            run(&mut world, &mut shell, &command, &of_command);
        }
        let idle: Vec<_> = rows.iter().zip(&used).filter(|(_, used)| !**used).map(|(row, _)| row).collect();
        assert!(idle.is_empty(), "docs/{page}.md has no command for these rows of the table: {idle:#?}");
    });
}

/// Runs a command, with the rows of the table that apply to it.
fn run(world: &mut World, shell: &mut Shell, command: &Command, rows: &[&Row]) {
    if rows.iter().any(|row| row.act == Act::LeftOut) {
        return;
    }
    let place = format!("docs/{}.md, line {}", world.page, command.line);
    for row in rows {
        if let Act::After(line) = row.act {
            let Ended { code, shown } = shell.runs(&world.filled(line), &[], &place);
            assert_eq!(code, 0, "{place}: before this command, {line:?} was run:\n{shown}");
        }
    }
    let mut text = command.text.clone();
    let (mut answers, mut wanted) = (&[][..], (0, ""));
    for row in rows {
        match row.act {
            Act::Puts(named, instead) => text = text.replace(named, &world.filled(instead)),
            Act::Answers(given) => answers = given,
            Act::Ends(code, says) => wanted = (code, says),
            Act::After(_) | Act::LeftOut => {}
        }
    }
    let answers: Vec<_> = answers.iter().map(|(sees, answer)| (world.filled(sees), *answer)).collect();
    let Ended { code, shown } = shell.runs(&text, &answers, &place);
    println!("{place}: {text}\n{shown}");
    let is_as_wanted = code == wanted.0 && shown.contains(wanted.1);
    assert!(is_as_wanted, "{place}: {text}\nended with {code}:\n{shown}\n{ADVICE}");
}

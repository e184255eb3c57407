//! `sandbridge user …`: accounts, changed in the store itself, even while a server has it open.
//!
//! Anyone who may write in the home directory may do this. There is no session here, so the audit trail names the user of
//! the machine: `alice (command line)`, a name that no account can have.

use std::fs;
use std::io::{BufRead, IsTerminal};
use std::path::Path;

use anyhow::{Context, bail};
use home::Settings;
use serde_json::{Value, json};
use store::{AuditEntry, Location, Name, Store, User};

use crate::config::{DatabaseArgs, database_of};

/// The machine's user accounts, one per line.
const ACCOUNTS_FILE: &str = "/etc/passwd";

/// Manage the accounts of the server on this machine
#[derive(Debug, clap::Parser)]
pub struct UserOptions {
    #[command(subcommand)]
    command: UserCommand,
    /// The PostgreSQL database of the server, if it has one; also SANDBRIDGE_DATABASE, or `database` in config.json
    #[arg(long, global = true, value_name = "URL")]
    database: Option<String>,
}

/// The operations on accounts.
#[derive(Debug, clap::Subcommand)]
enum UserCommand {
    /// Add a user; the first one becomes an administrator
    Add {
        /// The user's name
        name: String,
        /// Make them an administrator
        #[arg(long)]
        admin: bool,
        /// Read the password from the first line of standard input
        #[arg(long)]
        password_stdin: bool,
    },
    /// List the users
    List,
    /// Change a user's password, end their sessions and remove their API keys
    Passwd {
        /// The user's name
        name: String,
        /// Read the password from the first line of standard input
        #[arg(long)]
        password_stdin: bool,
    },
    /// Remove a user and all their data
    Remove {
        /// The user's name
        name: String,
    },
}

/// Runs an account command to completion; returns its result, for programs and as text.
///
/// # Errors
/// One line that says what to correct: the home directory, the name, the password.
pub fn main(options: UserOptions, home: Option<&Path>) -> anyhow::Result<(Value, String)> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(run(options, home))
}

async fn run(options: UserOptions, home: Option<&Path>) -> anyhow::Result<(Value, String)> {
    let home = &home::find(home)?;
    home::ensure(home)?;
    let database = DatabaseArgs { database: options.database };
    let at = &database_of(home, database, &Settings::load(home)?)?;
    Ok(match options.command {
        UserCommand::Add { name, admin, password_stdin } => {
            let user = add_user(at, &name, admin, &new_password(password_stdin)?).await?;
            let role = if user.admin { "administrator" } else { "user" };
            (user_json(&user), format!("added {role} {name}"))
        }
        UserCommand::List => {
            let users = list_users(at).await?;
            let line =
                |user: &User| format!("{}{}", user.name, if user.admin { "\tadministrator" } else { "" });
            let words = match users.as_slice() {
                [] => "there are no users; add one: sandbridge user add NAME".to_owned(),
                users => users.iter().map(line).collect::<Vec<_>>().join("\n"),
            };
            (users.iter().map(user_json).collect(), words)
        }
        UserCommand::Passwd { name, password_stdin } => {
            set_password(at, &name, &new_password(password_stdin)?).await?;
            (
                json!({"name": name}),
                format!(
                    "changed the password of {name}; their sessions have ended and their API keys were removed"
                ),
            )
        }
        UserCommand::Remove { name } => {
            remove_user(at, &name).await?;
            (json!({"name": name}), format!("removed user {name}"))
        }
    })
}

fn user_json(user: &User) -> Value {
    json!({"name": user.name, "admin": user.admin, "created_at": user.created_at_ms})
}

fn new_password(from_stdin: bool) -> anyhow::Result<String> {
    if from_stdin {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).context("cannot read the password")?;
        return Ok(line.trim_end_matches(['\r', '\n']).to_owned());
    }
    if !std::io::stdin().is_terminal() {
        bail!("there is no terminal to ask for the password; pass --password-stdin");
    }
    let password = rpassword::prompt_password("New password: ").context("cannot read the password")?;
    if rpassword::prompt_password("Password again: ").context("cannot read the password")? != password {
        bail!("the two passwords differ; nothing was changed");
    }
    Ok(password)
}

/// Adds a user; the first one of a store is an administrator.
///
/// # Errors
/// One line that says what to correct: the database, the name, the password.
pub async fn add_user(at: &Location, name: &str, admin: bool, password: &str) -> anyhow::Result<User> {
    let name = Name::parse(name)?;
    let store = Store::at(at).await?;
    let added = store.add_user(&name, password, admin).await;
    finish(store, "user.add", name.as_str(), added).await
}

/// Every user, by name.
///
/// # Errors
/// As for [`add_user`].
pub async fn list_users(at: &Location) -> anyhow::Result<Vec<User>> {
    let store = Store::at(at).await?;
    let users = store.users().await;
    store.close().await;
    Ok(users?)
}

/// Changes a user's password, ends their sessions and removes their API keys.
///
/// # Errors
/// As for [`add_user`].
pub async fn set_password(at: &Location, name: &str, password: &str) -> anyhow::Result<()> {
    let store = Store::at(at).await?;
    let changed = store.set_password(name, password).await;
    finish(store, "user.password", name, changed).await
}

/// Removes a user with all their data. A running server closes their runners' links within half a minute.
///
/// # Errors
/// As for [`add_user`].
pub async fn remove_user(at: &Location, name: &str) -> anyhow::Result<()> {
    let store = Store::at(at).await?;
    let removed = store.remove_user(name).await;
    finish(store, "user.remove", name, removed).await
}

/// Adds an audit entry and closes the store, regardless of the result.
async fn finish<T>(store: Store, action: &str, name: &str, done: store::Result<T>) -> anyhow::Result<T> {
    let entry = AuditEntry {
        user: Some(operator()),
        action: action.to_owned(),
        target: name.to_owned(),
        outcome: if done.is_ok() { "ok" } else { "failed" }.to_owned(),
        ..AuditEntry::default()
    };
    let audited = store.append_audit(&entry).await;
    store.close().await;
    let done = done?;
    audited.context("it was done, but the audit trail could not be written")?;
    Ok(done)
}

/// The user of the machine who runs this command, for the audit trail.
fn operator() -> String {
    let accounts = fs::read(ACCOUNTS_FILE).unwrap_or_default();
    let sudo_user = std::env::var("SUDO_USER").ok();
    operator_of(rustix::process::getuid().as_raw(), &String::from_utf8_lossy(&accounts), sudo_user.as_deref())
}

/// Computes [`operator`] from a user id, the contents of the machine's account file and the user who called sudo. The sudo user
/// is used only for root, who could write anything into the trail anyway.
fn operator_of(user_id: u32, accounts: &str, sudo_user: Option<&str>) -> String {
    let named = accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, id) = (fields.next()?, fields.nth(1)?);
        (id.parse() == Ok(user_id)).then_some(name)
    });
    let is_plain = |name: &&str| !name.is_empty() && !name.contains(char::is_control);
    let name = named.filter(is_plain).map_or_else(|| format!("user {user_id}"), str::to_owned);
    match sudo_user.filter(is_plain).filter(|_| user_id == 0) {
        Some(caller) => format!("{caller} as {name} (command line)"),
        None => format!("{name} (command line)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The database of a home directory.
    fn at(home: &Path) -> Location {
        Location::File(crate::config::database(home))
    }

    #[tokio::test]
    async fn the_audit_trail_names_who_changed_an_account_at_the_command_line() {
        let home = tempfile::tempdir().unwrap();
        add_user(&at(home.path()), "alice", false, "correct horse").await.unwrap();
        add_user(&at(home.path()), "bob", true, "correct horse").await.unwrap();
        set_password(&at(home.path()), "bob", "battery staple").await.unwrap();
        remove_user(&at(home.path()), "bob").await.unwrap();
        assert!(remove_user(&at(home.path()), "bob").await.is_err());
        assert!(set_password(&at(home.path()), "alice", "x").await.is_err());
        let store = Store::at(&at(home.path())).await.unwrap();
        let trail = store.audit(100, None).await.unwrap();
        store.close().await;
        let told: Vec<_> =
            trail.iter().map(|entry| (&*entry.action, &*entry.target, &*entry.outcome)).rev().collect();
        assert_eq!(
            told,
            [
                ("user.add", "alice", "ok"),
                ("user.add", "bob", "ok"),
                ("user.password", "bob", "ok"),
                ("user.remove", "bob", "ok"),
                ("user.remove", "bob", "failed"),
                ("user.password", "alice", "failed"),
            ]
        );
        for entry in &trail {
            let who = entry.user.as_deref().unwrap();
            assert!(who.ends_with(" (command line)") && who.len() > " (command line)".len(), "{who}");
            assert!(Name::parse(who).is_err(), "an account could have this name: {who}");
        }
    }

    #[test]
    fn an_operator_is_named_as_the_machine_knows_them() {
        let accounts = "root:x:0:0:root:/root:/bin/sh\nbroken\nalice:x:1000:1000::/home/alice:/bin/sh\n";
        for (user_id, sudo_user, named) in [
            (1000, None, "alice (command line)"),
            (1000, Some("eve"), "alice (command line)"),
            (0, None, "root (command line)"),
            (0, Some("alice"), "alice as root (command line)"),
            (0, Some("a\nb"), "root (command line)"),
            (0, Some(""), "root (command line)"),
            (4711, None, "user 4711 (command line)"),
        ] {
            assert_eq!(operator_of(user_id, accounts, sudo_user), named);
        }
        assert_eq!(operator_of(1, "", None), "user 1 (command line)");
    }

    #[tokio::test]
    async fn an_account_is_added_changed_and_removed() {
        let home = tempfile::tempdir().unwrap();
        let first = add_user(&at(home.path()), "alice", false, "correct horse").await.unwrap();
        assert!(first.admin, "the first user is an administrator");
        assert!(!add_user(&at(home.path()), "bob", false, "correct horse").await.unwrap().admin);
        set_password(&at(home.path()), "bob", "battery staple").await.unwrap();
        remove_user(&at(home.path()), "bob").await.unwrap();
        let names: Vec<_> =
            list_users(&at(home.path())).await.unwrap().into_iter().map(|user| user.name).collect();
        assert_eq!(names, ["alice"]);
    }

    #[tokio::test]
    async fn what_cannot_be_done_says_why() {
        let home = tempfile::tempdir().unwrap();
        add_user(&at(home.path()), "alice", false, "correct horse").await.unwrap();
        for (error, words) in [
            (add_user(&at(home.path()), "alice", false, "correct horse").await.err(), "already"),
            (add_user(&at(home.path()), "Bob!", false, "correct horse").await.err(), "valid name"),
            (add_user(&at(home.path()), "bob", false, "x").await.err(), "password"),
            (set_password(&at(home.path()), "carol", "correct horse").await.err(), "no user"),
            (remove_user(&at(&home.path().join("a/b")), "alice").await.err(), "check that the folder exists"),
        ] {
            let text = format!("{:#}", error.unwrap());
            assert!(text.contains(words), "{text}");
        }
    }
}

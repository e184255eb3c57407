//! `sandbridge user …`: accounts, changed in the store itself, whether a server has it open or not.
//!
//! Who may do this is whoever may write in the home directory: there is no session here, and the audit trail names no
//! user.

use std::io::{BufRead, IsTerminal};
use std::path::Path;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use store::{AuditEntry, Name, Store, User};

use crate::config::{database, ensure_home, home_dir};

/// What can be done with accounts: `sandbridge user …`.
#[derive(Debug, clap::Subcommand)]
pub enum UserCommand {
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
    /// Give a user another password and end their sessions
    Passwd {
        /// The user's name
        name: String,
        /// Read the password from the first line of standard input
        #[arg(long)]
        password_stdin: bool,
    },
    /// Remove a user with everything that is theirs
    Remove {
        /// The user's name
        name: String,
    },
}

/// Runs a command about accounts to its end; returns what came of it, for programs and in words.
///
/// # Errors
/// A line that says what to change: the home directory, the name, the password.
pub fn main(command: UserCommand, home: Option<&Path>) -> anyhow::Result<(Value, String)> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(run(command, home))
}

async fn run(command: UserCommand, home: Option<&Path>) -> anyhow::Result<(Value, String)> {
    let home = home_dir(home)?;
    Ok(match command {
        UserCommand::Add { name, admin, password_stdin } => {
            let user = add_user(&home, &name, admin, &new_password(password_stdin)?).await?;
            let role = if user.admin { "administrator" } else { "user" };
            (user_json(&user), format!("added {role} {name}"))
        }
        UserCommand::List => {
            let users = list_users(&home).await?;
            let line =
                |user: &User| format!("{}{}", user.name, if user.admin { "\tadministrator" } else { "" });
            let words = match users.as_slice() {
                [] => "there are no users; add one: sandbridge user add NAME".to_owned(),
                users => users.iter().map(line).collect::<Vec<_>>().join("\n"),
            };
            (users.iter().map(user_json).collect(), words)
        }
        UserCommand::Passwd { name, password_stdin } => {
            set_password(&home, &name, &new_password(password_stdin)?).await?;
            (
                json!({"name": name}),
                format!("changed the password of {name}; their sessions have ended, their API keys are gone"),
            )
        }
        UserCommand::Remove { name } => {
            remove_user(&home, &name).await?;
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
    if rpassword::prompt_password("Once more: ").context("cannot read the password")? != password {
        bail!("the two passwords differ; nothing was changed");
    }
    Ok(password)
}

/// Adds a user; the first one of a store is an administrator.
///
/// # Errors
/// A line that says what to change: the home directory, the name, the password.
pub async fn add_user(home: &Path, name: &str, admin: bool, password: &str) -> anyhow::Result<User> {
    let name = Name::parse(name)?;
    let store = open(home).await?;
    let added = store.add_user(&name, password, admin).await;
    finish(store, "user.add", name.as_str(), added).await
}

/// Every user, by name.
///
/// # Errors
/// As for [`add_user`].
pub async fn list_users(home: &Path) -> anyhow::Result<Vec<User>> {
    let store = open(home).await?;
    let users = store.users().await;
    store.close().await;
    Ok(users?)
}

/// Gives a user another password, ends their sessions and removes their API keys.
///
/// # Errors
/// As for [`add_user`].
pub async fn set_password(home: &Path, name: &str, password: &str) -> anyhow::Result<()> {
    let store = open(home).await?;
    let changed = store.set_password(name, password).await;
    finish(store, "user.password", name, changed).await
}

/// Removes a user with everything that is theirs. A server that runs closes their runners' links within half a minute.
///
/// # Errors
/// As for [`add_user`].
pub async fn remove_user(home: &Path, name: &str) -> anyhow::Result<()> {
    let store = open(home).await?;
    let removed = store.remove_user(name).await;
    finish(store, "user.remove", name, removed).await
}

async fn open(home: &Path) -> anyhow::Result<Store> {
    ensure_home(home)?;
    Ok(Store::open(&database(home)).await?)
}

/// Leaves a trace and closes the store, however it went.
async fn finish<T>(store: Store, action: &str, name: &str, done: store::Result<T>) -> anyhow::Result<T> {
    let entry = AuditEntry {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_account_is_added_changed_and_removed() {
        let home = tempfile::tempdir().unwrap();
        let first = add_user(home.path(), "alice", false, "correct horse").await.unwrap();
        assert!(first.admin, "the first user is an administrator");
        assert!(!add_user(home.path(), "bob", false, "correct horse").await.unwrap().admin);
        set_password(home.path(), "bob", "battery staple").await.unwrap();
        remove_user(home.path(), "bob").await.unwrap();
        let names: Vec<_> =
            list_users(home.path()).await.unwrap().into_iter().map(|user| user.name).collect();
        assert_eq!(names, ["alice"]);
    }

    #[tokio::test]
    async fn what_cannot_be_done_says_why() {
        let home = tempfile::tempdir().unwrap();
        add_user(home.path(), "alice", false, "correct horse").await.unwrap();
        for (error, words) in [
            (add_user(home.path(), "alice", false, "correct horse").await.err(), "already"),
            (add_user(home.path(), "Bob!", false, "correct horse").await.err(), "valid name"),
            (add_user(home.path(), "bob", false, "x").await.err(), "password"),
            (set_password(home.path(), "carol", "correct horse").await.err(), "no user"),
            (remove_user(&home.path().join("a/b"), "alice").await.err(), "--home"),
        ] {
            let text = format!("{:#}", error.unwrap());
            assert!(text.contains(words), "{text}");
        }
    }
}

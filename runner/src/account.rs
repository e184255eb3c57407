//! The machine's users that commands run as, read from `/etc/passwd` and `/etc/group`.
//!
//! A runner started by root can run commands as an ordinary user ([`RunAs::default`]), and can let requests name a second one
//! ([`RunAs::privileged`]). The child itself changes user, between its birth and its program (`sys::spawn`). File operations act as the default user
//! too (`Account::acting`), so that files created by them belong to that user, and files that the user has no permission to touch stay untouched.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use rustix::fs::{Access, AtFlags, CWD};
use rustix::thread::CapabilitySet;

use crate::error::Error;
use crate::sys::{self, UserIds};

/// The file of the user database.
const USERS: &str = "/etc/passwd";

/// The file of the group database.
const GROUPS: &str = "/etc/group";

/// The capabilities needed to start commands as other users, to give them their terminals and pipes, and to end them.
const NEEDED: CapabilitySet =
    CapabilitySet::SETUID.union(CapabilitySet::SETGID).union(CapabilitySet::CHOWN).union(CapabilitySet::KILL);

/// The home directory of this process's user: `HOME`, else the one in the user database.
///
/// Unlike the standard library's function, this one does not load modules of the C library (see `net::names`).
pub(crate) fn own_home() -> Option<PathBuf> {
    let variable = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    variable.or_else(|| Account::numbered(rustix::process::getuid().as_raw()).map(|account| account.home))
}

/// A user of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The login name.
    pub name: String,
    /// The user id.
    pub user_id: u32,
    /// The user's primary group, which new files get.
    pub group_id: u32,
    /// All groups of the user, the primary one included.
    pub groups: Vec<u32>,
    /// The home directory.
    pub home: PathBuf,
    /// The login shell.
    pub shell: String,
}

impl Account {
    /// The user with this name, if the database has one.
    pub fn named(name: &str) -> Option<Self> {
        let users = fs::read_to_string(USERS).ok()?;
        let groups = fs::read_to_string(GROUPS).unwrap_or_default();
        find(&users, &groups, |found, _| found == name)
    }

    /// The user with this id, if the database has one.
    pub(crate) fn numbered(user_id: u32) -> Option<Self> {
        let users = fs::read_to_string(USERS).ok()?;
        let groups = fs::read_to_string(GROUPS).unwrap_or_default();
        find(&users, &groups, |_, found| found == user_id)
    }

    /// True if commands of this process run as this user without any change.
    pub(crate) fn is_own(&self) -> bool {
        self.user_id == rustix::process::geteuid().as_raw()
    }

    /// The user's ids, as the kernel takes them.
    pub(crate) fn ids(&self) -> UserIds {
        UserIds { user_id: self.user_id, group_id: self.group_id, groups: self.groups.clone() }
    }

    /// The reason why this process cannot start commands as this user; `None` if it can.
    pub(crate) fn obstacle(&self) -> Option<String> {
        let own = rustix::thread::capabilities(None).map(|sets| sets.effective);
        if !own.is_ok_and(|own| own.contains(NEEDED)) {
            return Some("only a runner that root started can run commands as another user".to_owned());
        }
        let has = |file, number| maps(&fs::read_to_string(file).unwrap_or_default(), number);
        let is_known = has("/proc/self/uid_map", self.user_id)
            && self.groups.iter().all(|group| has("/proc/self/gid_map", *group))
            && fs::read_to_string("/proc/self/setgroups").is_ok_and(|answer| answer.trim() == "allow");
        (!is_known).then(|| "that user does not exist in this container's user namespace".to_owned())
    }

    /// Runs `work` with this user's rights to files, on the calling thread alone.
    ///
    /// # Errors
    /// The thread could not take on these rights; `work` did not run.
    pub(crate) fn acting<T>(&self, work: impl FnOnce() -> T) -> io::Result<T> {
        let acting = sys::act_on_files_as(self.user_id, self.group_id, &self.groups)?;
        let done = work();
        drop(acting);
        Ok(done)
    }

    /// True if this user may enter, list and change a directory.
    fn may_use(&self, directory: &Path) -> bool {
        let access = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
        let tried = self.acting(|| rustix::fs::accessat(CWD, directory, access, AtFlags::EACCESS));
        matches!(tried, Ok(Ok(())))
    }
}

impl fmt::Display for Account {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}

/// The users that commands run as; from the runner's configuration, never from a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunAs {
    /// The user they run as unless a request names another; the runner's own user when absent.
    pub default: Option<Account>,
    /// The user they run as if a request asks for it by name.
    pub privileged: Option<Account>,
}

impl RunAs {
    /// Warnings for the person who starts the runner; call this from an unconfined thread.
    pub fn warnings(&self, workspace: &Path) -> Vec<String> {
        let cannot = self.default.iter().filter(|user| !user.is_own() && !user.may_use(workspace));
        let mut warnings: Vec<String> = cannot
            .map(|user| {
                let (user, workspace) = (&user.name, workspace.display());
                format!(
                    "{user} cannot write to the workspace {workspace}, and commands and file operations run as {user}. Let \
                     {user} enter the directories above it, and make {user} its owner: chown -R {user}: {workspace}"
                )
            })
            .collect();
        if let Some(user) = &self.privileged {
            warnings
                .push(format!("with approval, commands also run as {user}, who may do more than the others"));
        }
        warnings
    }
}

/// The users that commands are to run as.
#[derive(Debug, Clone, Default, Args)]
pub struct RunAsOptions {
    /// Run commands and work on files as this user of the machine (for a runner that root starts)
    #[arg(long, value_name = "USER", env = "SANDBRIDGE_RUN_AS_DEFAULT")]
    pub run_as_default: Option<String>,
    /// Run commands as this user, such as root, for requests that were approved on the server
    #[arg(long, value_name = "USER", env = "SANDBRIDGE_RUN_AS_PRIVILEGED")]
    pub run_as_privileged: Option<String>,
}

impl RunAsOptions {
    /// Looks the users up.
    ///
    /// # Errors
    /// A user does not exist, is not one this process can run commands as, or is named for both roles.
    pub fn users(&self) -> Result<RunAs, Error> {
        let find =
            |option, name: &Option<String>| name.as_deref().map(|name| Self::user(option, name)).transpose();
        let default = find("--run-as-default", &self.run_as_default)?;
        let privileged = find("--run-as-privileged", &self.run_as_privileged)?;
        if let Some(privileged) = &privileged
            && default.as_ref().map_or_else(|| privileged.is_own(), |user| user.user_id == privileged.user_id)
        {
            return Err(Error::Usage(format!(
                "--run-as-privileged {privileged}: commands already run as {privileged}; name an ordinary user with \
                 --run-as-default"
            )));
        }
        Ok(RunAs { default, privileged })
    }

    fn user(option: &str, name: &str) -> Result<Account, Error> {
        let account = Account::named(name)
            .ok_or_else(|| Error::Usage(format!("{option} {name}: there is no such user in {USERS}")))?;
        match account.obstacle().filter(|_| !account.is_own()) {
            Some(why) => Err(Error::Usage(format!("{option} {name}: {why}"))),
            None => Ok(account),
        }
    }

    /// The options in text form, for a unit file.
    pub(crate) fn words(&self) -> Vec<&str> {
        let options =
            [("--run-as-default", &self.run_as_default), ("--run-as-privileged", &self.run_as_privileged)];
        options.into_iter().filter_map(|(option, name)| Some([option, name.as_deref()?])).flatten().collect()
    }
}

/// The first user that `fits`, by name and number.
fn find(users: &str, groups: &str, fits: impl Fn(&str, u32) -> bool) -> Option<Account> {
    users.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, user_id, group_id, _, home, shell] = fields.as_slice() else { return None };
        let (user_id, group_id) = (user_id.parse().ok()?, group_id.parse().ok()?);
        fits(name, user_id).then(|| Account {
            name: (*name).to_owned(),
            user_id,
            group_id,
            groups: groups_of(name, group_id, groups),
            home: PathBuf::from(home),
            shell: (*shell).to_owned(),
        })
    })
}

fn groups_of(user: &str, own: u32, groups: &str) -> Vec<u32> {
    let others = groups.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [_, _, number, members] = fields.as_slice() else { return None };
        members.split(',').any(|member| member == user).then(|| number.parse().ok()).flatten()
    });
    let mut all: Vec<u32> = std::iter::once(own).chain(others).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// True if the map of a user namespace contains a number.
fn maps(map: &str, number: u32) -> bool {
    map.lines().any(|line| {
        let mut fields = line.split_ascii_whitespace().map(str::parse::<u64>);
        let (Some(Ok(first)), _, Some(Ok(length))) = (fields.next(), fields.next(), fields.next()) else {
            return false;
        };
        (first..first.saturating_add(length)).contains(&u64::from(number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\nbroken line\nhalf:x:nine:9::/:/bin/sh\n\
                          dev:x:1000:1000:,,,:/home/dev:/bin/zsh\nother:x:1001:100::/home/other:";
    const GROUP: &str = "root:x:0:\nusers:x:100:dev,other\ndocker:x:999:devil,dev\nsudo:x:27:other\nbad:x:no:dev\ndev:x:1000:";

    #[test]
    fn a_user_has_the_groups_that_name_it_and_no_others() {
        let dev = find(PASSWD, GROUP, |name, _| name == "dev").unwrap();
        assert_eq!((dev.user_id, dev.group_id, dev.groups), (1000, 1000, vec![100, 999, 1000]));
        assert_eq!((dev.home, dev.shell.as_str()), (PathBuf::from("/home/dev"), "/bin/zsh"));
        assert_eq!(find(PASSWD, "", |_, number| number == 1001).unwrap().groups, [100]);
        for missing in ["half", "nobody", "", "de", "1000"] {
            assert_eq!(find(PASSWD, GROUP, |name, _| name == missing), None, "{missing}");
        }
    }

    #[test]
    fn a_number_is_known_where_a_line_of_the_map_covers_it() {
        assert!(maps("         0          0 4294967295\n", 1000));
        let some = "0 1000 1\n1 100000 65536\n";
        assert!(maps(some, 0) && maps(some, 65_536) && !maps(some, 65_537));
        assert!(!maps("1000 1000 1", 0) && !maps("", 0) && !maps("a b c", 0));
    }

    #[test]
    fn what_cannot_work_is_told_at_the_start() {
        let options = |default: &str, privileged: &str| {
            let name = |name: &str| (!name.is_empty()).then(|| name.to_owned());
            RunAsOptions { run_as_default: name(default), run_as_privileged: name(privileged) }
        };
        let refused = |default, privileged| options(default, privileged).users().unwrap_err().to_string();
        assert!(refused("no-such-user", "").contains("--run-as-default no-such-user: there is no such user"));
        let own = Account::numbered(rustix::process::geteuid().as_raw()).unwrap();
        assert!(refused("", &own.name).contains("already"), "a privileged user who is the default");
        assert!(refused(&own.name, &own.name).contains("already"));
        assert_eq!(options(&own.name, "").users().unwrap().default, Some(own));
        assert_eq!(options("", "").users().unwrap(), RunAs::default());
    }

    #[test]
    fn files_are_made_as_the_user_and_only_on_this_thread() {
        use std::os::unix::fs::MetadataExt;
        let Some(nobody) = Account::named("nobody").filter(|nobody| nobody.obstacle().is_none()) else {
            return; // not root: the e2e tests cover this
        };
        let open = tempfile::tempdir().unwrap();
        rustix::fs::chown(open.path(), Some(rustix::fs::Uid::from_raw(nobody.user_id)), None).unwrap();
        let closed = tempfile::tempdir().unwrap();
        let made = nobody.acting(|| {
            fs::write(open.path().join("file"), "x").unwrap();
            let elsewhere = open.path().join("elsewhere");
            std::thread::spawn(|| nobody_else(elsewhere)).join().unwrap();
            fs::write(closed.path().join("file"), "x").unwrap_err().kind()
        });
        assert_eq!(made.unwrap(), io::ErrorKind::PermissionDenied);
        let owner = fs::metadata(open.path().join("file")).unwrap();
        assert_eq!((owner.uid(), owner.gid()), (nobody.user_id, nobody.group_id));
        fs::write(closed.path().join("file"), "x").unwrap();
        let root = fs::metadata(closed.path().join("file")).unwrap();
        assert_eq!(root.uid(), rustix::process::geteuid().as_raw(), "it has its own rights back");
    }

    /// A thread begins with the rights of the thread that starts it; the process's rights stay the same.
    fn nobody_else(path: PathBuf) {
        assert!(rustix::process::geteuid().is_root());
        fs::write(path, "x").unwrap();
    }
}

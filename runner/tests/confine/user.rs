//! Commands that switch to another user than the confining one.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};

use runner::account::Account;
use runner::confine::ConfinePolicy;
use runner::layers::Profile;
use runner::spawn::{SpawnRequest, Spawner};

use crate::support::{Bench, PYTHON_CALL, argv, finish, shell};

/// A workspace of another user, with tools in their home; `None` if the tests do not run as root.
fn of_another_user() -> Option<(Bench, Account)> {
    let user = Account::named("nobody").filter(|_| rustix::process::geteuid().is_root())?;
    let mut bench = Bench::new(Profile::Workspace);
    let home = bench.outside("person");
    fs::create_dir_all(home.join(".cargo/bin")).unwrap();
    fs::write(home.join(".cargo/env"), "of the tool").unwrap();
    chown(bench.workspace(), Some(user.user_id), Some(user.group_id)).unwrap();
    bench.policy = ConfinePolicy { home, run_as: Some(user.clone()), ..bench.policy.clone() };
    bench.spawner = Spawner::start(Profile::Workspace, &bench.policy).unwrap();
    Some((bench, user))
}

#[test]
fn all_of_the_private_home_is_the_users_and_lasts() {
    let Some((bench, user)) = of_another_user() else { return };
    let output =
        bench.run("id -un; echo x > ~/.cargo/config && mkdir ~/.cargo/registry && stat -c %U ~ ~/.cargo");
    assert_eq!(output.stdout, "nobody\nnobody\nnobody\n", "{}", output.stderr);
    let again = Spawner::start(Profile::Workspace, &bench.policy).unwrap();
    let output = finish(again.spawn_blocking(shell("cat ~/.cargo/config; id -u")).unwrap());
    assert_eq!(output.stdout, format!("x\n{}\n", user.user_id), "{}", output.stderr);
    let thrown_away = Spawner::start(Profile::ReadOnly, &bench.policy).unwrap();
    let script = "ls ~/.cargo/config; mkdir ~/.cargo/registry && stat -c %U ~ ~/.cargo";
    let output = finish(thrown_away.spawn_blocking(shell(script)).unwrap());
    assert_eq!(output.stdout, "nobody\nnobody\n", "{}", output.stderr);
    let own = ConfinePolicy { run_as: None, ..bench.policy.clone() };
    assert_ne!(own.private_home().unwrap(), bench.policy.private_home().unwrap());
}

#[test]
fn neither_ids_nor_groups_nor_capabilities_come_back() {
    let Some((bench, user)) = of_another_user() else { return };
    let program = format!(
        "{PYTHON_CALL}\
         print(os.getresuid() == ({uid},) * 3, os.getresgid() == ({gid},) * 3, os.getgroups() == {groups:?})\n\
         for number in ({setuid}, {setgid}, {setreuid}, {setresuid}, {setgroups}):\n    print(call(number, 0, 0, 0))\n",
        uid = user.user_id,
        gid = user.group_id,
        groups = user.groups,
        setuid = libc::SYS_setuid,
        setgid = libc::SYS_setgid,
        setreuid = libc::SYS_setreuid,
        setresuid = libc::SYS_setresuid,
        setgroups = libc::SYS_setgroups,
    );
    let request = SpawnRequest { argv: argv(&["python3", "-c", &program]), ..SpawnRequest::default() };
    let output = finish(bench.spawner.spawn_blocking(request).unwrap());
    assert_eq!(output.stdout, "True True True\n1\n1\n1\n1\n1\n", "{}", output.stderr);
    assert_eq!(rustix::process::geteuid().as_raw(), 0, "the runner's own user is unchanged");
    fs::write(bench.workspace().join("root"), "x").unwrap();
    assert_eq!(fs::metadata(bench.workspace().join("root")).unwrap().uid(), 0);
}

#[test]
fn what_is_missing_or_closed_is_told_as_for_any_user() {
    let Some((bench, _)) = of_another_user() else { return };
    fs::create_dir(bench.workspace().join("closed")).unwrap();
    std::os::unix::fs::fchown(fs::File::open(bench.workspace().join("closed")).unwrap(), Some(0), Some(0))
        .unwrap();
    fs::set_permissions(
        bench.workspace().join("closed"),
        std::os::unix::fs::PermissionsExt::from_mode(0o700),
    )
    .unwrap();
    let start = |cwd: &str, program: &str| {
        let request = SpawnRequest { argv: argv(&[program]), cwd: cwd.into(), ..SpawnRequest::default() };
        bench.spawner.spawn_blocking(request).err().map(|error| (error.exit_code(), error.to_string()))
    };
    let closed = start("closed", "true").unwrap();
    assert_eq!(closed, (125, "working directory: permission denied".to_owned()));
    assert_eq!(start("", "no-such-program").unwrap().0, 127);
    assert!(start("", "true").is_none());
}

//! A real PostgreSQL server for tests, run with the programs of Debian's package `postgresql`.
//!
//! The first test that needs the server starts it below the temporary directory, for itself and for all other tests: a socket,
//! no port, no fsync. Each test gets its own database, copied from a template; only some of the databases of ended tests are
//! kept. A script in the background ends the server, and removes all of its files, half a minute after the last test that
//! holds its lock.
//!
//! ```text
//!   sandbridge-postgres-UID.lock    held by a process that looks for the server, starts it, or ends it
//!   sandbridge-postgres-UID/in-use  held, shared, by each process that tests with the server
//! ```
#![expect(clippy::unwrap_used, reason = "test support: a failed step fails the test")]

mod wire;

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use rustix::process::{Pid, Signal, kill_process};
use wire::Connection;

/// The variable that switches tests to PostgreSQL, with the value `postgres`.
const VARIABLE: &str = "SANDBRIDGE_TEST_DATABASE";
/// The number of databases of ended tests that are kept, because dropping one takes as long as creating one.
const LEFT_MOST: usize = 200;
/// The account that tests use on the server.
const ACCOUNT: &str = "sandbridge";
/// A script that ends the server once three checks in a row, ten seconds apart, have found that no process holds the lock `in-use`.
const END_WHEN_UNUSED: &str = r#"
free=0
while sleep 10; do
    [ -d "$1" ] || exit
    if flock -n -x "$1/in-use" true; then free=$((free + 1)); else free=0; fi
    [ $free -lt 3 ] || flock "$1.lock" sh -c 'flock -n -x "$1/in-use" true && "$2/pg_ctl" stop -D "$1/data" -m immediate && rm -rf "$1"' - "$1" "$2" && exit
done
"#;

/// True if `SANDBRIDGE_TEST_DATABASE` asks for tests on PostgreSQL.
pub fn is_wanted() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|database| database == "postgres")
}

/// Creates a database on the server that tests share, with the schema that the files of a folder define, as a copy of a template; returns its
/// address. If the template does not exist yet, `fill` creates it from an empty database at the address that it gets.
pub fn database_of(schema: &str, fill: impl FnOnce(String)) -> String {
    let mut files: Vec<_> = fs::read_dir(schema).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        fs::read(file).unwrap().hash(&mut hasher);
    }
    Postgres::shared().copy_of(&format!("schema_{:016x}", hasher.finish()), fill)
}

/// Creates an empty database on the server that tests share; returns its address.
pub fn database() -> String {
    Postgres::shared().empty()
}

/// A running PostgreSQL server.
#[derive(Debug)]
pub struct Postgres {
    home: PathBuf,
    /// The server's directory, removed when this is dropped; `None` if tests share the server.
    own: Option<tempfile::TempDir>,
    /// The open file whose shared lock marks the server as in use.
    in_use: Option<File>,
    /// The connection for creating databases.
    connection: Mutex<Option<Connection>>,
}

impl Postgres {
    /// The shared server, started if it is not running.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        SHARED.get_or_init(|| {
            let user = rustix::process::getuid().as_raw();
            let home = std::env::temp_dir().join(format!("sandbridge-postgres-{user}"));
            let lock = File::create(lock_of(&home)).unwrap();
            lock.lock().unwrap();
            let mut server = Self::at(home, None);
            if !server.answers() {
                let _ = fs::remove_dir_all(&server.home);
                fs::create_dir(&server.home).unwrap();
                server.make();
                server.start();
                File::create(server.home.join("in-use")).unwrap();
                let mut end = Command::new("setsid");
                // The script's parent exits at once, and init adopts the script.
                end.args(["--fork", "sh", "-c", END_WHEN_UNUSED, "-"]).arg(&server.home).arg(programs());
                assert!(quiet(&mut end).status().unwrap().success());
            }
            let in_use = File::open(server.home.join("in-use")).unwrap();
            in_use.lock_shared().unwrap();
            server.in_use = Some(in_use);
            server.drop_left();
            server
        })
    }

    /// A separate server for one test, which may stop and start it.
    pub fn own() -> Self {
        let own = tempfile::TempDir::with_prefix("sandbridge-postgres-own-").unwrap();
        let server = Self::at(own.path().to_owned(), Some(own));
        server.make();
        server.start();
        server
    }

    fn at(home: PathBuf, own: Option<tempfile::TempDir>) -> Self {
        Self { home, own, in_use: None, connection: Mutex::default() }
    }

    /// Starts the server.
    pub fn start(&self) {
        let options = format!(
            "-c fsync=off -c full_page_writes=off -c autovacuum=off -c max_connections=400 \
             -c wal_level=minimal -c max_wal_senders=0 -c max_wal_size=4GB -c checkpoint_timeout=1h \
             -c listen_addresses='' -c unix_socket_directories={} -c deadlock_timeout=100ms",
            self.home.display()
        );
        self.control(&["start", "-w", "-o", &options]);
    }

    /// Stops the server at once, as a failing machine would.
    pub fn stop(&self) {
        *self.connection.lock().unwrap() = None;
        self.control(&["stop", "-w", "-m", "immediate"]);
    }

    /// Freezes all processes of the server: it accepts connections and statements, and answers none. [`Postgres::thaw`] ends that.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Continues a frozen server.
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let pid_file = fs::read_to_string(self.home.join("data/postmaster.pid")).unwrap();
        let main = Pid::from_raw(pid_file.lines().next().unwrap().parse().unwrap()).unwrap();
        let children = format!("/proc/{0}/task/{0}/children", main.as_raw_nonzero());
        // Once it has stopped, the server starts no process, so the list is complete.
        if signal == Signal::STOP {
            kill_process(main, signal).unwrap();
            let stat = format!("/proc/{}/stat", main.as_raw_nonzero());
            while !fs::read_to_string(&stat).unwrap().contains(") T ") {
                std::thread::yield_now();
            }
        }
        for child in fs::read_to_string(children).unwrap().split_whitespace() {
            // A process that just ended needs no signal.
            let _ = kill_process(Pid::from_raw(child.parse().unwrap()).unwrap(), signal);
        }
        if signal == Signal::CONT {
            kill_process(main, signal).unwrap();
        }
    }

    /// The address of a database on this server.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{ACCOUNT}@localhost/{database}?host={}", self.home.display())
    }

    /// Creates an empty database on this server; returns its address.
    pub fn empty(&self) -> String {
        self.create("template0")
    }

    /// Runs a statement; returns a line for each row, with `|` between its columns.
    pub fn ask(&self, database: &str, statement: &str) -> String {
        let mut connection = Connection::open(&self.home, ACCOUNT, database).unwrap();
        connection.ask(statement).unwrap_or_else(|error| panic!("{statement}: {error}"))
    }

    /// Runs a statement in the database that every server has, over a permanent connection; returns the result.
    fn tell(&self, statement: &str) -> String {
        let mut connection = self.connection.lock().unwrap();
        let connection =
            connection.get_or_insert_with(|| Connection::open(&self.home, ACCOUNT, "postgres").unwrap());
        connection.ask(statement).unwrap_or_else(|error| panic!("{statement}: {error}"))
    }

    fn copy_of(&self, template: &str, fill: impl FnOnce(String)) -> String {
        let known = format!("SELECT 1 FROM pg_database WHERE datname = '{template}'");
        if self.tell(&known).is_empty() {
            // The first test that needs the template creates it.
            let lock = File::create(lock_of(&self.home)).unwrap();
            lock.lock().unwrap();
            if self.tell(&known).is_empty() {
                let filling = format!("{template}_filling");
                self.tell(&format!("DROP DATABASE IF EXISTS {filling} WITH (FORCE)"));
                self.tell(&format!("CREATE DATABASE {filling}"));
                fill(self.url(&filling));
                // The server may still count closed connections for a moment.
                self.tell(&format!(
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{filling}'"
                ));
                self.tell(&format!("ALTER DATABASE {filling} RENAME TO {template}"));
            }
        }
        self.create(template)
    }

    fn create(&self, template: &str) -> String {
        static CREATED: AtomicU32 = AtomicU32::new(0);
        let name = format!("t_{}_{}", std::process::id(), CREATED.fetch_add(1, Ordering::Relaxed));
        // An earlier process with this id may have left a database.
        self.tell(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
        // Copying the template's files is twice as fast as writing each page to the log.
        self.tell(&format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy"));
        self.url(&name)
    }

    /// Drops databases of ended processes, down to the number that is kept. Each test drops only a few, because all other tests wait meanwhile and,
    /// on a disk mounted with `discard`, each drop takes a second.
    fn drop_left(&self) {
        let names = self.tell(r"SELECT datname FROM pg_database WHERE datname LIKE 't\_%'");
        let is_left = |name: &&str| {
            let process = name.split('_').nth(1).unwrap();
            !Path::new("/proc").join(process).exists()
        };
        let left: Vec<_> = names.lines().filter(is_left).collect();
        for name in left.iter().skip(LEFT_MOST) {
            self.tell(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
        }
    }

    fn make(&self) {
        let (user, group) = ordinary();
        fs::set_permissions(&self.home, fs::Permissions::from_mode(0o755)).unwrap();
        chown(&self.home, Some(user), Some(group)).unwrap();
        // Neither the character set nor the collation is that of the locale C, so that code that depends on the locale C fails.
        let mut initdb = self.program("initdb");
        initdb.args(["-E", "UTF8", "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US"]);
        initdb.args(["-U", ACCOUNT, "--auth=trust", "--no-sync", "-D"]).arg(self.home.join("data"));
        run(&mut initdb);
    }

    fn answers(&self) -> bool {
        self.home.join("in-use").exists() && Connection::open(&self.home, ACCOUNT, "postgres").is_ok()
    }

    fn control(&self, arguments: &[&str]) {
        let mut control = self.program("pg_ctl");
        control.arg("-D").arg(self.home.join("data")).arg("-l").arg(self.home.join("log")).args(arguments);
        run(&mut control);
    }

    /// One of PostgreSQL's programs, run as a user that it accepts.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(programs().join(name));
        let (user, group) = ordinary();
        if rustix::process::getuid().is_root() {
            command.uid(user).gid(group);
        }
        command.current_dir(&self.home);
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // A test's own server has no other users, so it is stopped here.
        if self.in_use.is_none() && self.own.is_some() && self.home.join("data/postmaster.pid").exists() {
            // A frozen server could not be stopped.
            self.thaw();
            self.stop();
        }
    }
}

/// The folder with the programs of the newest version of PostgreSQL.
fn programs() -> &'static Path {
    static PROGRAMS: OnceLock<PathBuf> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
        let newest = versions
            .map(|version| version.unwrap().path().join("bin"))
            .filter(|programs| programs.join("initdb").exists())
            .max_by_key(|programs| version(programs));
        newest.expect("PostgreSQL's programs are not installed: sudo apt-get install postgresql")
    })
}

fn version(programs: &Path) -> u32 {
    let name = programs.parent().and_then(Path::file_name).unwrap_or_default();
    name.to_string_lossy().parse().unwrap_or(0)
}

/// The user and the group as which the server runs: the test's own, unless that is root, which PostgreSQL refuses.
fn ordinary() -> (u32, u32) {
    const NOBODY: u32 = 65534;
    match (rustix::process::getuid(), rustix::process::getgid()) {
        (user, _) if user.is_root() => (NOBODY, NOBODY),
        (user, group) => (user.as_raw(), group.as_raw()),
    }
}

fn lock_of(home: &Path) -> PathBuf {
    home.with_extension("lock")
}

fn quiet(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())
}

/// Runs a command to its end; shows its output if it fails. The output goes to files, because a server that the command starts keeps its output open.
fn run(command: &mut Command) {
    let said = tempfile::NamedTempFile::new().unwrap();
    let (out, err) = (said.reopen().unwrap(), said.reopen().unwrap());
    let status = command.stdin(Stdio::null()).stdout(out).stderr(err).status().unwrap();
    assert!(status.success(), "{command:?}: {}", fs::read_to_string(said.path()).unwrap());
}

//! The first attack corpus: tricks that got out of comparable tools, played over each link.
//!
//! A confined command plants each trap, since that is what an attacker can do; then the file API, which is not
//! confined, is asked to step into it. What stands outside is watched: nothing of it may be read, changed or made.

use std::time::{Duration, Instant};

use super::tar::Tar;
use tests::http::{Answer, Client, encode};
use tests::{Machine, Person, Server, docker};

/// What the file API is asked to do.
#[derive(Debug, Clone, Copy)]
enum Ask {
    Read,
    Write,
    Stat,
    List,
    Mkdir,
    Remove,
    RemoveAll,
    RenameFrom,
    RenameTo,
    ReadTree,
    /// An archive with `t/planted`.
    WriteTree,
    Download,
}

use Ask::{
    Download, List, Mkdir, Read, ReadTree, Remove, RemoveAll, RenameFrom, RenameTo, Stat, Write, WriteTree,
};

/// Name, shell that sets the trap (`$OUT` is a directory outside, `$WS` the workspace), request, path.
type Attack = (&'static str, &'static str, Ask, &'static str);

const ATTACKS: &[Attack] = &[
    ("parent", "", Read, "../$OUTNAME/secret"),
    ("parent by way of a directory", "mkdir -p a/b", Read, "a/b/../../../$OUTNAME/secret"),
    ("parent of a directory that is not there", "", Read, "gone/../../$OUTNAME/secret"),
    ("absolute", "", Read, "$OUT/secret"),
    ("absolute by way of the workspace", "", Read, "$WS/../$OUTNAME/secret"),
    ("same prefix", "", Read, "$WS-evil/secret"),
    ("same prefix, written", "", Write, "$WS-evil/new"),
    ("passwd", "", Read, "/etc/passwd"),
    ("doubled slashes", "", Read, "//etc//passwd"),
    ("dots and slashes", "", Read, "./.././../$OUTNAME/./secret"),
    ("link to a file", "ln -s $OUT/secret t", Read, "t"),
    ("link to a file, written", "ln -s $OUT/secret t", Write, "t"),
    ("link to a file that is not there, written", "ln -s $OUT/new t", Write, "t"),
    ("relative link", "ln -s ../$OUTNAME/secret t", Read, "t"),
    ("link to a directory", "ln -s $OUT t", Read, "t/secret"),
    ("link to a directory, written below", "ln -s $OUT t", Write, "t/new"),
    ("link to a directory, listed", "ln -s $OUT t", List, "t"),
    ("link to a directory, made below", "ln -s $OUT t", Mkdir, "t/new/deep"),
    ("link to a directory, removed below", "ln -s $OUT t", Remove, "t/secret"),
    ("link to a directory, tree removed below", "ln -s $OUT t", RemoveAll, "t/tree"),
    ("link to a directory, renamed out of", "ln -s $OUT t", RenameFrom, "t/secret"),
    ("link to a directory, renamed into", "ln -s $OUT t; echo x > x", RenameTo, "t/new"),
    ("chain of links", "ln -s b a; ln -s c b; ln -s $OUT c", Read, "a/secret"),
    ("chain of links, written", "ln -s b a; ln -s c b; ln -s $OUT c", Write, "a/new"),
    ("link to the root", "ln -s / t", Read, "t/etc/passwd"),
    ("link to the parent", "ln -s .. t", Read, "t/$OUTNAME/secret"),
    ("link, then parent of what it leads to", "mkdir d; ln -s $OUT d/t", Read, "d/t/../$OUTNAME/secret"),
    ("root of a process", "ln -s /proc/self/root t", Read, "t/etc/passwd"),
    ("root of a process, direct", "", Read, "/proc/self/root/etc/passwd"),
    ("working directory of a process", "ln -s /proc/self/cwd t", List, "t/.."),
    ("descriptor of a process", "ln -s /proc/self/fd t", List, "t"),
    ("environment of a process", "ln -s /proc/self/environ t", Read, "t"),
    ("stat through a link", "ln -s $OUT/secret t", Stat, "t"),
    (
        "forty-one links",
        "i=41; ln -s . l0; while [ $i -gt 0 ]; do ln -s l$((i-1)) l$i 2>/dev/null; i=$((i-1)); done; ln -s $OUT l0/x",
        Read,
        "l41/x/secret",
    ),
    ("link to itself", "ln -s t t", Read, "t"),
    ("fifo", "mkfifo t", Read, "t"),
    ("fifo, written", "mkfifo t", Write, "t"),
    ("endless device", "ln -s /dev/zero t", Read, "t"),
    ("device as target", "ln -s /dev/null t", Write, "t"),
    ("name of 4,096 bytes", "", Read, "$LONG"),
    ("newline that hides a parent", "", Read, "a\n/../../$OUTNAME/secret"),
    ("workspace removed", "", RemoveAll, "."),
    ("workspace removed by its path", "", RemoveAll, "$WS"),
    ("parent removed", "", RemoveAll, ".."),
    ("parent packed", "", ReadTree, "../$OUTNAME"),
    ("parent unpacked into", "", WriteTree, "../$OUTNAME"),
    ("link to a directory, packed", "ln -s $OUT t", ReadTree, "t"),
    ("link to a directory, unpacked into", "ln -s $OUT t", WriteTree, "t"),
    ("link to a directory, unpacked below", "ln -s $OUT t", WriteTree, "t/new"),
    ("link to the root, packed", "ln -s / t", ReadTree, "t/etc"),
    ("root of a process, packed", "ln -s /proc/self/root t", ReadTree, "t/etc"),
    ("fifo, packed", "mkfifo t", ReadTree, "t"),
    ("link to a file that is not there, downloaded to", "ln -s $OUT/new t", Download, "t"),
    ("link to a directory, downloaded into", "ln -s $OUT t", Download, "t/new"),
    ("parent downloaded to", "", Download, "../$OUTNAME/new"),
    ("link removed with what it leads to", "mkdir d; ln -s $OUT d/t", RemoveAll, "d"),
];

/// A sandbox to attack, and what stands outside of it.
struct Target<'a> {
    person: &'a Person,
    client: Client,
    /// How the outside is looked at: a listing with contents.
    outside: Box<dyn Fn() -> String + 'a>,
    out: String,
    workspace: String,
}

impl Target<'_> {
    fn fill(&self, text: &str) -> String {
        let (_, name) = self.out.rsplit_once('/').unwrap();
        text.replace("$OUTNAME", name)
            .replace("$OUT", &self.out)
            .replace("$WS", &self.workspace)
            .replace("$LONG", &"x/".repeat(2_048))
    }

    fn plant(&self, script: &str) {
        let script = format!("rm -rf ./* ./.[a-z]*; {}", self.fill(script));
        let planted = self.person.run(&["exec", "--", "sh", "-c", &script]);
        assert!(planted.code < 125, "{script}: {}", planted.stderr);
    }

    fn ask(&self, ask: Ask, path: &str) -> Answer {
        let path = self.fill(path);
        let query = encode(&path);
        let rename = |from: &str, to: &str| serde_json::json!({"from": from, "to": to}).to_string();
        match ask {
            Read => self.client.call("GET", &format!("/files?path={query}")),
            Write => self.client.send("PUT", &format!("/files?path={query}"), b"planted"),
            Stat => self.client.call("GET", &format!("/files/stat?path={query}")),
            List => self.client.call("GET", &format!("/files/list?path={query}")),
            Mkdir => self.client.call("POST", &format!("/files/mkdir?path={query}")),
            Remove => self.client.call("DELETE", &format!("/files?path={query}")),
            RemoveAll => self.client.call("DELETE", &format!("/files?path={query}&recursive=true")),
            RenameFrom => self.client.send("POST", "/files/rename", rename(&path, "stolen").as_bytes()),
            ReadTree => self.client.call("GET", &format!("/files/tree?path={query}")),
            WriteTree => {
                let archive = Tar::new().file("t/planted", b"planted").end();
                self.client.send("PUT", &format!("/files/tree?path={query}&delete_extra=true"), &archive)
            }
            // Nobody is there: only what is refused before anything is fetched says which error it is.
            Download => {
                let body = serde_json::json!({"url": "http://127.0.0.1:9/", "path": path, "max_bytes": 9});
                self.client.send("POST", "/files/download", body.to_string().as_bytes())
            }
            RenameTo => self.client.send("POST", "/files/rename", rename("x", &path).as_bytes()),
        }
    }

    fn attack_all(&self) {
        assert!(ATTACKS.len() >= 30);
        let before = (self.outside)();
        assert!(before.contains("treasure"), "{before}");
        for (name, trap, ask, path) in ATTACKS {
            self.plant(trap);
            let start = Instant::now();
            let answer = self.ask(*ask, path);
            assert!(start.elapsed() < Duration::from_secs(5), "{name}: took {:?}", start.elapsed());
            let body = String::from_utf8_lossy(&answer.body).into_owned();
            let harmless = matches!(*name, "link removed with what it leads to");
            assert!(answer.status >= 400 || harmless, "{name}: {} {body}", answer.status);
            if matches!(ask, Download) {
                let kind = answer.json()["error"]["kind"].as_str().unwrap_or_default().to_owned();
                assert_eq!(kind, "escapes_workspace", "{name}: {body}");
            }
            for leak in ["treasure", "root:x", "secret\"", "descriptor"] {
                assert!(!body.contains(leak), "{name}: {body}");
            }
            assert!(
                !body.contains(&self.out) || path.contains("$OUT/"),
                "{name} leaks a resolved path: {body}"
            );
            assert_eq!((self.outside)(), before, "{name} changed what is outside");
        }
        self.existence_outside_cannot_be_probed();
    }

    fn existence_outside_cannot_be_probed(&self) {
        self.plant("ln -s $OUT/secret there; ln -s $OUT/nothing gone");
        for ask in [Read, Stat, List, Write] {
            let (there, gone) = (self.ask(ask, "there"), self.ask(ask, "gone"));
            let said =
                |answer: &Answer, name: &str| String::from_utf8_lossy(&answer.body).replace(name, "NAME");
            assert_eq!(
                (there.status, said(&there, "there")),
                (gone.status, said(&gone, "gone")),
                "{ask:?} tells whether something exists outside"
            );
        }
    }

    /// A directory and a link to the outside change places while the file API goes through the name.
    fn race(&self, duration: Duration) {
        let before = (self.outside)();
        self.plant("mkdir d; echo inside > d/secret");
        let seconds = duration.as_secs_f64() + 1.0;
        // Every round starts afresh, since what the file API does in between may stand in its way.
        let script = self.fill(
            "while :; do rm -rf d e l; mkdir e; echo inside > e/secret; mv e d; mv d e; ln -s $OUT l; mv l d; done 2>/dev/null",
        );
        let mut racer = self
            .person
            .command(&["exec", "--timeout", &seconds.to_string(), "--", "sh", "-c", &script])
            .stdin(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let end = Instant::now() + duration;
        let mut rounds = 0;
        while Instant::now() < end {
            for (ask, path) in
                [(Read, "d/secret"), (Write, "d/new"), (Mkdir, "d/x/y"), (RemoveAll, "d/tree"), (List, "d")]
            {
                let answer = self.ask(ask, path);
                let body = String::from_utf8_lossy(&answer.body).into_owned();
                assert!(!body.contains("treasure") && !body.contains("secret2"), "{ask:?}: {body}");
                rounds += 1;
            }
        }
        racer.wait().unwrap();
        assert!(rounds > 50, "only {rounds} rounds");
        assert_eq!((self.outside)(), before, "the race changed what is outside");
    }
}

fn race_for() -> Duration {
    let text = std::env::var("SANDBRIDGE_RACE_MS").unwrap_or_default();
    Duration::from_millis(text.parse().unwrap_or(5_000))
}

/// Makes the outside of a host directory and gives a look at it.
fn outside_of(workspace: &std::path::Path) -> (String, impl Fn() -> String + use<>) {
    let name = workspace.file_name().unwrap().to_str().unwrap();
    let out = workspace.with_file_name(format!("{name}-out"));
    std::fs::create_dir_all(out.join("tree/deep")).unwrap();
    std::fs::write(out.join("secret"), "treasure").unwrap();
    std::fs::write(out.join("secret2"), "treasure").unwrap();
    let evil = workspace.with_file_name(format!("{name}-evil"));
    std::fs::create_dir_all(&evil).unwrap();
    std::fs::write(evil.join("secret"), "treasure").unwrap();
    let listing = format!(
        "cd {} && find . -type f -exec cat {{}} + ; find . | sort; ls {}",
        out.display(),
        evil.display()
    );
    let look = move || {
        let output = std::process::Command::new("sh").args(["-c", &listing]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    (out.to_str().unwrap().to_owned(), look)
}

#[test]
fn no_trick_gets_out_through_a_runner() {
    let server = Server::start();
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    let (out, look) = outside_of(machine.workspace());
    let target = Target {
        person: &alice,
        client: Client::login(&server, "alice"),
        outside: Box::new(look),
        out,
        workspace: machine.workspace().to_str().unwrap().to_owned(),
    };
    target.attack_all();
    target.race(race_for());
}

#[test]
fn no_trick_gets_out_of_the_local_sandbox() {
    let server = Server::start_with(&["--docker", "off", "--local", "admins"]);
    let root = server.person("root");
    root.run(&["use", "none"]);
    let workspace = root.run(&["exec", "--", "pwd"]).stdout.trim_end().to_owned();
    assert!(workspace.starts_with('/'), "{workspace}");
    let (out, look) = outside_of(workspace.as_ref());
    let target = Target {
        person: &root,
        client: Client::login(&server, "root"),
        outside: Box::new(look),
        out,
        workspace,
    };
    target.attack_all();
    target.race(race_for());
}

#[test]
fn no_trick_gets_out_of_the_container_workspace() {
    docker::ready();
    let server = Server::start_with(&["--docker", "on", "--docker-image", docker::IMAGE]);
    let root = server.person("root");
    let cleanup = super::docker::Cleanup::of(&server);
    root.run(&["use", "__docker__"]);
    assert_eq!(root.run(&["exec", "--", "true"]).code, 0);
    let container = cleanup.containers().remove(0);
    let inside = |script: &str| docker::docker(&["exec", &container, "sh", "-c", script]).unwrap_or_default();
    inside(
        "mkdir -p /out/tree/deep /workspace-evil; echo treasure | tee /out/secret /out/secret2 /workspace-evil/secret",
    );
    let target = Target {
        person: &root,
        client: Client::login(&server, "root"),
        outside: Box::new(move || inside("cd /out; cat secret*; find . | sort; ls /workspace-evil")),
        out: "/out".into(),
        workspace: "/workspace".into(),
    };
    target.attack_all();
    target.race(race_for());
}

//! The exceptions: everything that the test does other than typing the pages' commands as they are written, with the reasons.

use std::fmt::Debug;

use Act::{After, Answers, Ends, LeftOut, Puts};
use Answer::{Opens, Types};
use tests::docker::IMAGE;

/// An exception for the commands of a page that contain a text.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) page: &'static str,
    /// The text that the commands contain.
    command: &'static str,
    pub(super) act: Act,
    /// The reason.
    _why: &'static str,
}

/// A departure from running a command as it is written. `{NAME}` is a fact of the world.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// In place of a text that names something outside, this one is typed.
    Puts(&'static str, &'static str),
    /// These commands are run first, and must succeed.
    After(&'static str),
    /// When each of these texts is shown, its answer is given.
    Answers(&'static [(&'static str, Answer)]),
    /// The command ends with this exit code, otherwise with 0, and shows this text.
    Ends(i32, &'static str),
    /// The command is not run.
    LeftOut,
}

/// A person's reaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Types(&'static str),
    /// Opens the address that begins with the text that was shown, in a browser.
    Opens,
}

impl Row {
    pub(super) fn applies_to(&self, command: &str) -> bool {
        command.contains(self.command)
    }
}

const fn row(page: &'static str, command: &'static str, act: Act, why: &'static str) -> Row {
    Row { page, command, act, _why: why }
}

/// The key press that interrupts.
const INTERRUPT: Answer = Types("\u{3}");
const STOPS_IT: &str = "a server runs until it is stopped";
const STOPS_RUNNER: &str = "a runner runs until it is stopped";
const SERVES: Act = Answers(&[("listening on http", INTERRUPT)]);
const RUNS: Act = Answers(&[("connected to", INTERRUPT)]);
/// A full-screen program asks where the cursor is.
const QUITS: Act =
    Answers(&[("\u{1b}[6n", Types("\u{1b}[1;1R")), ("laptop", INTERRUPT), ("Quit?", INTERRUPT)]);
const FULL_SCREEN: &str = "a chat in full screen runs until it is left";
const YES: Answer = Types("y\n");
const ASKED: Act = Answers(&[("[y/N]", YES)]);
const ASKS: &str = "it asks";
const SHOWS: &str = "what it shows is the point";
const A_HASH: &str = "an example of a hash";
const NO_REGISTRY: &str = "there may be no registry of images";
const NO_PYPI: &str = "the packages of PyPI are not there";
const BUSYBOX: &str = "the test's image has only busybox";
const NOWHERE: &str = "the test's network leads nowhere: the text shows the address that was tried";
const MAKE: &str =
    "sandbridge exec -- sh -c 'echo \"#!/bin/true\" > /usr/local/bin/make; chmod +x /usr/local/bin/make'";
const APT_GET: &str = "sandbridge exec -- sh -c 'cd /usr/local/bin; cp make apt-get'";
const OWN_RUNNER: &str = "sandbridge container reset && mkdir ~/project && echo {token} > token";
/// The rest of a runner's command.
const BOX: &str = "{url} --name box --token-file token --workspace .";
const TOKEN_LINE: &str = "4839574812:AAFD39kkdpWt3ywyRZergyOLMaJhac60qcU\n";
const ADD_LARK: &str = "echo app_secret={secret} | \
    sandbridge channel add lark feishu --off --secrets-stdin --set app_id={app} --set domain={feishu}";
const ADD_AGENTS: &str = "(set -e; for handle in writer editor translator; do sandbridge group add-agent 1 $handle --on laptop; done)";
const CHANGE_TIME: &str = "sandbridge exec --on laptop -- sh -c 'echo Changed > echo-description' && \
    sandbridge mcp-server check time";
const OTHER_MARKET: &str = "cp -r tools other && \
    sed -i 's/\"tools\"/\"others\"/' other/market/.claude-plugin/marketplace.json && \
    tar -czf www/market.tar.gz -C other market";
const DATABASE: Act = Puts("postgres://sandbridge@db.example.org/sandbridge", "{database}");
const OWN_DATABASE: &str = "the test has a PostgreSQL server of its own";
const OUTSIDE: &str = "what an example names is not there";
const THE_SERVER: &str = "a placeholder for the server's address";

/// The rows, by their pages.
pub(super) const TABLE: &[Row] = &[
    row("api", "https://SERVER", Puts("https://SERVER", "{url}"), THE_SERVER),
    row("api", "sbk_…", Puts("sbk_…", "{key}"), "a placeholder for a key"),
    row("api", "sandbridge exec", Ends(0, "passed"), SHOWS),
    row(
        "approvals",
        "CHAT_ID",
        Puts("CHAT_ID", "$(sandbridge chat list --json | first id)"),
        "a placeholder",
    ),
    row("approvals", "CHAT_ID", After("sandbridge chat '!true'"), "a chat must exist"),
    row("approvals", "chown", Puts("dev", "www-data"), "Debian has no user dev"),
    row("approvals", "rule test", Ends(0, "denied:"), SHOWS),
    row("approvals", "# asks:", Answers(&[("Run as root on laptop? [y/N]", YES)]), ASKS),
    row("automations", "cron runs", After("sandbridge cron run morning"), "the list shows a run"),
    row(
        "channels",
        "add phone",
        Puts("telegram", "telegram --set api={telegram}"),
        "a stand-in for Telegram",
    ),
    row("channels", "add phone", Answers(&[("Bot token: ", Types(TOKEN_LINE))]), ASKS),
    row(
        "channels",
        "link phone",
        After("until_shown connected sandbridge channel status phone"),
        "the bot's name is in the text",
    ),
    row("channels", "login lark", After(ADD_LARK), "the channel must exist"),
    row("channels", "login lark", Answers(&[("http://", Opens)]), "a person logs in in a browser"),
    row("chat", "sandbridge chat  ", QUITS, FULL_SCREEN),
    row("chat", "sandbridge chat --new", QUITS, FULL_SCREEN),
    row("chat", "sandbridge chat --resume", QUITS, FULL_SCREEN),
    row("chat", "--lines", Answers(&[("> ", Types("\u{4}"))]), "a chat runs until its input ends"),
    row(
        "chat",
        "git status",
        After("sandbridge exec -- git init --quiet"),
        "the workspace must be a repository",
    ),
    row("chat", "export ID", Puts("ID", "$(sandbridge chat list --json | first id)"), "a placeholder"),
    row("cluster", "sandbridge serve", DATABASE, OWN_DATABASE),
    row(
        "cluster",
        "sandbridge serve",
        Puts("10.0.0.1", "127.0.0.1"),
        "the test's network has only this address",
    ),
    row("cluster", "sandbridge serve", SERVES, STOPS_IT),
    row("cluster", "docker build", LeftOut, "the image needs packages from Debian's servers"),
    row("docker", "sandbridge serve", Puts("node:22-bookworm", "{image}"), NO_REGISTRY),
    row("docker", "sandbridge serve", SERVES, STOPS_IT),
    row(
        "docker",
        "os-release",
        After("sandbridge exec -- sh -c 'echo NAME=Test > /etc/os-release'"),
        BUSYBOX,
    ),
    row("docker", "make test", After(MAKE), BUSYBOX),
    row("docker", "apt-get", After(APT_GET), BUSYBOX),
    row("docker", "docker pull", LeftOut, NO_REGISTRY),
    row("docker", "sandbridge-runner", Puts("wss://SERVER", "{url}"), THE_SERVER),
    row(
        "docker",
        "sandbridge-runner",
        Puts("debian:bookworm-slim", "{image} --runner-static {static}"),
        NO_REGISTRY,
    ),
    row(
        "docker",
        "sandbridge-runner",
        After(OWN_RUNNER),
        "they must exist, and no image of the container is left",
    ),
    row("docker", "sandbridge-runner", RUNS, STOPS_RUNNER),
    row("groups", "chain set", After(ADD_AGENTS), "the agents of the chain must exist"),
    row(
        "groups",
        "chain answer",
        After("until_shown gate sandbridge group chain show 1 1"),
        "its gate opens after the first step",
    ),
    row("hooks", "test 3f9a0c71", Puts("3f9a0c71", "$(sandbridge hook list --json | first hash)"), A_HASH),
    row(
        "hooks",
        "--on laptop",
        Puts("3f9a0c71", "$(sandbridge hook list --on laptop --json | first hash)"),
        A_HASH,
    ),
    row("hooks", "hook approve", ASKED, ASKS),
    row(
        "http-tools",
        "http-tool secret",
        Answers(&[("WEATHER_KEY: ", Types("secret-of-the-weather\n"))]),
        ASKS,
    ),
    row("http-tools", "sandbridge chat", Answers(&[("[y]", YES)]), "the model's call needs an approval"),
    row("http-tools", "api.example.com", Puts("https://api.example.com", "http://{pages}"), OUTSIDE),
    row("http-tools", "--server …", Puts("…", BOX), "the rest of the command"),
    row("http-tools", "--server …", After("echo {token} > token"), "the runner has a token"),
    row("http-tools", "--server …", RUNS, STOPS_RUNNER),
    row("http-tools", "shop.internal", Puts("shop.internal:8080", "{pages}"), OUTSIDE),
    row(
        "http-tools",
        "approve weather",
        After("sandbridge http-tool remove weather"),
        "a tool of one's own takes precedence",
    ),
    row("http-tools", "approve weather", ASKED, ASKS),
    row("http-tools", "http-tool try", Ends(0, "rain"), SHOWS),
    row("install", "scripts/build", LeftOut, "e2e/readme.rs runs this command"),
    row("knowledge", "knowledge search", Ends(0, "lasts two years"), SHOWS),
    row("mcp-servers", "show docs", Ends(0, "logged in: yes"), SHOWS),
    row("mcp-servers", "show time", Ends(0, "changed"), SHOWS),
    row("mcp-servers", "uvx", Puts("uvx mcp-server-time", "python3 echo.py"), NO_PYPI),
    row("mcp-servers", "uvx", Puts("uvx mcp-server-git", "python3 echo.py"), NO_PYPI),
    row("mcp-servers", "sandbridge chat", Answers(&[("[y]", YES)]), "the model's call needs an approval"),
    row("mcp-servers", "add docs", Puts("https://mcp.example.com", "http://{everything}"), OUTSIDE),
    row("mcp-servers", "wiki.internal", Puts("wiki.internal:8080", "{everything}"), OUTSIDE),
    row("mcp-servers", "login docs", Answers(&[("http://", Opens)]), "a person logs in in a browser"),
    row("mcp-servers", "add reports", Puts("https://mcp.example.com", "http://{guarded}"), OUTSIDE),
    row("mcp-servers", "add reports", Answers(&[("Client secret: ", Types("s3cret\n"))]), ASKS),
    row("mcp-servers", "mcp-server approve", ASKED, ASKS),
    row("mcp-servers", "--server …", Puts("…", BOX), "the rest of the command"),
    row("mcp-servers", "--server …", After("echo {token} > token"), "the runner has a token"),
    row("mcp-servers", "--server …", RUNS, STOPS_RUNNER),
    row("mcp-servers", "show time", After(CHANGE_TIME), "the server must have changed a tool"),
    row("mcp-servers", "accept time", ASKED, ASKS),
    row(
        "memory",
        "--agent coder",
        After("sandbridge group create Work; sandbridge group add-agent 1 coder --on laptop"),
        "the agent must exist",
    ),
    row("models", "sandbridge serve", Puts("…", "sk-test"), "a placeholder for a key"),
    row("models", "sandbridge serve", SERVES, STOPS_IT),
    row("operation", "sandbridge serve", DATABASE, OWN_DATABASE),
    row("operation", "sandbridge serve", SERVES, STOPS_IT),
    row(
        "operation",
        "store copy",
        Puts("postgres://sandbridge@db.example.org/sandbridge", "{target}"),
        OWN_DATABASE,
    ),
    row(
        "operation",
        "store copy",
        After("echo correct horse battery | sandbridge user add carol --password-stdin"),
        "this makes the file",
    ),
    row("operation", "export AWS", Puts("KEY_ID=…", "KEY_ID=owner-key"), "a placeholder"),
    row(
        "operation",
        "export AWS",
        Puts("ACCESS_KEY=…", "ACCESS_KEY=owner-secret-0123456789"),
        "a placeholder",
    ),
    row(
        "operation",
        "export AWS",
        Puts("export", "export AWS_ENDPOINT_URL_S3={bucket}"),
        "the test has an S3 server of its own",
    ),
    row("plugins", "install ./my-plugin", ASKED, ASKS),
    row("plugins", "npm:", Ends(1, "https://registry.npmjs.org/some-plugin/1.2.0"), NOWHERE),
    row("plugins", "install github:", Ends(1, "https://codeload.github.com/owner/repo/tar.gz/v2"), NOWHERE),
    row(
        "plugins",
        "install gitlab:",
        Ends(1, "https://gitlab.com/api/v4/projects/group%2Frepo/repository/archive.tar.gz"),
        NOWHERE,
    ),
    row("plugins", "install ./skills", ASKED, ASKS),
    row("plugins", "install ./agents", ASKED, ASKS),
    row("plugins", "review@github:", Ends(1, "https://raw.githubusercontent.com/owner/repo/"), NOWHERE),
    row(
        "plugins",
        "review@tools",
        After("sandbridge plugin marketplace add runner:laptop:tools/market"),
        "it must have been added",
    ),
    row("plugins", "review@tools", ASKED, ASKS),
    row(
        "plugins",
        "shelf:",
        After("as_bob plugin install tools/market/review --yes; as_bob plugin share review"),
        "bob shares it",
    ),
    row("plugins", "shelf:", ASKED, ASKS),
    row("plugins", "example.com", Puts("https://example.com", "http://{pages}"), OUTSIDE),
    row(
        "plugins",
        "example.com",
        After("tar -czf www/p.tar.gz -C tools/market review"),
        "the archive must exist",
    ),
    row("plugins", "example.com", ASKED, ASKS),
    row(
        "plugins",
        "add github:",
        Puts("github:owner/repo", "http://{pages}/market.tar.gz"),
        "an archive in place of a repository",
    ),
    row(
        "plugins",
        "add github:",
        After(OTHER_MARKET),
        "the archive must exist, with a marketplace of another name",
    ),
    row(
        "plugins",
        "add runner:",
        After("sandbridge plugin marketplace remove tools"),
        "it was added for another command",
    ),
    row(
        "trust",
        "approve 3f9a0c71",
        Puts("3f9a0c71", "$(sandbridge trust list --json | first hash)"),
        A_HASH,
    ),
    row("trust", "revoke 3f9a0c71", Puts("3f9a0c71", "$(sandbridge trust list --json | first hash)"), A_HASH),
    row("trust", "trust approve", ASKED, ASKS),
];

/// The replacements in files that are a page's blocks: the file, the text that names something outside, and what is used in its place.
pub(super) const STAND_INS_OF_FILES: &[(&str, &str, &str)] = &[
    ("weather.json", "https://api.example.com", "http://{pages}"),
    (
        ".mcp.json",
        r#""command": "uvx", "args": ["mcp-server-git"]"#,
        r#""command": "python3", "args": ["echo.py"]"#,
    ),
    (".mcp.json", "https://mcp.example.com", "http://{guarded}"),
];

/// The options of a page's server and of alice's laptop.
pub(super) struct Setting {
    pub(super) serve: &'static [&'static str],
    pub(super) laptop: &'static [&'static str],
    /// True if alice has a second machine, `nas`.
    pub(super) has_nas: bool,
}

impl Setting {
    pub(super) fn of(page: &str) -> Self {
        let plain = Self { serve: &["--docker", "off"], laptop: &[], has_nas: false };
        match page {
            "approvals" => {
                Self { laptop: &["--run-as-default", "www-data", "--run-as-privileged", "root"], ..plain }
            }
            "automations" => Self { has_nas: true, ..plain },
            "docker" => Self {
                serve: &["--docker", "on", "--docker-image", IMAGE, "--docker-profile", "full-control"],
                ..plain
            },
            "http-tools" | "mcp-servers" => Self { laptop: &["--http-allow", "127.0.0.1"], ..plain },
            _ => plain,
        }
    }
}

/// The scripted model's answers; it says "That is all." to everything else.
pub(super) struct Says {
    pub(super) page: &'static str,
    /// A part of the message, or the handle of the agent of a group.
    pub(super) to: &'static str,
    /// The calls that it makes, one after the other: tools, and their arguments in JSON.
    pub(super) calls: &'static [(&'static str, &'static str)],
    /// True if its answer does not end.
    pub(super) is_endless: bool,
}

pub(super) const MODEL: &[Says] = &[
    Says {
        page: "http-tools",
        to: "the weather be like in Tokyo",
        calls: &[("search_tools", r#"{"query": "weather"}"#), ("http__weather", r#"{"city": "Tokyo"}"#)],
        is_endless: false,
    },
    Says {
        page: "mcp-servers",
        to: "what time is it in Tokyo",
        calls: &[
            ("search_tools", r#"{"query": "repeat a text"}"#),
            ("mcp__time__echo", r#"{"text": "noon"}"#),
        ],
        is_endless: false,
    },
    // The run is at work when it is stopped.
    Says { page: "groups", to: "editor", calls: &[], is_endless: true },
];

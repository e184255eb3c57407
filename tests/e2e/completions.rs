//! Completions of command lines, as shells request them.

use std::process::{Command, Stdio};

use tests::{Person, Server};

/// The completions that bash offers for the last of these words.
fn offered(person: &Person, words: &[&str]) -> Vec<String> {
    let script = person.run(&["completions", "bash"]);
    assert_eq!(script.code, 0, "{script:?}");
    let program = tests::binaries::sandbridge();
    let list = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let asks = format!(
        "PATH={}:$PATH\n{}\nCOMP_WORDS=({list}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMP_TYPE=9\n\
         COMP_LINE=\"${{COMP_WORDS[*]}}\"; COMP_POINT=${{#COMP_LINE}}\n\
         how=$(complete -p sandbridge); [[ $how =~ -F\\ ([^ ]+) ]]\n\
         ${{BASH_REMATCH[1]}} sandbridge \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD - 1]}}\"\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        program.parent().unwrap().display(),
        script.stdout,
    );
    let client = person.command::<&str>(&[]);
    let mut bash = Command::new("bash");
    for (name, value) in client.get_envs() {
        bash.env(name, value.unwrap());
    }
    let output = bash.args(["--norc", "-c", &asks]).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn shells_complete_commands_and_options_of_the_parser() {
    let server = Server::start();
    let alice = server.person("alice");
    assert!(offered(&alice, &["sandbridge", "ru"]).contains(&"runner".to_owned()));
    let shells = offered(&alice, &["sandbridge", "completions", ""]);
    assert!(
        ["bash", "fish", "zsh"].iter().all(|shell| shells.iter().any(|word| word == shell)),
        "{shells:?}"
    );
    alice.add_runner("laptop");
    alice.add_runner("lambda");
    let runners = offered(&alice, &["sandbridge", "exec", "--on", "la"]);
    assert_eq!(runners, ["lambda", "laptop"]);
    assert_eq!(alice.run(&["chat", "--new", "/help"]).code, 0);
    let chat = alice.json(&["chat", "list", "--json"])[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(offered(&alice, &["sandbridge", "chat", "export", &chat[..6]]), [chat]);
    let modes = offered(&alice, &["sandbridge", "--color", "a"]);
    assert!(modes.contains(&"always".to_owned()), "{modes:?}");
    for shell in ["bash", "zsh", "fish"] {
        let script = alice.run(&["completions", shell]);
        assert!(script.code == 0 && script.stdout.contains("sandbridge"), "{shell}: {script:?}");
        let Ok(mut checker) = Command::new(shell).arg("-n").stdin(Stdio::piped()).spawn() else {
            // Some shells may not be installed on this machine.
            continue;
        };
        std::io::Write::write_all(&mut checker.stdin.take().unwrap(), script.stdout.as_bytes()).unwrap();
        assert!(checker.wait().unwrap().success(), "{shell} cannot read its script");
    }
}

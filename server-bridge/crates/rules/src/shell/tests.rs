use super::*;

fn commands(line: &str) -> Vec<String> {
    parse(line).segments.iter().map(Segment::shown).collect()
}

#[test]
fn a_line_is_taken_apart_into_its_commands() {
    assert_eq!(commands("a 'b c' | d && { e; } || (f; g) & h"), ["a b c", "d", "e", "f", "g", "h"]);
    assert_eq!(commands("echo \"x $(a `b`)\""), ["b", "a `b`", "echo x $(a `b`)"]);
    assert_eq!(
        commands("sudo -u x timeout 5 sh -c 'a; b'"),
        ["sudo -u x timeout 5 sh -c a; b", "timeout 5 sh -c a; b", "sh -c a; b", "a", "b"]
    );
    assert_eq!(commands("cat <<A | d\n$(b)\nA\nc"), ["cat", "d", "b", "c"]);
    assert_eq!(commands("case x in (a|b) c;; *) d; esac; e"), ["c", "d", "e"]);
    assert_eq!(commands("for x in a b; do c; done; while d; do e; done"), ["c", "d", "e"]);
    assert_eq!(commands(""), [""; 0]);
}

#[test]
fn ordinary_lines_leave_no_doubt() {
    let lines = [
        "cd /x && npm ci && npm test 2>&1 | tail -n 20",
        "for f in *.rs; do wc -l \"$f\"; done",
        "if [ -f x ]; then cat x; else echo 'none'; fi",
        "if [[ $x =~ ^(a|b)$ ]]; then echo y; fi",
        "git log --format='%h %s' -n 5 | grep -v \"fix: \" > /tmp/log",
        "python3 - <<'EOF'\nprint('hi $(x)')\nEOF",
        "cat > f.txt <<EOF\nhome is $HOME and `date`\nEOF",
        "find . -name '*.tmp' -print0 | xargs -0 rm -f",
        "X=$(git rev-parse HEAD); echo \"${X:0:8} $((1 + 2))\"",
        "make -j\"$(nproc)\" CC=gcc all",
        "awk '{ print $1 }' f | sort -u",
        "curl -s 'https://x.example/?a=1&b=2' -o out",
        "i=0; while [ $i -lt 3 ]; do i=$(seq $i 1 3); done",
        "docker run --rm -v \"$PWD\":/w img:1 ls",
        "echo a{b,c} ~/x ~ann *.rs",
    ];
    for line in lines {
        assert_eq!(parse(line).doubts, [], "{line}");
    }
}

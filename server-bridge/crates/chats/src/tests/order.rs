//! The order in which the calls of one answer reach the machine.

use agent::approval::Mode;
use agent::limits::TOOLS_AT_ONCE;
use serde_json::{Value, json};
use tests::{Reply, ScriptedModel};

use super::*;

/// How long to wait for requests that must not arrive.
const QUIET: Duration = Duration::from_millis(200);

/// Waits until the machine has received this many requests, and a little longer for those that must not arrive.
async fn asked(runner: &ScriptedRunner, count: usize) -> Vec<String> {
    let enough = async {
        while runner.files.asked.lock().unwrap().len() < count {
            tokio::task::yield_now().await;
        }
        tokio::time::sleep(QUIET).await;
    };
    let in_time = tokio::time::timeout(DEADLINE, enough).await;
    let asked = runner.files.asked.lock().unwrap().clone();
    assert!(in_time.is_ok() && asked.len() == count, "{count} were expected: {asked:?}");
    asked
}

#[tokio::test]
async fn reads_go_side_by_side_eight_at_most_and_writes_stand_between_them() {
    let read = |number: usize| ("Read", json!({"path": format!("r{number:02}")}));
    let write = |name: &str| ("FileCreate", json!({"path": name, "content": "x"}));
    let mut all: Vec<(&str, Value)> = (0..TOOLS_AT_ONCE + 2).map(read).collect();
    all.extend([write("w0"), write("w1")]);
    all.extend([read(20), read(21)]);
    let model = ScriptedModel::with(vec![Reply::Call(all), Reply::Say("done".to_owned())]);
    let bench = Bench::played(&model).await;
    let talk = bench.talk(Mode::Full).await;
    let runner = bench.connect("laptop").await;
    for number in (0..TOOLS_AT_ONCE + 2).chain([20, 21]) {
        runner.files.put(&format!("r{number:02}"), 0);
    }
    runner.files.hold();
    let answer = talk.post("look").await.messages[1].id;
    let first = asked(&runner, TOOLS_AT_ONCE).await;
    assert!(first.iter().all(|line| line.starts_with("read ")), "{first:?}");
    runner.answer_reads();
    asked(&runner, TOOLS_AT_ONCE + 2).await;
    runner.answer_reads();
    // Both writes ended before the next reads began.
    let trace = asked(&runner, TOOLS_AT_ONCE + 6).await;
    let (reads, behind) = trace.split_at(TOOLS_AT_ONCE + 2);
    assert!(
        reads.iter().all(|line| line.starts_with("read r0") || line == "read r08" || line == "read r09"),
        "{trace:?}"
    );
    assert_eq!(behind[..2], ["write w0", "write w1"], "{trace:?}");
    let mut last = behind[2..].to_vec();
    last.sort();
    assert_eq!(last, ["read r20", "read r21"]);
    runner.answer_reads();
    assert_eq!(talk.ended(answer).await["agent"]["status"], "done");
}

//! In which order the calls of one answer reach the machine.

use std::sync::Mutex;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use llm::transport::{Answer, Call, Transport};
use serde_json::{Value, json};

use super::*;
use crate::ModelSetup;
use crate::limits::TOOLS_AT_ONCE;

/// How long nothing more may be asked, where nothing more is to be.
const QUIET: Duration = Duration::from_millis(200);

/// A provider of these answers, one after the other.
struct Answers(Mutex<Vec<Value>>);

impl Transport for Answers {
    fn send(&self, _: Call) -> BoxFuture<'_, Result<Answer, llm::Error>> {
        let choice = self.0.lock().unwrap().remove(0);
        let text = format!("data: {}\n\ndata: [DONE]\n\n", json!({"choices": [choice]}));
        let body = stream::iter([Ok(text.into())]).boxed();
        async { Ok(Answer { status: 200, retry_after_s: None, body }) }.boxed()
    }
}

fn calls(calls: &[(&str, Value)]) -> Value {
    let call = |(index, (name, arguments)): (usize, &(&str, Value))| json!({"index": index, "id": format!("call_{index}"), "type": "function", "function": {"name": name, "arguments": arguments.to_string()}});
    let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
    json!({"index": 0, "delta": {"role": "assistant", "tool_calls": calls}, "finish_reason": "tool_calls"})
}

fn says(text: &str) -> Value {
    json!({"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": "stop"})
}

async fn bench(answers: Vec<Value>) -> Bench {
    let setup = ModelSetup {
        model: llm::Model::new(llm::openai::OpenAi, Answers(Mutex::new(answers))),
        name: "scripted".to_owned(),
        subscription: crate::models::SERVER.to_owned(),
        kind: llm::slots::Kind::Shared,
        window_tokens: crate::limits::WINDOW_TOKENS,
        reply_tokens: 1_000,
        thinking_tokens: None,
        price: Default::default(),
    };
    let bench = Bench::with_model(Store::open_in_memory().await.unwrap(), Some(setup)).await;
    bench.store.set_approval(bench.user.id, &bench.chat.id, "full").await.unwrap();
    bench
}

/// Waits until so much was asked of the machine, and a little longer for what must not be.
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
    let mut bench = bench(vec![calls(&all), says("done")]).await;
    let runner = bench.connect("laptop").await;
    for number in (0..TOOLS_AT_ONCE + 2).chain([20, 21]) {
        runner.files.put(&format!("r{number:02}"), 0);
    }
    bench.post("look").await;
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
    loop {
        if let ChatEvent::Message(message) = bench.next_event().await
            && message.text == "done"
            && message.exec_json.is_some_and(|document| document.contains(r#""status":"done""#))
        {
            break;
        }
    }
}

//! In which order the calls of one answer reach the machine.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

use super::*;
use crate::models::{Provider, Subscription, Tier, TierModel};
use agent::limits::TOOLS_AT_ONCE;

/// How long nothing more may be asked, where nothing more is to be.
const QUIET: Duration = Duration::from_millis(200);

/// The address of a provider that gives these answers, one after the other, each on a connection of its own.
async fn provider(answers: Vec<Value>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        for choice in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut reader = BufReader::new(&mut stream);
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).await.unwrap() > 2 {
                if let Some(bytes) = line.to_lowercase().strip_prefix("content-length: ") {
                    length = bytes.trim().parse().unwrap();
                }
                line.clear();
            }
            reader.read_exact(&mut vec![0; length]).await.unwrap();
            let body = format!("data: {}\n\ndata: [DONE]\n\n", json!({"choices": [choice]}));
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        }
    });
    url
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
    // Another test may have been first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let model = TierModel { name: "scripted".to_owned(), ..TierModel::default() };
    let subscription = Subscription {
        provider: Provider::OpenAi,
        base_url: Some(provider(answers).await),
        runner: None,
        models: BTreeMap::from([(Tier::Balance, model)]),
        default_tier: None,
        fallback: None,
    };
    let models = ModelsConfig { server: Some((subscription, None)), ..ModelsConfig::default() };
    let bench = Bench::with_models(Store::open_in_memory().await.unwrap(), models).await;
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
            && message.document_json.is_some_and(|document| document.contains(r#""status":"done""#))
        {
            break;
        }
    }
}

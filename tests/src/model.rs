//! A model by script: a real HTTP server that speaks both wire formats, streaming, and answers as it is told to.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};

/// What is asked of a model.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Where: `/v1/chat/completions` or `/v1/messages`.
    pub path: String,
    /// The request's headers, names in small letters, a line each.
    pub headers: String,
    /// The body as it came, byte for byte.
    pub raw: String,
    /// The same as JSON.
    pub body: Value,
}

/// What it answers.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Words, in several pieces.
    Say(String),
    /// Calls of tools: name and arguments.
    Call(Vec<(&'static str, Value)>),
    /// A refusal: status and body.
    Refuse(u16, String),
    /// The beginning of an answer, and then nothing.
    Hang(String),
    /// The beginning of an answer, and then the connection's end.
    Break(String),
}

type Script = dyn FnMut(&Asked) -> Reply + Send;

/// The server; it ends with the process.
pub struct ScriptedModel {
    url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl ScriptedModel {
    /// Answers what is asked, each time as `script` says. Several may ask at once; the script is asked one by one.
    pub fn start(script: impl FnMut(&Asked) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (script, log): (Arc<Mutex<Box<Script>>>, _) =
            (Arc::new(Mutex::new(Box::new(script))), asked.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (script, log) = (script.clone(), log.clone());
                thread::spawn(move || serve(stream.unwrap(), &script, &log));
            }
        });
        Self { url, asked }
    }

    /// Answers with these, one after the other; the last one again and again.
    pub fn with(replies: Vec<Reply>) -> Self {
        let mut replies = replies.into_iter().peekable();
        let mut last = None;
        Self::start(move |_| {
            last = replies.next().or_else(|| last.clone());
            last.clone().unwrap()
        })
    }

    /// Its base URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// All that was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The options of `sandbridge serve` for it.
    pub fn options<'a>(&'a self, provider: &'a str) -> Vec<&'a str> {
        vec!["--llm-provider", provider, "--llm-base-url", &self.url, "--llm-model", "scripted"]
    }
}

impl Asked {
    /// What tools came to, as the model was told, in the order it was told.
    pub fn results(&self) -> Vec<String> {
        let messages = self.body["messages"].as_array().unwrap();
        if self.path == "/v1/chat/completions" {
            let results = messages.iter().filter(|message| message["role"] == "tool");
            return results.map(|message| message["content"].as_str().unwrap().to_owned()).collect();
        }
        let blocks = messages.iter().flat_map(|message| message["content"].as_array().unwrap());
        let results = blocks.filter(|block| block["type"] == "tool_result");
        results.map(|block| block["content"][0]["text"].as_str().unwrap().to_owned()).collect()
    }

    /// What the model was told of the conversation's surroundings, in front of it.
    pub fn system(&self) -> String {
        if self.path == "/v1/chat/completions" {
            return self.body["messages"][0]["content"].as_str().unwrap().to_owned();
        }
        let blocks = self.body["system"].as_array().unwrap().iter();
        blocks.map(|block| block["text"].as_str().unwrap()).collect::<Vec<_>>().join("\n\n")
    }

    /// The names of what it may call.
    pub fn tools(&self) -> Vec<String> {
        let tools = self.body["tools"].as_array().into_iter().flatten();
        let name =
            |tool: &Value| tool["name"].as_str().or(tool["function"]["name"].as_str()).unwrap().to_owned();
        tools.map(name).collect()
    }

    /// What the user said last, without what the server puts in front of it.
    pub fn last_of_user(&self) -> String {
        let messages = self.body["messages"].as_array().unwrap().iter().rev();
        let text = |message: &Value| match &message["content"] {
            Value::String(text) => Some(text.clone()),
            Value::Array(blocks) => {
                blocks.iter().rev().find_map(|block| block["text"].as_str().map(str::to_owned))
            }
            _ => None,
        };
        let said = messages.filter(|message| message["role"] == "user").find_map(text).unwrap_or_default();
        said.rsplit_once("</context>\n\n").map_or(said.as_str(), |(_, words)| words).to_owned()
    }
}

fn serve(stream: TcpStream, script: &Mutex<Box<Script>>, log: &Mutex<Vec<Asked>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    while let Some(asked) = read(&mut reader) {
        log.lock().unwrap_or_else(PoisonError::into_inner).push(asked.clone());
        let reply = (script.lock().unwrap_or_else(PoisonError::into_inner))(&asked);
        // Whoever asked may be gone, and be meant to be.
        if write(&mut writer, &asked, reply).is_err() {
            return;
        }
    }
}

fn read(reader: &mut impl BufRead) -> Option<Asked> {
    let mut headers = String::new();
    while !headers.ends_with("\r\n\r\n") {
        if reader.read_line(&mut headers).ok()? == 0 {
            return None;
        }
    }
    let headers_small = headers.to_lowercase();
    let length = headers_small.lines().find_map(|line| line.strip_prefix("content-length: "))?.trim();
    let mut raw = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut raw).ok()?;
    let raw = String::from_utf8(raw).unwrap();
    let path = headers.split(' ').nth(1)?.to_owned();
    Some(Asked { path, headers: headers_small, body: serde_json::from_str(&raw).unwrap(), raw })
}

fn write(writer: &mut TcpStream, asked: &Asked, reply: Reply) -> std::io::Result<()> {
    if let Reply::Refuse(status, body) = reply {
        let length = body.len();
        return write!(writer, "HTTP/1.1 {status} No\r\ncontent-length: {length}\r\n\r\n{body}");
    }
    writer.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    )?;
    let is_chat = asked.path == "/v1/chat/completions";
    let events = if is_chat { chat_events(&reply) } else { message_events(&reply) };
    for event in events {
        let text = if is_chat {
            format!("data: {event}\n\n")
        } else {
            format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())
        };
        write!(writer, "{:x}\r\n{text}\r\n", text.len())?;
        writer.flush()?;
    }
    match reply {
        Reply::Hang(_) => {
            // Until the other side has had enough.
            let _ = writer.read(&mut [0; 1]);
            Err(std::io::ErrorKind::ConnectionAborted.into())
        }
        Reply::Break(_) => Err(std::io::ErrorKind::ConnectionAborted.into()),
        _ if is_chat => writer.write_all(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"),
        _ => writer.write_all(b"0\r\n\r\n"),
    }
}

/// A text in pieces of a few characters, as models write; a very long one in larger pieces.
fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks((characters.len() / 10_000).max(5)).map(|piece| piece.iter().collect()).collect()
}

fn chat_events(reply: &Reply) -> Vec<Value> {
    let chunk = |delta: Value, reason: Value| json!({"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    let end = match reply {
        Reply::Say(text) | Reply::Hang(text) | Reply::Break(text) => {
            events.extend(pieces(text).iter().map(|piece| chunk(json!({"content": piece}), Value::Null)));
            "stop"
        }
        Reply::Call(calls) => {
            for (index, (name, arguments)) in calls.iter().enumerate() {
                let id = format!("call_{index}_{}", unique());
                let function = json!({"name": name, "arguments": ""});
                events.push(chunk(
                    json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}),
                    Value::Null,
                ));
                events.extend(pieces(&arguments.to_string()).iter().map(|piece| {
                    let function = json!({"arguments": piece});
                    chunk(json!({"tool_calls": [{"index": index, "function": function}]}), Value::Null)
                }));
            }
            "tool_calls"
        }
        Reply::Refuse(..) => unreachable!("a refusal has no events"),
    };
    if !matches!(reply, Reply::Hang(_) | Reply::Break(_)) {
        events.push(chunk(json!({}), json!(end)));
        events.push(json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 60}}}));
    }
    events
}

fn message_events(reply: &Reply) -> Vec<Value> {
    let usage = json!({"input_tokens": 40, "cache_read_input_tokens": 60, "output_tokens": 1});
    let mut events = vec![
        json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": usage}}),
    ];
    let mut block = |index: usize, start: Value, deltas: Vec<Value>| {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.extend(
            deltas
                .into_iter()
                .map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    };
    let end = match reply {
        Reply::Say(text) | Reply::Hang(text) | Reply::Break(text) => {
            let deltas =
                pieces(text).iter().map(|piece| json!({"type": "text_delta", "text": piece})).collect();
            block(0, json!({"type": "text", "text": ""}), deltas);
            "end_turn"
        }
        Reply::Call(calls) => {
            for (index, (name, arguments)) in calls.iter().enumerate() {
                let start = json!({"type": "tool_use", "id": format!("toolu_{index}_{}", unique()), "name": name, "input": {}});
                let deltas = pieces(&arguments.to_string());
                let deltas =
                    deltas.iter().map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
                block(index, start, deltas.collect());
            }
            "tool_use"
        }
        Reply::Refuse(..) => unreachable!("a refusal has no events"),
    };
    if !matches!(reply, Reply::Hang(_) | Reply::Break(_)) {
        events.push(
            json!({"type": "message_delta", "delta": {"stop_reason": end}, "usage": {"output_tokens": 10}}),
        );
        events.push(json!({"type": "message_stop"}));
    }
    events
}

/// Another number each time.
fn unique() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

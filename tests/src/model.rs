//! A scripted model: a real HTTP server that speaks both wire formats, streaming, and gives the configured answers. It lists
//! its models, too.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A request to a model.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The path: `/v1/chat/completions` or `/v1/messages`.
    pub path: String,
    /// The request's headers, names in lower case, one per line.
    pub headers: String,
    /// The body as received, byte for byte.
    pub raw: String,
    /// The body as JSON.
    pub body: Value,
}

/// An answer of the scripted model.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Words, in several pieces.
    Say(String),
    /// A text, sent in pieces with this pause between the pieces.
    Slowly(String, Duration),
    /// A text; the answer ends once the gate is open.
    Held(String, Gate),
    /// Calls of tools: name and arguments.
    Call(Vec<(&'static str, Value)>),
    /// A refusal: status and body.
    Refuse(u16, String),
    /// The beginning of an answer, and then nothing.
    Hang(String),
    /// The beginning of an answer, and then the connection's end.
    Break(String),
}

/// Holds answers back until it is opened. All clones are the same gate.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// Opens the gate permanently.
    pub fn open(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    fn wait(&self) {
        let open = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.0.1.wait_while(open, |is_open| !*is_open));
    }
}

type Script = dyn FnMut(&Asked) -> Reply + Send;

/// The server; it ends with the process.
pub struct ScriptedModel {
    url: String,
    log: Arc<Log>,
}

/// A scripted model's other behaviour.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    /// True if it records all requests, which is too much for long conversations.
    pub remembers: bool,
    /// True if it reports the real size of a request, four bytes per token; otherwise it always reports a hundred.
    pub counts: bool,
    /// True if it pauses before the end of an answer, like a model that writes word by word: the reader has read everything before.
    pub pauses: bool,
}

/// The models that it lists.
pub const MODELS: [&str; 2] = ["scripted", "scripted-swift"];

/// The length of the pause before the end of an answer.
const PAUSE: Duration = Duration::from_millis(5);

/// An answer: the handle of the agent that gave it, when the request had arrived completely, and when the answer had been sent.
struct Answered(String, Instant, Instant);

/// The requests so far.
#[derive(Default)]
struct Log {
    asked: Mutex<Vec<Asked>>,
    times: Mutex<Vec<Answered>>,
}

impl ScriptedModel {
    /// Gives each answer as `script` returns it. Several clients may ask at once; the script is called once at a time.
    pub fn start(script: impl FnMut(&Asked) -> Reply + Send + 'static) -> Self {
        Self::start_with(Habits { remembers: true, counts: false, pauses: false }, script)
    }

    /// A scripted model with other behaviour.
    pub fn start_with(habits: Habits, script: impl FnMut(&Asked) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let log: Arc<Log> = Arc::default();
        let (script, its_log): (Arc<Mutex<Box<Script>>>, _) =
            (Arc::new(Mutex::new(Box::new(script))), log.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (script, log) = (script.clone(), its_log.clone());
                thread::spawn(move || serve(stream.unwrap(), habits, &script, &log));
            }
        });
        Self { url, log }
    }

    /// Answers with these, one after the other, then always with the last one.
    pub fn with(replies: Vec<Reply>) -> Self {
        let mut replies = replies.into_iter().peekable();
        let mut last = None;
        Self::start(move |_| {
            last = replies.next().or_else(|| last.clone());
            last.clone().unwrap()
        })
    }

    /// The model's base URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// All requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.log.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The times at which each request had arrived completely, and at which its answer had been sent.
    pub fn times(&self) -> Vec<(Instant, Instant)> {
        let times = self.log.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.iter().map(|Answered(_, came, went)| (*came, *went)).collect()
    }

    /// The times of [`ScriptedModel::times`] for an agent of a group, by its handle.
    pub fn times_of(&self, handle: &str) -> Vec<(Instant, Instant)> {
        let times = self.log.times.lock().unwrap_or_else(PoisonError::into_inner);
        let own = times.iter().filter(|Answered(agent, ..)| agent == handle);
        own.map(|Answered(_, came, went)| (*came, *went)).collect()
    }

    /// The options of `sandbridge serve` for it.
    pub fn options<'a>(&'a self, provider: &'a str) -> Vec<&'a str> {
        vec!["--llm-provider", provider, "--llm-base-url", &self.url, "--llm-model", "scripted"]
    }
}

impl Asked {
    /// The tool results that the model got, in their order.
    pub fn results(&self) -> Vec<String> {
        let messages = self.body["messages"].as_array().unwrap();
        if self.path == "/v1/chat/completions" {
            let results = messages.iter().filter(|message| message["role"] == "tool");
            return results.map(|message| unreminded(message["content"].as_str().unwrap())).collect();
        }
        let blocks = messages.iter().flat_map(|message| message["content"].as_array().unwrap());
        let results = blocks.filter(|block| block["type"] == "tool_result");
        results.map(|block| block["content"][0]["text"].as_str().unwrap().to_owned()).collect()
    }

    /// The system prompt that the model got.
    pub fn system(&self) -> String {
        if self.path == "/v1/chat/completions" {
            return self.body["messages"][0]["content"].as_str().unwrap().to_owned();
        }
        let blocks = self.body["system"].as_array().unwrap().iter();
        blocks.map(|block| block["text"].as_str().unwrap()).collect::<Vec<_>>().join("\n\n")
    }

    /// The handle of the group's agent that is asked; empty if no agent of a group is asked.
    pub fn agent(&self) -> String {
        let system = if self.path == "/v1/chat/completions" {
            self.body["messages"][0]["content"].as_str()
        } else {
            let blocks = self.body["system"].as_array().into_iter().flatten();
            blocks.filter_map(|block| block["text"].as_str()).find(|text| text.contains("You are @"))
        };
        let rest = system.and_then(|system| system.split_once("You are @")).map_or("", |(_, rest)| rest);
        rest.split(',').next().unwrap_or_default().to_owned()
    }

    /// The names of the tools that it may call.
    pub fn tools(&self) -> Vec<String> {
        let tools = self.body["tools"].as_array().into_iter().flatten();
        let name =
            |tool: &Value| tool["name"].as_str().or(tool["function"]["name"].as_str()).unwrap().to_owned();
        tools.map(name).collect()
    }

    /// The user's last message, without the text that the server puts in front of it.
    pub fn last_of_user(&self) -> String {
        let messages = self.body["messages"].as_array().unwrap().iter().rev();
        let text = |message: &Value| match &message["content"] {
            Value::String(text) => Some(unreminded(text)),
            Value::Array(blocks) => {
                let texts = blocks.iter().rev().filter_map(|block| block["text"].as_str());
                texts.map(unreminded).find(|text| !text.is_empty())
            }
            _ => None,
        };
        let said = messages.filter(|message| message["role"] == "user").find_map(text).unwrap_or_default();
        said.rsplit_once("</context>\n\n").map_or(said.as_str(), |(_, words)| words).to_owned()
    }
}

/// A message without the one-time reminder at its end.
fn unreminded(text: &str) -> String {
    text.split("<system-reminder>").next().unwrap_or_default().trim_end_matches('\n').to_owned()
}

fn serve(stream: TcpStream, habits: Habits, script: &Mutex<Box<Script>>, log: &Log) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    while let Some(raw) = read(&mut reader) {
        if raw.path.starts_with("/v1/models") {
            if write_models(&mut writer, &raw).is_err() {
                return;
            }
            continue;
        }
        let came = Instant::now();
        let asked = raw.parsed();
        if habits.remembers {
            log.asked.lock().unwrap_or_else(PoisonError::into_inner).push(asked.clone());
        }
        let tokens = if habits.counts { asked.raw.len() as u64 / 4 } else { 100 };
        let reply = (script.lock().unwrap_or_else(PoisonError::into_inner))(&asked);
        // The client may have disconnected on purpose.
        let written = write(&mut writer, &asked, reply, habits, tokens);
        log.times.lock().unwrap_or_else(PoisonError::into_inner).push(Answered(
            asked.agent(),
            came,
            Instant::now(),
        ));
        if written.is_err() {
            return;
        }
    }
}

/// A request as received.
pub(crate) struct Raw {
    pub(crate) path: String,
    headers: String,
    pub(crate) body: String,
}

impl Raw {
    fn parsed(self) -> Asked {
        let Self { path, headers, body: raw } = self;
        Asked { path, headers, body: serde_json::from_str(&raw).unwrap(), raw }
    }
}

pub(crate) fn read(reader: &mut impl BufRead) -> Option<Raw> {
    let mut headers = String::new();
    while !headers.ends_with("\r\n\r\n") {
        if reader.read_line(&mut headers).ok()? == 0 {
            return None;
        }
    }
    let headers_small = headers.to_lowercase();
    let length = headers_small.lines().find_map(|line| line.strip_prefix("content-length: "));
    // A GET has no body.
    let mut raw = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
    reader.read_exact(&mut raw).ok()?;
    let body = String::from_utf8(raw).unwrap();
    let path = headers.split(' ').nth(1)?.to_owned();
    Some(Raw { path, headers: headers_small, body })
}

/// The list of models, in the form of either interface.
fn write_models(writer: &mut TcpStream, raw: &Raw) -> std::io::Result<()> {
    let body = if raw.headers.contains("anthropic-version: ") {
        let model = |id: &str| json!({"type": "model", "id": id, "display_name": id, "created_at": "2025-01-01T00:00:00Z"});
        let data = MODELS.map(model);
        json!({"data": data, "has_more": false, "first_id": MODELS[0], "last_id": MODELS[1]})
    } else {
        let model =
            |id: &str| json!({"id": id, "object": "model", "created": 1_700_000_000, "owned_by": "tests"});
        json!({"object": "list", "data": MODELS.map(model)})
    };
    let (body, head) = (body.to_string(), "HTTP/1.1 200 OK\r\ncontent-type: application/json");
    write!(writer, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn write(
    writer: &mut TcpStream,
    asked: &Asked,
    reply: Reply,
    habits: Habits,
    tokens: u64,
) -> std::io::Result<()> {
    if let Reply::Refuse(status, body) = reply {
        let length = body.len();
        return write!(writer, "HTTP/1.1 {status} No\r\ncontent-length: {length}\r\n\r\n{body}");
    }
    writer.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    )?;
    let is_chat = asked.path == "/v1/chat/completions";
    let events = if is_chat { chat_events(&reply, tokens) } else { message_events(&reply, tokens) };
    let text_events = events.len() - if matches!(reply, Reply::Held(..)) { held_events(is_chat) } else { 0 };
    for (place, event) in events.into_iter().enumerate() {
        if let Reply::Held(_, gate) = &reply
            && place == text_events
        {
            gate.wait();
        }
        let text = if is_chat {
            format!("data: {event}\n\n")
        } else {
            format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())
        };
        write!(writer, "{:x}\r\n{text}\r\n", text.len())?;
        writer.flush()?;
        if let Reply::Slowly(_, pause) = &reply {
            thread::sleep(*pause);
        }
    }
    if habits.pauses {
        thread::sleep(PAUSE);
    }
    match reply {
        Reply::Hang(_) => {
            // Until the other side closes.
            let _ = writer.read(&mut [0; 1]);
            Err(std::io::ErrorKind::ConnectionAborted.into())
        }
        Reply::Break(_) => Err(std::io::ErrorKind::ConnectionAborted.into()),
        _ if is_chat => writer.write_all(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"),
        _ => writer.write_all(b"0\r\n\r\n"),
    }
}

/// How many events at the end of an answer are held back.
fn held_events(is_chat: bool) -> usize {
    if is_chat { 2 } else { 3 }
}

/// A text in pieces of a few characters, as models write; a very long one in larger pieces.
fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks((characters.len() / 10_000).max(5)).map(|piece| piece.iter().collect()).collect()
}

fn chat_events(reply: &Reply, tokens: u64) -> Vec<Value> {
    let chunk = |delta: Value, reason: Value| json!({"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    let end = match reply {
        Reply::Say(text)
        | Reply::Slowly(text, _)
        | Reply::Held(text, _)
        | Reply::Hang(text)
        | Reply::Break(text) => {
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
        events.push(json!({"choices": [], "usage": {"prompt_tokens": tokens, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 60}}}));
    }
    events
}

fn message_events(reply: &Reply, tokens: u64) -> Vec<Value> {
    let usage = json!({"input_tokens": tokens - 60, "cache_read_input_tokens": 60, "output_tokens": 1});
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
        Reply::Say(text)
        | Reply::Slowly(text, _)
        | Reply::Held(text, _)
        | Reply::Hang(text)
        | Reply::Break(text) => {
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

/// A different number each time.
fn unique() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

//! A scripted embedder: a real HTTP server with OpenAI's and Ollama's embeddings, whose answers can be made hostile at any time.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::{Value, json};

use crate::model;

/// How the embedder answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mood {
    /// It answers with vectors.
    Well,
    /// It answers with this status, and these further headers, one per line.
    Refuses(u16, &'static str),
    /// It does not answer.
    Hangs,
    /// It answers with vectors that have this many additional numbers.
    Wider(usize),
    /// It answers with a null in each vector.
    NoNumber,
    /// It answers with vectors of zeros.
    Zero,
    /// It answers with one vector too few.
    Fewer,
    /// It answers with an HTML page.
    Nonsense,
    /// It answers with zeros for texts that have this word, and with vectors for others.
    ZeroFor(&'static str),
}

/// The server; it ends with the process.
pub struct ScriptedEmbedder {
    url: String,
    state: Arc<Mutex<State>>,
}

struct State {
    topics: Vec<Vec<String>>,
    mood: Mood,
    texts: Vec<String>,
    requests: usize,
}

/// Numbers of a vector that tell texts without a topic apart: such texts have nothing in common.
const REST: usize = 64;

impl ScriptedEmbedder {
    /// Texts with words of one topic have nearly the same meaning.
    pub fn start(topics: &[&[&str]]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let topics =
            topics.iter().map(|words| words.iter().map(|word| (*word).to_owned()).collect()).collect();
        let state = Arc::new(Mutex::new(State { topics, mood: Mood::Well, texts: Vec::new(), requests: 0 }));
        let its_state = state.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let state = its_state.clone();
                thread::spawn(move || serve(stream.unwrap(), &state));
            }
        });
        Self { url, state }
    }

    /// The embedder's base URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Answers in this way from now on.
    pub fn set(&self, mood: Mood) {
        lock(&self.state).mood = mood;
    }

    /// The texts for which it was asked for vectors, in order.
    pub fn texts(&self) -> Vec<String> {
        lock(&self.state).texts.clone()
    }

    /// The requests so far.
    pub fn requests(&self) -> usize {
        lock(&self.state).requests
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(stream: TcpStream, state: &Mutex<State>) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    while let Some(raw) = model::read(&mut reader) {
        let asked: Value = serde_json::from_str(&raw.body).unwrap();
        let answered = {
            let mut state = lock(state);
            state.requests += 1;
            state.answer(&raw.path, &asked)
        };
        let Some((status, headers, body)) = answered else {
            // Until the other side closes.
            let _ = writer.read(&mut [0; 1]);
            return;
        };
        let length = body.len();
        let head = format!("HTTP/1.1 {status} Answer\r\n{headers}content-length: {length}\r\n\r\n");
        if writer.write_all(format!("{head}{body}").as_bytes()).is_err() {
            return;
        }
    }
}

impl State {
    fn answer(&mut self, path: &str, asked: &Value) -> Option<(u16, &'static str, String)> {
        let texts: Vec<&str> =
            asked["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
        let is_wide = asked["model"].as_str().unwrap().contains("wide");
        let mut vectors: Vec<Vec<Value>> =
            texts.iter().map(|text| self.vector(text, if is_wide { 4 } else { 0 })).collect();
        match &self.mood {
            Mood::Well => {}
            Mood::Refuses(status, headers) => return Some((*status, headers, "no".to_owned())),
            Mood::Hangs => return None,
            Mood::Wider(more) => vectors.iter_mut().for_each(|vector| vector.extend(vec![json!(0.5); *more])),
            Mood::NoNumber => vectors.iter_mut().for_each(|vector| vector[0] = Value::Null),
            Mood::Zero => vectors.iter_mut().for_each(|vector| vector.fill(json!(0))),
            Mood::Fewer => drop(vectors.pop()),
            Mood::Nonsense => return Some((200, "", "<html>sign in</html>".to_owned())),
            Mood::ZeroFor(word) => {
                for (vector, _) in vectors.iter_mut().zip(&texts).filter(|(_, text)| text.contains(word)) {
                    vector.fill(json!(0));
                }
            }
        }
        self.texts.extend(texts.iter().map(|text| (*text).to_owned()));
        let body = if path == "/api/embed" {
            json!({"model": asked["model"], "embeddings": vectors})
        } else {
            let entry = |(index, vector): (usize, Vec<Value>)| json!({"object": "embedding", "index": index, "embedding": vector});
            let data: Vec<Value> = vectors.into_iter().enumerate().map(entry).collect();
            json!({"object": "list", "model": asked["model"], "data": data})
        };
        Some((200, "content-type: application/json\r\n", body.to_string()))
    }

    /// One number for each topic, and a few that depend on the text.
    fn vector(&self, text: &str, more: usize) -> Vec<Value> {
        let text = text.to_lowercase();
        let is_about = |words: &Vec<String>| words.iter().any(|word| text.contains(word.as_str()));
        let topics: Vec<f64> = self.topics.iter().map(|words| f64::from(u8::from(is_about(words)))).collect();
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let own = (topics.iter().all(|about| *about == 0.0)).then(|| hasher.finish() as usize % REST);
        let rest = (0..REST + more).map(|at| if own == Some(at) { 1.0 } else { 0.01 });
        topics.into_iter().chain(rest).map(Value::from).collect()
    }
}

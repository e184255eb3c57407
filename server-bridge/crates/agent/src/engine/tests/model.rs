//! A scripted model, with pauses on the test's clock.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use llm::dialect::Decode;
use llm::slots::Kind;
use llm::transport::{Answer, Call, Transport};
use llm::{Delta, Dialect, Draft, Error, Model, Request, Stop, Usage};
use tokio::time::sleep;

use crate::models::ModelSetup;

/// A step of an answer.
#[derive(Clone)]
pub(super) enum Step {
    Delta(Delta),
    /// A pause, in milliseconds.
    Pause(u64),
    /// The answer breaks off with this error.
    Break(Error),
    /// Nothing more arrives.
    Hang,
}

/// The answer to a request, from the request and the number of requests before it.
type Script = Box<dyn FnMut(&Request, usize) -> Vec<Step> + Send>;

/// A model, and the requests it got.
#[derive(Clone)]
pub(super) struct Played(Arc<Mutex<State>>);

struct State {
    script: Script,
    asked: Vec<Request>,
    deltas: Vec<Delta>,
}

/// An answer with a text.
pub(super) fn says(text: &str) -> Vec<Step> {
    vec![Step::Delta(Delta::Text(text.to_owned())), ended(Stop::End)]
}

/// The end of an answer, with its tokens: ten read and five written.
pub(super) fn ended(stop: Stop) -> Step {
    Step::Delta(Delta::Stop(stop))
}

/// A piece of text, with more to come.
pub(super) fn text(text: &str) -> Step {
    Step::Delta(Delta::Text(text.to_owned()))
}

/// An answer that calls tools, each with an id and its arguments.
pub(super) fn calls(calls: &[(&str, &str)]) -> Vec<Step> {
    let mut steps = written(calls);
    steps.push(ended(Stop::ToolCalls));
    steps
}

/// Calls without the answer's end.
pub(super) fn written(calls: &[(&str, &str)]) -> Vec<Step> {
    let mut steps = Vec::new();
    for ((name, arguments), slot) in calls.iter().zip(0..) {
        let (id, name) = (format!("{name}-{slot}-{}", rand::random::<u32>()), (*name).to_owned());
        steps.push(Step::Delta(Delta::ToolCall { slot, id, name }));
        steps.push(Step::Delta(Delta::Arguments { slot, part: (*arguments).to_owned() }));
    }
    steps
}

/// The same answer, with the numbers of its tokens.
pub(super) fn took(input_tokens: u64, output_tokens: u64, mut steps: Vec<Step>) -> Vec<Step> {
    let usage = Usage { input_tokens, output_tokens, ..Usage::default() };
    steps.insert(0, Step::Delta(Delta::Usage(usage)));
    steps
}

/// A failed answer.
pub(super) fn fails(error: Error) -> Vec<Step> {
    vec![Step::Break(error)]
}

impl Played {
    /// A model that answers by calling this script.
    pub(super) fn by(script: impl FnMut(&Request, usize) -> Vec<Step> + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(State { script: Box::new(script), asked: Vec::new(), deltas: Vec::new() })))
    }

    /// The model's setup for the engine: 10 microdollars per input token and 100 per output token.
    pub(super) fn setup(&self, name: &str, window_tokens: u32) -> ModelSetup {
        ModelSetup {
            model: Model::new(self.clone(), self.clone()),
            name: name.to_owned(),
            subscription: "server".to_owned(),
            kind: Kind::Shared,
            window_tokens,
            reply_tokens: 1_000,
            thinking_tokens: None,
            price: llm::price::Price { input: 10.0, output: 100.0, ..llm::price::Price::default() },
        }
    }

    /// The requests that the model got, in order.
    pub(super) fn asked(&self) -> Vec<Request> {
        self.0.lock().unwrap().asked.clone()
    }
}

impl Dialect for Played {
    fn write(&self, request: &Request, _: &mut Draft) -> Call {
        let mut state = self.0.lock().unwrap();
        state.asked.push(request.clone());
        let number = (state.asked.len() - 1).to_string();
        Call { path: "/", headers: vec![("number", number)], body: Vec::new() }
    }

    fn decoder(&self) -> Box<dyn Decode> {
        Box::new(self.clone())
    }

    fn listing(&self) -> Call {
        Call { path: "/", headers: Vec::new(), body: Vec::new() }
    }
}

impl Decode for Played {
    fn read(&mut self, data: &str, deltas: &mut Vec<Delta>) -> Result<bool, Error> {
        let delta = self.0.lock().unwrap().deltas[data.trim().parse::<usize>().unwrap()].clone();
        let is_over = matches!(delta, Delta::Stop(_));
        deltas.push(delta);
        Ok(is_over)
    }
}

impl Transport for Played {
    fn send(&self, call: Call) -> BoxFuture<'_, Result<Answer, Error>> {
        let steps = {
            let mut state = self.0.lock().unwrap();
            let number: usize = call.headers[0].1.parse().unwrap();
            let request = state.asked[number].clone();
            (state.script)(&request, number)
        };
        let this = self.clone();
        let body = stream::iter(steps).then(move |step| {
            let this = this.clone();
            async move {
                match step {
                    Step::Delta(delta) => {
                        let mut state = this.0.lock().unwrap();
                        state.deltas.push(delta);
                        Ok(format!("data: {}\n\n", state.deltas.len() - 1).into())
                    }
                    Step::Pause(ms) => {
                        sleep(Duration::from_millis(ms)).await;
                        Ok(bytes::Bytes::new())
                    }
                    Step::Break(error) => Err(error),
                    Step::Hang => std::future::pending().await,
                }
            }
        });
        Box::pin(async move { Ok(Answer { status: 200, retry_after_s: None, body: body.boxed() }) })
    }
}

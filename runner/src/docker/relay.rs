//! Passes frames on between the server and the runner in the container.
//!
//! ```text
//! start container ─▶ connect ─▶ attach, register for it ─▶ pass on ──link lost──▶ pause ─▶ connect (commands keep running)
//!       ▲                                                     ├─container ended─▶ pause ─▶ start it again
//!       └─────────────────────────────────────────────────────┘─replaced, revoked─▶ end (exit codes 3 and 4)
//! ```

use std::cell::Cell;
use std::io;
use std::process::Child;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use proto::frame::{Kind, decode};
use proto::handshake::{DOCKER_CAPABILITY, Handshake, Register};
use proto::limits::HANDSHAKE_TIMEOUT;
use proto::session::{Close, CloseCode};
use rustix::process::{Pid, Signal};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::Container;
use crate::blocking::{self, blocking};
use crate::connect::{Pauses, Source};
use crate::error::Error;
use crate::exit_code::{EXIT_KILLED, EXIT_REPLACED, EXIT_REVOKED, EXIT_STOPPED};
use crate::limits::{CONTAINER_HEALTHY_MS, CONTAINER_START_MS, RUNNER_STOP_MS};
use crate::link::LinkError;
use crate::link::register::TextLink;
use crate::link::stdio::StdioLink;
use crate::link::websocket::{Endpoint, WebSocketLink};
use crate::secret::Token;

/// The reason for no longer passing on frames.
enum Over {
    /// A failure on the server's side before the registration: the container keeps running.
    Server(String),
    /// A failure on the server's side after the registration: how long the link lasted, and how long the server asked to
    /// wait.
    Link { text: String, lived: Duration, asked: Duration },
    /// A failure on the container's side.
    Container(String),
    /// A person must act.
    Refused(String),
    /// The server does not want this runner back.
    LastWord(i32),
}

/// A container that was started.
struct Started {
    process: Child,
    link: StdioLink,
}

impl Started {
    fn signal(&self, with: Signal) {
        if let Some(pid) = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw) {
            // The process may have ended; its id is not reused before it is reaped.
            let _ = rustix::process::kill_process(pid, with);
        }
    }

    /// Ends it. The runner inside ends with its input in any case, even if this process is killed.
    async fn end(self) {
        self.signal(Signal::TERM);
        let Self { mut process, link } = self;
        drop(link);
        let waited = blocking(move || process.wait());
        // Giving up after that time does no harm: the next start removes any remains.
        let _ = timeout(Duration::from_millis(RUNNER_STOP_MS / 2), waited).await;
    }

    fn has_ended(&mut self) -> bool {
        self.process.try_wait().is_ok_and(|status| status.is_some())
    }
}

/// Keeps the container's runner connected until SIGTERM, SIGINT, or the server's final refusal; returns the exit code.
///
/// # Errors
/// The runtime cannot be started.
pub fn run(source: &Source, container: &Container, name: Option<&str>) -> Result<i32, Error> {
    let Source::Server { endpoint, token, patience } = source else {
        return Err(Error::Usage("--docker needs --server".to_owned()));
    };
    blocking::start().map_err(Error::system("start a thread"))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::system("start the runtime"))?;
    let relay = Relay { endpoint, token, container, name: name.unwrap_or_default() };
    runtime.block_on(async {
        let listen = |kind| signal(kind).map_err(Error::system("listen for signals"));
        let (mut terminate, mut interrupt) =
            (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
        let mut stop_signal = async || {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        let shutdown = CancellationToken::new();
        let insisted = async {
            stop_signal().await;
            shutdown.cancel();
            stop_signal().await;
        };
        Ok(tokio::select! {
            code = relay.keep(Pauses::up_to(patience.longest_pause), &shutdown) => code,
            () = insisted => EXIT_KILLED,
        })
    })
}

struct Relay<'a> {
    endpoint: &'a Endpoint,
    token: &'a Token,
    container: &'a Container,
    name: &'a str,
}

impl Relay<'_> {
    async fn keep(&self, mut pauses: Pauses, shutdown: &CancellationToken) -> i32 {
        let mut started: Option<Started> = None;
        let mut told = String::new();
        loop {
            let since = Instant::now();
            let over = self.serve_once(&mut started, shutdown).await;
            let code = match &over {
                Over::LastWord(code) => Some(*code),
                _ => shutdown.is_cancelled().then_some(EXIT_STOPPED),
            };
            if (code.is_some() || matches!(over, Over::Container(_)))
                && let Some(ended) = started.take()
            {
                ended.end().await;
            }
            if let Some(code) = code {
                return code;
            }
            let (text, pause) = match over {
                Over::LastWord(code) => return code,
                Over::Refused(text) => (text, pauses.longest()),
                Over::Server(text) => {
                    (format!("{text}; connecting again"), pauses.after_failure(rand::random()))
                }
                Over::Link { text, lived, asked } => {
                    (format!("{text}; connecting again"), pauses.after_link(lived, asked, rand::random()))
                }
                Over::Container(text) => {
                    let has_run = since.elapsed() >= Duration::from_millis(CONTAINER_HEALTHY_MS);
                    let pause = match has_run {
                        true => pauses.after_link(since.elapsed(), Duration::ZERO, rand::random()),
                        false => pauses.after_failure(rand::random()),
                    };
                    (format!("the container ended ({text}); starting it again"), pause)
                }
            };
            // The same problem is printed once, not at each attempt.
            if told != text {
                eprintln!("sandbridge-runner: {text}");
                told = text;
            }
            // An end that happens now is noticed by the next attempt.
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = sleep(pause) => {}
            }
        }
    }

    /// One link to the server, from its registration to its end.
    async fn serve_once(&self, started: &mut Option<Started>, shutdown: &CancellationToken) -> Over {
        if shutdown.is_cancelled() {
            return Over::Server("stopping".to_owned());
        }
        if started.as_mut().is_none_or(Started::has_ended) {
            *started = match self.start().await {
                Ok(started) => Some(started),
                Err(why) => return Over::Container(why),
            };
        }
        let Some(running) = started else { return Over::Container("it did not start".to_owned()) };
        let registered = tokio::select! {
            () = shutdown.cancelled() => return Over::Server("stopping".to_owned()),
            registered = self.register(running) => registered,
        };
        let mut server = match registered {
            Ok(server) => server,
            Err(over) => return over,
        };
        let (since, asked) = (Instant::now(), Cell::new(Duration::ZERO));
        let passed = tokio::select! {
            over = pass_on(&mut server, &mut running.link, &asked) => return match over {
                Over::Server(text) => Over::Link { text, lived: since.elapsed(), asked: asked.get() },
                other => other,
            },
            () = shutdown.cancelled() => {
                running.signal(Signal::TERM);
                let passing = pass_on(&mut server, &mut running.link, &asked);
                timeout(Duration::from_millis(RUNNER_STOP_MS / 2), passing).await
            }
        };
        passed.unwrap_or_else(|_| Over::Server("stopping".to_owned()))
    }

    async fn start(&self) -> Result<Started, String> {
        let container = self.container.clone();
        let started = blocking(move || container.start()).await.map_err(|error| error.to_string())?;
        let unusable = |error: io::Error| format!("docker cannot be run: {error}");
        let (process, input, output) = started.map_err(unusable)?;
        Ok(Started { process, link: StdioLink::new(input, output, false).map_err(unusable)? })
    }

    /// Registers the container's runner with the server, under this runner's identity.
    async fn register(&self, started: &mut Started) -> Result<WebSocketLink, Over> {
        let state_dir = &self.container.state_dir;
        let token = self
            .token
            .read(state_dir)
            .await
            .map_err(|error| Over::Refused(format!("the token cannot be read: {error}")))?;
        // Done first, so that a container that does not start does not appear as a runner that connects and disconnects again and again.
        let register = timeout(Duration::from_millis(CONTAINER_START_MS), introduced(&mut started.link));
        let mut register = register
            .await
            .map_err(|_| Over::Container("the runner in the container does not answer".to_owned()))?
            .map_err(|error| Over::Container(format!("{error}; docker's own message is above")))?;
        self.make_ours(&mut register, &token);
        let unreachable =
            |error: LinkError| Over::Server(format!("{} cannot be reached: {error}", self.endpoint.url()));
        let mut server = self.endpoint.connect().await.map_err(unreachable)?;
        let introduce = Handshake::Register { user_id: register.user_id.clone(), body: Box::new(register) };
        let answer = async {
            server.send_text(introduce.to_text()).await?;
            server.next_text().await
        };
        let answer = timeout(HANDSHAKE_TIMEOUT, answer).await;
        let answer =
            answer.map_err(|_| Over::Server("the server did not answer".to_owned()))?.map_err(unreachable)?;
        let accepted = self.accepted(&answer, &token).await?;
        let ready = async {
            started.link.send_text(accepted).await?;
            started.link.next_text().await
        };
        let ready = timeout(HANDSHAKE_TIMEOUT, ready).await;
        let ready = ready
            .map_err(|_| Over::Container("the runner in the container does not answer".to_owned()))?
            .map_err(|error| Over::Container(error.to_string()))?;
        server.send_text(ready).await.map_err(unreachable)?;
        eprintln!("sandbridge-runner: connected to {}; commands run in a container", self.endpoint.url());
        Ok(server)
    }

    fn make_ours(&self, register: &mut Register, token: &str) {
        token.clone_into(&mut register.auth_token);
        if let Some(facts) = &mut register.sandbridge {
            self.name.clone_into(&mut facts.runner_id);
            facts.capabilities.push(DOCKER_CAPABILITY.to_owned());
        }
    }

    /// The server's response for the container's runner, which never sees a token.
    async fn accepted(&self, answer: &str, shown: &str) -> Result<String, Over> {
        match Handshake::from_text(answer) {
            Ok(Handshake::RegisterOk { mut body }) => {
                let own = body.sandbridge.as_mut().and_then(|accepted| accepted.token.take());
                if let Some(own) = own {
                    let kept = self.token.keep(&self.container.state_dir, shown, &own).await;
                    kept.map_err(|error| {
                        Over::Refused(format!("the token from the server cannot be saved: {error}"))
                    })?;
                }
                Ok(Handshake::RegisterOk { body }.to_text())
            }
            Ok(Handshake::Error { body }) if body.reason.needs_a_person() => Err(Over::Refused(format!(
                "the server refused this runner: {}. Get a token with `sandbridge runner add` or `rotate`",
                body.message
            ))),
            Ok(Handshake::Error { body }) => Err(Over::Server(body.message)),
            _ => Err(Over::Server("the server's response is not a registration".to_owned())),
        }
    }
}

/// Asks the container's runner for its registration; frames meant for an earlier link arrive first and are dropped.
async fn introduced(link: &mut StdioLink) -> Result<Register, LinkError> {
    link.forget_unsent();
    link.send_text(Handshake::Attach {}.to_text()).await?;
    loop {
        if let Ok(Handshake::Register { body, .. }) = Handshake::from_text(&link.next_text().await?) {
            return Ok(*body);
        }
    }
}

/// Passes frames on in both directions until one side ends. The server's requested pause is stored in `asked`.
async fn pass_on(server: &mut WebSocketLink, container: &mut StdioLink, asked: &Cell<Duration>) -> Over {
    let (mut to_server, mut from_server) = server.split();
    let (mut to_container, mut from_container) = container.split();
    let up = async {
        loop {
            let frame = match from_container.next().await {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => return Over::Container(error.to_string()),
                None => return Over::Container("its output ended".to_owned()),
            };
            if let Err(error) = to_server.feed(frame).await {
                return Over::Server(error.to_string());
            }
            // Frames that are available already are sent with it.
            while let Some(Some(Ok(frame))) = futures_util::FutureExt::now_or_never(from_container.next()) {
                if let Err(error) = to_server.feed(frame).await {
                    return Over::Server(error.to_string());
                }
            }
            if let Err(error) = to_server.flush().await {
                return Over::Server(error.to_string());
            }
        }
    };
    let down = async {
        loop {
            let frame = match from_server.next().await {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => return Over::Server(error.to_string()),
                None => return Over::Server("the server closed the connection".to_owned()),
            };
            let close = close_of(&frame);
            if let Some(close) = &close {
                asked.set(close.pause);
            }
            if let Err(error) = to_container.send(frame).await {
                return Over::Container(error.to_string());
            }
            if let Some(code) = close.and_then(|close| last_word(close.code)) {
                return Over::LastWord(code);
            }
        }
    };
    tokio::select! {
        over = up => over,
        over = down => over,
    }
}

/// The server's close of this link, if the frame is one.
fn close_of(frame: &Bytes) -> Option<Close> {
    let (header, body) = decode(frame).ok()?;
    (header.kind == Kind::Close).then(|| Close::from_frame(&header, &body))
}

/// The exit code if the server does not want this runner back.
fn last_word(code: CloseCode) -> Option<i32> {
    let (code, text) = match code {
        CloseCode::Replaced => (EXIT_REPLACED, "another runner connected with the same token and took over"),
        CloseCode::Revoked => (EXIT_REVOKED, "this runner was revoked"),
        _ => return None,
    };
    eprintln!("sandbridge-runner: {text}");
    Some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_goodbye_is_read_on_its_way_to_the_container() {
        let goodbye = Close::come_back_after("later", Duration::from_secs(3));
        assert_eq!(close_of(&goodbye.to_frame()), Some(goodbye));
        assert_eq!(last_word(CloseCode::GoingAway), None);
        assert_eq!(last_word(CloseCode::Revoked), Some(EXIT_REVOKED));
        assert_eq!(close_of(&Bytes::from_static(b"no frame")), None);
    }
}

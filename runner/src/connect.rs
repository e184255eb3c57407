//! Staying connected: register, serve, and try again until a person or the server ends it.
//!
//! ```text
//! connect ─▶ register ─▶ serve ──lost──▶ at once (within a second, after what a goodbye asked for) ─▶ connect
//!     │          │          └─replaced, revoked─▶ end (exit codes 3 and 4)
//!     └─failed───┼─▶ pause (full jitter, 1 s to 60 s or --reconnect-max) ─▶ connect
//!                └─refused: a person must act─▶ the longest pause ─▶ connect
//! ```

mod pauses;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use proto::handshake::{Accepted, RefusalReason};
use proto::session::{Close, CloseCode};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::clock::SleepDetector;
use crate::error::Error;
use crate::executor::Executor;
use crate::exit_code::{
    EXIT_FAILED, EXIT_REFUSED, EXIT_REGISTERED, EXIT_REPLACED, EXIT_REVOKED, EXIT_STOPPED, EXIT_UPDATE,
};
use crate::identity::{Identity, summary};
use crate::limits::{SLEEP_LOOK_MS, TRIAL_PAUSE_MS};
use crate::link::LinkError;
use crate::link::register::{RegisterError, introduce, register};
use crate::link::stdio::StdioLink;
use crate::link::websocket::{Endpoint, WebSocketLink};
pub use crate::secret::Token;
use crate::serve::{Ended, serve};
pub(crate) use pauses::Pauses;

/// Advice for a runner that waits for another token.
const NEW_TOKEN: &str = "Get a token with `sandbridge runner add` or `rotate`, put it into the token file, and the runner \
    connects within a minute (or start it again)";
/// Advice for a person who pasted a line.
const NEW_LINE: &str = "Paste a new install line: `sandbridge runner add NAME` (or `rotate NAME`, if the runner already exists) \
    shows one, and so do the settings on the server's web page";

/// The limits of retrying.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// The longest pause between two attempts.
    pub longest_pause: Duration,
    /// True if a runner ends when it is refused before it was ever connected.
    pub exits_if_refused: bool,
}

/// The source of frames.
#[derive(Debug, Clone)]
pub enum Source {
    /// A server that is dialled.
    Server {
        /// The server's address, and how it is verified.
        endpoint: Endpoint,
        /// The token that identifies this runner to it.
        token: Token,
        /// The limits of retrying.
        patience: Patience,
    },
    /// The process that holds the standard streams.
    Stdio {
        /// True if their end also ends the runner, even if it is a container's first process.
        ends_with_input: bool,
    },
}

/// The failure of an attempt that did not lead to a served link.
enum Failure {
    Token(Error),
    Link(LinkError),
    Register(RegisterError),
}

impl Failure {
    /// The message for a person; it depends on whether that person must act before another attempt can help. `is_last` is
    /// true if there is no further attempt.
    fn advice(&self, url: &str, is_last: bool) -> (String, bool) {
        match self {
            Self::Token(error) => (format!("the token cannot be read: {error}"), true),
            Self::Link(error) | Self::Register(RegisterError::Link(error)) => {
                (format!("{url} cannot be reached: {error}; trying again"), false)
            }
            Self::Register(RegisterError::Refused(refusal)) if refusal.reason.needs_a_person() => {
                let refused = format!("the server refused this runner: {}", refusal.message);
                let advice = match refusal.reason {
                    // A new token does not help; the message names the side to update.
                    RefusalReason::ProtocolVersion => return (refused, true),
                    _ if is_last => NEW_LINE,
                    _ => NEW_TOKEN,
                };
                (format!("{refused}. {advice}"), true)
            }
            Self::Register(error @ (RegisterError::NoExtension | RegisterError::Token(_))) => {
                (error.to_string(), true)
            }
            Self::Register(error) => (format!("{url}: {error}; trying again"), false),
        }
    }
}

/// Keeps a runner connected over WebSockets, with `patience`; returns its exit code.
pub async fn run(
    endpoint: &Endpoint,
    token: &Token,
    patience: Patience,
    identity: &Identity,
    executor: &Rc<Executor>,
    shutdown: &CancellationToken,
) -> i32 {
    let status = StatusPrinter::default();
    let connect = async || {
        let state_dir = &executor.host.policy.state_dir;
        let shown = token.read(state_dir).await.map_err(Failure::Token)?;
        let mut link = endpoint.connect().await.map_err(Failure::Link)?;
        let keep = async |own: &str| token.keep(state_dir, &shown, own).await;
        let mut facts = identity.register(&shown);
        if let (Some(facts), Some(updates)) = (&mut facts.sandbridge, executor.updates.get()) {
            facts.update_error = updates.error();
        }
        let accepted = register(&mut link, &facts, keep).await.map_err(Failure::Register)?;
        Ok::<(WebSocketLink, Accepted), Failure>((link, accepted))
    };
    let attempt = async || {
        let connected = tokio::select! {
            () = shutdown.cancelled() => return Attempt::over(Ended::Shutdown),
            connected = connect() => connected,
        };
        match connected {
            Ok((link, accepted)) => {
                let how = summary(executor.profile(), executor.report());
                status.print(format!("connected to {} as {} ({how})", endpoint.url(), accepted.runner));
                executor.host.refresh_resolver().await;
                executor.execs.set_beside_server(link.is_beside());
                if let Some(updates) = executor.updates.get() {
                    updates.announced(accepted.version.as_deref());
                }
                let since = Instant::now();
                let ended = serve(link, executor, shutdown).await;
                Attempt::Served { ended, lived: since.elapsed() }
            }
            Err(failure) => Attempt::Failed(failure),
        }
    };
    stay(attempt, patience, endpoint.url(), &status, shutdown).await
}

/// Registers once and closes the link, as a trial: nothing is served. If the server cannot be reached, this retries for as long as
/// the process that started it waits; returns the exit code.
pub async fn on_trial(
    endpoint: &Endpoint,
    token: &Token,
    identity: &Identity,
    executor: &Rc<Executor>,
    shutdown: &CancellationToken,
) -> i32 {
    let status = StatusPrinter::default();
    let attempt = async || {
        let shown = token.read(&executor.host.policy.state_dir).await.map_err(Failure::Token)?;
        let mut link = endpoint.connect().await.map_err(Failure::Link)?;
        introduce(&mut link, &identity.register(&shown)).await.map_err(Failure::Register)
    };
    loop {
        let failure = tokio::select! {
            () = shutdown.cancelled() => return EXIT_FAILED,
            attempt = attempt() => match attempt {
                Ok(_) => return EXIT_REGISTERED,
                Err(failure) => failure,
            },
        };
        let (advice, needs_a_person) = failure.advice(endpoint.url(), true);
        status.print(format!("on trial: {advice}"));
        if needs_a_person {
            return EXIT_REFUSED;
        }
        tokio::select! {
            () = shutdown.cancelled() => return EXIT_FAILED,
            () = tokio::time::sleep(Duration::from_millis(TRIAL_PAUSE_MS)) => {}
        }
    }
}

/// The outcome of an attempt.
enum Attempt {
    /// A link was registered, and lasted this long.
    Served {
        ended: Ended,
        lived: Duration,
    },
    Failed(Failure),
}

impl Attempt {
    fn over(ended: Ended) -> Self {
        Self::Served { ended, lived: Duration::ZERO }
    }
}

/// Prints events for a person on standard error, the same problem once and not at each attempt.
#[derive(Default)]
struct StatusPrinter(RefCell<String>);

impl StatusPrinter {
    fn print(&self, text: String) {
        let mut last = self.0.borrow_mut();
        if *last != text {
            eprintln!("sandbridge-runner: {text}");
            *last = text;
        }
    }
}

/// Makes one attempt after the other until the server or a person ends it; returns the exit code.
async fn stay(
    mut attempt: impl AsyncFnMut() -> Attempt,
    patience: Patience,
    url: &str,
    status: &StatusPrinter,
    shutdown: &CancellationToken,
) -> i32 {
    let mut pauses = Pauses::up_to(patience.longest_pause);
    let mut ends_if_refused = patience.exits_if_refused;
    loop {
        let pause = match attempt().await {
            Attempt::Served { ended, lived } => {
                ends_if_refused = false;
                if let Some(code) = last_word(&ended) {
                    return code;
                }
                status.print(format!("connection lost ({}); connecting again", reason(&ended)));
                pauses.after_link(lived, asked_pause(&ended), rand::random())
            }
            Attempt::Failed(failure) => {
                let (advice, needs_a_person) = failure.advice(url, ends_if_refused);
                status.print(advice);
                if needs_a_person && ends_if_refused {
                    return EXIT_REFUSED;
                }
                if needs_a_person { pauses.longest() } else { pauses.after_failure(rand::random()) }
            }
        };
        tokio::select! {
            () = shutdown.cancelled() => return EXIT_STOPPED,
            () = wait_awake(pause) => {}
        }
    }
}

/// Serves each server that attaches to the standard streams; returns the exit code.
pub async fn run_stdio(
    mut link: StdioLink,
    identity: &Identity,
    executor: &Rc<Executor>,
    shutdown: &CancellationToken,
) -> i32 {
    let mut is_attached = false;
    loop {
        let attach = async {
            if !is_attached {
                link.attached().await?;
            }
            link.forget_unsent();
            // Without a token there is nothing to exchange.
            register(&mut link, &identity.register(""), async |_| Ok(())).await
        };
        let attempt = tokio::select! {
            () = shutdown.cancelled() => return EXIT_STOPPED,
            attempt = attach => attempt,
        };
        is_attached = false;
        let error = match attempt {
            Ok(_) => {
                executor.host.refresh_resolver().await;
                match serve(&mut link, executor, shutdown).await {
                    Ended::Shutdown => return EXIT_STOPPED,
                    Ended::Lost(error) => error,
                    // Without a server to dial there is no update.
                    Ended::Closed(_) | Ended::Broken(_) | Ended::Replaced => continue,
                }
            }
            Err(RegisterError::Link(error)) => error,
            Err(error) => {
                eprintln!("sandbridge-runner: {error}");
                continue;
            }
        };
        match error {
            LinkError::Reattached => is_attached = true,
            LinkError::Ended => return EXIT_STOPPED,
            LinkError::NotAFrame | LinkError::Envelope(_) => link.resynchronise(),
            LinkError::Io(_) | LinkError::WebSocket(_) => {
                eprintln!("sandbridge-runner: the link broke: {error}");
                return EXIT_STOPPED;
            }
        }
    }
}

/// The exit code if the server does not want this runner back.
fn last_word(ended: &Ended) -> Option<i32> {
    let (code, text) = match ended {
        Ended::Shutdown => return Some(EXIT_STOPPED),
        Ended::Replaced => return Some(EXIT_UPDATE),
        Ended::Closed(Close { code: CloseCode::Replaced, reason, .. }) => (
            EXIT_REPLACED,
            format!(
                "another runner connected with the same token and took over ({reason}). One runner per token: add another \
                 with `sandbridge runner add`"
            ),
        ),
        Ended::Closed(Close { code: CloseCode::Revoked, reason, .. }) => (
            EXIT_REVOKED,
            format!("this runner was revoked ({reason}). Register it again with `sandbridge runner add`"),
        ),
        Ended::Closed(_) | Ended::Broken(_) | Ended::Lost(_) => return None,
    };
    eprintln!("sandbridge-runner: {text}");
    Some(code)
}

/// How long the server asked this runner to wait.
fn asked_pause(ended: &Ended) -> Duration {
    match ended {
        Ended::Closed(close) => close.pause,
        Ended::Broken(_) | Ended::Lost(_) | Ended::Shutdown | Ended::Replaced => Duration::ZERO,
    }
}

fn reason(ended: &Ended) -> String {
    match ended {
        Ended::Closed(close) | Ended::Broken(close) => close.to_string(),
        Ended::Lost(error) => error.to_string(),
        Ended::Shutdown | Ended::Replaced => "stopping".to_owned(),
    }
}

/// Waits, but not longer than until the machine wakes up from sleep.
async fn wait_awake(pause: Duration) {
    let due = Instant::now() + pause;
    let mut sleep = SleepDetector::new();
    while Instant::now() < due && !sleep.slept() {
        let look = Instant::now() + Duration::from_millis(SLEEP_LOOK_MS);
        tokio::time::sleep_until(due.min(look)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::tests::pretend_sleep;
    use crate::limits::BRIEF_LINKS;
    use proto::handshake::Refusal;

    /// Stays connected over attempts with these outcomes; returns the start of each, in milliseconds, and the pauses between
    /// them.
    async fn attempts(script: Vec<Attempt>) -> Vec<Duration> {
        let shutdown = CancellationToken::new();
        let mut script = script.into_iter();
        let mut last_end: Option<Instant> = None;
        let mut pauses = Vec::new();
        let attempt = async || {
            pauses.extend(last_end.map(|end| end.elapsed()));
            let attempt = script.next();
            if let Some(Attempt::Served { lived, .. }) = &attempt {
                tokio::time::sleep(*lived).await;
            }
            last_end = Some(Instant::now());
            attempt.unwrap_or_else(|| Attempt::over(Ended::Shutdown))
        };
        let patience = Patience { longest_pause: Duration::from_secs(60), exits_if_refused: true };
        assert_eq!(
            stay(attempt, patience, "ws://a", &StatusPrinter::default(), &shutdown).await,
            EXIT_STOPPED
        );
        pauses
    }

    fn cut(lived_ms: u64) -> Attempt {
        let lived = Duration::from_millis(lived_ms);
        Attempt::Served { ended: Ended::Lost(LinkError::Ended), lived }
    }

    fn failed() -> Attempt {
        Attempt::Failed(Failure::Link(LinkError::Ended))
    }

    #[tokio::test(start_paused = true)]
    async fn a_link_that_is_cut_again_and_again_is_back_within_a_second_each_time() {
        for lived_ms in [1_000, 4_000, 20_000, 90_000] {
            let pauses = attempts((0..200).map(|_| cut(lived_ms)).collect()).await;
            assert_eq!(pauses.len(), 200);
            let longest = pauses.iter().max().unwrap();
            assert!(*longest <= Duration::from_secs(1), "after {lived_ms} ms: {longest:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_link_between_failures_makes_the_next_attempt_quick_again() {
        let script = (0..8).flat_map(|_| [failed(), failed(), failed(), failed(), cut(10)]);
        let pauses = attempts(script.collect()).await;
        for round in pauses.chunks(5) {
            assert!(round[4] <= Duration::from_secs(1), "{round:?}");
            assert!(round.iter().all(|pause| *pause <= Duration::from_secs(2)), "{round:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_breaks_each_link_at_once_is_not_hammered() {
        let began = Instant::now();
        let pauses = attempts((0..120).map(|_| cut(0)).collect()).await;
        let quick = &pauses[..BRIEF_LINKS as usize];
        assert!(quick.iter().all(|pause| *pause <= Duration::from_secs(1)), "{quick:?}");
        assert!(began.elapsed() > Duration::from_secs(600), "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_asks_for_pauses_over_and_over_gets_none_beyond_the_limit() {
        let asking = |asked_s| {
            let close =
                Close { pause: Duration::from_secs(asked_s), ..Close::new(CloseCode::GoingAway, "b") };
            Attempt::Served { ended: Ended::Closed(close), lived: Duration::from_secs(2) }
        };
        let pauses = attempts((0..50).map(|round| asking([3, 1_000_000][round % 2])).collect()).await;
        for pair in pauses.chunks(2) {
            assert!((3.0..=4.0).contains(&pair[0].as_secs_f64()), "{pair:?}");
            assert!((30.0..=31.0).contains(&pair[1].as_secs_f64()), "{pair:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_ends_when_the_machine_wakes_up() {
        let start = Instant::now();
        wait_awake(Duration::from_secs(50)).await;
        assert_eq!(start.elapsed(), Duration::from_secs(50));
        let start = Instant::now();
        let wait = wait_awake(Duration::from_secs(50));
        let sleep = async {
            tokio::time::sleep(Duration::from_secs(12)).await;
            pretend_sleep(Duration::from_secs(60 * 60));
        };
        tokio::join!(wait, sleep);
        // It checks every five seconds.
        assert_eq!(start.elapsed(), Duration::from_secs(15));
    }

    #[test]
    fn a_refused_token_is_explained_and_not_hammered() {
        let refusal = |reason| {
            let refusal = Refusal { reason, message: "the token is unknown".to_owned() };
            Failure::Register(RegisterError::Refused(refusal)).advice("ws://localhost/runner", false)
        };
        let (advice, needs_a_person) = refusal(RefusalReason::TokenUnknown);
        assert!(
            needs_a_person && advice.contains("the token is unknown") && advice.contains("runner add"),
            "{advice}"
        );
        assert!(!refusal(RefusalReason::RateLimited).1);
        let (advice, needs_a_person) = refusal(RefusalReason::ProtocolVersion);
        assert!(needs_a_person && !advice.contains("runner add"), "no token helps: {advice}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_runner_that_is_refused_at_first_ends_where_it_was_asked_to() {
        let refused = || {
            let refusal = Refusal { reason: RefusalReason::TokenRevoked, message: "it was used".to_owned() };
            Attempt::Failed(Failure::Register(RegisterError::Refused(refusal)))
        };
        let patience = Patience { longest_pause: Duration::from_secs(60), exits_if_refused: true };
        for (before, exits_if_refused, code) in
            [(failed(), true, EXIT_REFUSED), (failed(), false, EXIT_STOPPED), (cut(10), true, EXIT_STOPPED)]
        {
            let mut script = vec![before, refused(), Attempt::over(Ended::Shutdown)].into_iter();
            let patience = Patience { exits_if_refused, ..patience };
            let ended = stay(
                async || script.next().unwrap(),
                patience,
                "ws://a",
                &StatusPrinter::default(),
                &CancellationToken::new(),
            )
            .await;
            assert_eq!(ended, code);
        }
    }

    #[test]
    fn only_replaced_and_revoked_are_last_words() {
        let closed = |code| last_word(&Ended::Closed(Close::new(code, "why")));
        assert_eq!(closed(CloseCode::Replaced), Some(EXIT_REPLACED));
        assert_eq!(closed(CloseCode::Revoked), Some(EXIT_REVOKED));
        assert_eq!(closed(CloseCode::GoingAway), None);
    }
}

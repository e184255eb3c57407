//! Staying connected: register, serve, and try again until a person or the server says stop.
//!
//! ```text
//! connect ─▶ register ─▶ serve ──lost──▶ pause (full jitter, 1 s to 60 s or --reconnect-max) ─▶ connect
//!                │          └─replaced, revoked─▶ end (exit codes 3 and 4)
//!                └─refused: a person must act─▶ the longest pause ─▶ connect
//! ```

use std::rc::Rc;
use std::time::Duration;

use proto::session::{Close, CloseCode};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::clock::SleepDetector;
use crate::error::Error;
use crate::executor::Executor;
use crate::identity::{Identity, summary};
use crate::limits::{LINK_HEALTHY_MS, RECONNECT_PAUSE_MS, SLEEP_LOOK_MS};
use crate::link::LinkError;
use crate::link::register::{RegisterError, register};
use crate::link::stdio::StdioLink;
use crate::link::websocket::Endpoint;
pub use crate::secret::Token;
use crate::serve::{Ended, serve};

/// Exit code after an orderly stop.
pub const EXIT_STOPPED: i32 = 0;
/// Exit code when another runner took over with the same token.
pub const EXIT_REPLACED: i32 = 3;
/// Exit code when the runner was revoked.
pub const EXIT_REVOKED: i32 = 4;

/// Exit code when a second signal came before an orderly stop was done, as if SIGKILL had reached it.
pub const EXIT_KILLED: i32 = 137;

/// What one attempt came to when it did not lead to a served link.
enum Failure {
    Token(Error),
    Link(LinkError),
    Register(RegisterError),
}

impl Failure {
    /// What to tell, and whether a person must act before another attempt can help.
    fn advice(&self, url: &str) -> (String, bool) {
        match self {
            Self::Token(error) => (format!("the token cannot be read: {error}"), true),
            Self::Link(error) | Self::Register(RegisterError::Link(error)) => {
                (format!("{url} cannot be reached: {error}; trying again"), false)
            }
            Self::Register(RegisterError::Refused(refusal)) if refusal.reason.needs_a_person() => (
                format!(
                    "the server refused this runner: {}. Get a token with `sandbridge runner add` or `rotate`, put it into the \
                     token file, and it connects within a minute (or start it again)",
                    refusal.message
                ),
                true,
            ),
            Self::Register(error @ (RegisterError::NoExtension | RegisterError::Token(_))) => {
                (error.to_string(), true)
            }
            Self::Register(error) => (format!("{url}: {error}; trying again"), false),
        }
    }
}

/// Keeps a runner connected over WebSockets, pausing at most `longest_pause` between attempts; returns its exit code.
pub async fn run(
    endpoint: &Endpoint,
    token: &Token,
    longest_pause: Duration,
    identity: &Identity,
    executor: &Rc<Executor>,
    shutdown: &CancellationToken,
) -> i32 {
    let mut pauses = Pauses::up_to(longest_pause);
    let mut told = String::new();
    let mut tell = |text: String| {
        // The same trouble is told once, not at each attempt.
        if told != text {
            eprintln!("sandbridge-runner: {text}");
            told = text;
        }
    };
    loop {
        let attempt = async {
            let state_dir = &executor.policy.state_dir;
            let shown = token.read(state_dir).await.map_err(Failure::Token)?;
            let mut link = endpoint.connect().await.map_err(Failure::Link)?;
            let keep = async |own: &str| token.keep(state_dir, &shown, own).await;
            let accepted =
                register(&mut link, &identity.register(&shown), keep).await.map_err(Failure::Register)?;
            Ok::<_, Failure>((link, accepted))
        };
        let attempt = tokio::select! {
            () = shutdown.cancelled() => return EXIT_STOPPED,
            attempt = attempt => attempt,
        };
        let pause = match attempt {
            Ok((link, accepted)) => {
                let how = summary(executor.profile(), executor.report());
                tell(format!("connected to {} as {} ({how})", endpoint.url(), accepted.runner));
                executor.refresh_resolver().await;
                executor.is_beside_server.set(link.is_beside());
                let connected = std::time::Instant::now();
                let ended = serve(link, executor, shutdown).await;
                // A server that accepts and breaks at once is not hammered.
                if connected.elapsed() >= Duration::from_millis(LINK_HEALTHY_MS) {
                    pauses.reset();
                }
                if let Some(code) = last_word(&ended) {
                    return code;
                }
                tell(format!("connection lost ({}); connecting again", reason(&ended)));
                pauses.next(rand::random())
            }
            Err(failure) => {
                let (advice, needs_a_person) = failure.advice(endpoint.url());
                tell(advice);
                if needs_a_person { pauses.longest } else { pauses.next(rand::random()) }
            }
        };
        tokio::select! {
            () = shutdown.cancelled() => return EXIT_STOPPED,
            () = wait_awake(pause) => {}
        }
    }
}

/// Serves whoever attaches to the standard streams; returns the exit code.
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
            // Without a token there is none to be exchanged.
            register(&mut link, &identity.register(""), async |_| Ok(())).await
        };
        let attempt = tokio::select! {
            () = shutdown.cancelled() => return EXIT_STOPPED,
            attempt = attach => attempt,
        };
        is_attached = false;
        let error = match attempt {
            Ok(_) => {
                executor.refresh_resolver().await;
                match serve(&mut link, executor, shutdown).await {
                    Ended::Shutdown => return EXIT_STOPPED,
                    Ended::Lost(error) => error,
                    Ended::Closed(_) | Ended::Broken(_) => continue,
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

/// The exit code when the server does not want this runner back.
fn last_word(ended: &Ended) -> Option<i32> {
    let (code, text) = match ended {
        Ended::Shutdown => return Some(EXIT_STOPPED),
        Ended::Closed(Close { code: CloseCode::Replaced, reason }) => (
            EXIT_REPLACED,
            format!(
                "another runner connected with the same token and took over ({reason}). One runner per token: add another \
                 with `sandbridge runner add`"
            ),
        ),
        Ended::Closed(Close { code: CloseCode::Revoked, reason }) => (
            EXIT_REVOKED,
            format!("this runner was revoked ({reason}). Register it anew with `sandbridge runner add`"),
        ),
        Ended::Closed(_) | Ended::Broken(_) | Ended::Lost(_) => return None,
    };
    eprintln!("sandbridge-runner: {text}");
    Some(code)
}

fn reason(ended: &Ended) -> String {
    match ended {
        Ended::Closed(close) | Ended::Broken(close) => close.to_string(),
        Ended::Lost(error) => error.to_string(),
        Ended::Shutdown => "stopping".to_owned(),
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

/// How long to wait before each attempt: a random part of a bound that doubles.
#[derive(Debug)]
pub(crate) struct Pauses {
    attempts: u32,
    longest: Duration,
}

impl Pauses {
    pub(crate) fn up_to(longest: Duration) -> Self {
        Self { attempts: 0, longest }
    }

    pub(crate) fn reset(&mut self) {
        self.attempts = 0;
    }

    pub(crate) fn longest(&self) -> Duration {
        self.longest
    }

    /// The next pause; `part` is random, 0 to 1.
    pub(crate) fn next(&mut self, part: f64) -> Duration {
        let bound = Duration::from_millis(RECONNECT_PAUSE_MS.saturating_mul(1 << self.attempts.min(16)));
        self.attempts = self.attempts.saturating_add(1);
        bound.min(self.longest).mul_f64(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::tests::pretend_sleep;
    use proto::handshake::{Refusal, RefusalReason};

    #[test]
    fn pauses_grow_to_their_limit_and_start_over() {
        let mut pauses = Pauses::up_to(Duration::from_secs(60));
        let bounds: Vec<_> = (0..8).map(|_| pauses.next(1.0).as_secs()).collect();
        assert_eq!(bounds, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(pauses.next(0.5), Duration::from_secs(30));
        pauses.reset();
        assert_eq!(pauses.next(1.0), Duration::from_secs(1));
        let short = Duration::from_millis(200);
        assert_eq!(Pauses::up_to(short).next(1.0), short, "a limit below the first pause rules too");
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
        // It looks every five seconds.
        assert_eq!(start.elapsed(), Duration::from_secs(15));
    }

    #[test]
    fn a_refused_token_is_explained_and_not_hammered() {
        let refusal = |reason| {
            let refusal = Refusal { reason, message: "the token is unknown".to_owned() };
            Failure::Register(RegisterError::Refused(refusal)).advice("ws://localhost/runner")
        };
        let (advice, needs_a_person) = refusal(RefusalReason::TokenUnknown);
        assert!(
            needs_a_person && advice.contains("the token is unknown") && advice.contains("runner add"),
            "{advice}"
        );
        assert!(!refusal(RefusalReason::RateLimited).1);
    }

    #[test]
    fn only_replaced_and_revoked_are_last_words() {
        let closed = |code| last_word(&Ended::Closed(Close::new(code, "why")));
        assert_eq!(closed(CloseCode::Replaced), Some(EXIT_REPLACED));
        assert_eq!(closed(CloseCode::Revoked), Some(EXIT_REVOKED));
        assert_eq!(closed(CloseCode::GoingAway), None);
    }
}

//! The chat on the full screen: `sandbridge chat` on a terminal.
//!
//! ```text
//!   keys (thread) ─┐                      ┌─► draw(frame, state)      at most every 16 ms
//!   server ────────┼─► update(state, event)
//!   time, signals ─┘                      └─► effects ─► server ─► Event::Done
//! ```
//! All decisions are in `update`, a function of the state and an event, and `draw`, a function of the state: both without
//! I/O, and tested without a server. Around them is a thin shell: this file, `server` and `terminal`.
//!
//! | module | holds |
//! |---|---|
//! | `state` | the state of the screen |
//! | `event` | its events and requests |
//! | `update/` | the effect of an event |
//! | `view/` | the frame that is drawn |
//! | `transcript` | the open chat's messages, bounded, and live output |
//! | `places` | where the next command runs |
//! | `group` | a group in its window |
//! | `input` | the text being written: history, completion |
//! | `picker` | lists to choose from, searched while typing |
//! | `markdown`, `text` | texts of models and commands, made safe for a terminal |
//! | `wire` | the server's documents, as types |
//! | `server` | events with reconnection, and requests |
//! | `words` | the texts in other languages |
//! | `terminal` | the terminal: entered, restored, read |
//!
//! A new command: an `Action` in `picker`, its row in `update::overlay::open_palette`, its arm in `act`; its request to the
//! server is an `Effect`.

mod event;
mod group;
mod input;
mod markdown;
mod picker;
mod places;
mod server;
mod state;
mod terminal;
#[cfg(test)]
mod tests;
mod text;
mod transcript;
mod update;
mod view;
mod wire;
mod words;

use std::process::ExitCode;

use api::tui::ClientId;
use api::words::Approval;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::failure::{self, Failure};
use super::limits::{FRAME_INTERVAL, IDLE_INTERVAL, SCREEN_QUEUE, TICK_INTERVAL};
use super::output;
use super::session::Session;
use event::{Effect, Event};
use server::Server;
use state::State;
use terminal::Screen;
use view::theme::Theme;

pub(super) use terminal::fits;

/// Fills the terminal with a chat until its user quits.
pub(super) async fn run(session: Session, chat: &str, mode: Option<Approval>) -> Result<ExitCode, Failure> {
    let mut signals = Signals::listen()?;
    let user = session.login().map(|login| login.user.clone()).unwrap_or_default();
    let language = words::language(|name| std::env::var(name).ok());
    let theme = if output::has_colour(true) { Theme::coloured() } else { Theme::plain() };
    let theme = Theme { language, ..theme };
    let session = session.with_language(language);
    let client = ClientId::of(rand::random());
    let mut state = State::new(theme, &session.server, &user, chat, client);
    if let Some(mode) = mode {
        state.modes.insert(chat.to_owned(), mode.to_string());
    }
    let (sender, news) = mpsc::channel(SCREEN_QUEUE);
    let server = Server::start(session.clone(), sender);
    let (screen, keys) = (Screen::enter()?, terminal::read_keys()?);
    let began = Instant::now();
    let mut shell = Shell { screen, state, server, session, began, is_over: false };
    let (mut keys, mut news) = (keys, news);
    let code = shell.live(&mut keys, &mut news, &mut signals).await;
    // Pending requests get a moment, and the terminal is restored in any case.
    drop(shell.screen);
    shell.server.end(news).await;
    code
}

/// The screen, and the sources of its events.
struct Shell {
    screen: Screen,
    state: State,
    server: Server,
    session: Session,
    began: Instant,
    is_over: bool,
}

impl Shell {
    /// Handles events and draws, until the user quits.
    async fn live(
        &mut self,
        keys: &mut mpsc::Receiver<Event>,
        news: &mut mpsc::Receiver<Event>,
        signals: &mut Signals,
    ) -> Result<ExitCode, Failure> {
        let failed = |error: std::io::Error| Failure::other("io", format!("cannot draw: {error}"));
        let (mut is_new, mut next_frame) = (true, Instant::now());
        while !self.is_over {
            if is_new && Instant::now() >= next_frame {
                self.screen.draw(&mut self.state).map_err(failed)?;
                (is_new, next_frame) = (false, Instant::now() + FRAME_INTERVAL);
            }
            let wake = match (is_new, self.state.is_moving()) {
                (true, _) => next_frame,
                (false, true) => next_frame + TICK_INTERVAL,
                (false, false) => next_frame + IDLE_INTERVAL,
            };
            tokio::select! {
                // Keys come first: they are not delayed by many events.
                biased;
                key = keys.recv() => match key {
                    Some(key) => self.take(key)?,
                    // The terminal was closed.
                    None => return Ok(ExitCode::from(failure::HUNG_UP)),
                },
                signal = signals.next() => match signal {
                    signal if signal == SignalKind::interrupt() => self.take(Event::Interrupt)?,
                    signal => {
                        let number = u8::try_from(signal.as_raw_value()).unwrap_or_default();
                        return Ok(ExitCode::from(failure::SIGNALED + number));
                    }
                },
                () = sleep_until(wake), if is_new => continue,
                Some(event) = news.recv() => self.take(event)?,
                () = sleep_until(wake) => self.take(Event::Tick)?,
            }
            is_new = true;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn take(&mut self, event: Event) -> Result<(), Failure> {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            let now_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
            for effect in update::update(&mut self.state, now_ms, event) {
                match effect {
                    Effect::Quit => self.is_over = true,
                    Effect::Reconnect => self.server.retry(),
                    Effect::Redraw => {
                        let cleared = self.screen.clear();
                        cleared.map_err(|error| Failure::other("io", format!("cannot draw: {error}")))?;
                    }
                    Effect::Remember { chat } => {
                        let remembered = self.session.remember_chat(&chat);
                        events.push(Event::Done(
                            Effect::Remember { chat },
                            remembered.map(|()| event::Answer::Done),
                        ));
                    }
                    effect => self.server.request(effect),
                }
            }
        }
        Ok(())
    }
}

/// Signals that end this program.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    fn listen() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| Failure::other("io", format!("cannot listen for signals: {error}")))
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal. May be cancelled at any time.
    async fn next(&mut self) -> SignalKind {
        tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.hang_up.recv() => SignalKind::hangup(),
        }
    }
}

//! The server's side of the screen: its events, with reconnection, and requests.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::event::{Effect, Event, perform};
use super::wire;
use crate::events::Events;
use crate::failure::Failure;
use crate::http::Client;
use crate::limits::{GOODBYE_TIMEOUT, LISTEN_PAUSE, LISTEN_PAUSE_LIMIT, REQUESTS};
use crate::session::Session;

/// The screen's connection to the server.
pub(super) struct Server {
    session: Arc<Session>,
    news: mpsc::Sender<Event>,
    /// Idle connections, kept for the next requests.
    clients: Arc<Mutex<Vec<Client>>>,
    places: Arc<Semaphore>,
    retry: Arc<Notify>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Server {
    /// Starts to listen; events go to `news`.
    pub(super) fn start(session: Session, news: mpsc::Sender<Event>) -> Self {
        let server = Self {
            session: Arc::new(session),
            news,
            clients: Arc::default(),
            places: Arc::new(Semaphore::new(REQUESTS)),
            retry: Arc::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        };
        let (session, news, retry) =
            (Arc::clone(&server.session), server.news.clone(), Arc::clone(&server.retry));
        let listening = server.stop.clone().run_until_cancelled_owned(async move {
            listen(&session, &news, &retry).await;
        });
        server.tasks.spawn(listening);
        server
    }

    /// Sends a request; its result goes to the screen.
    pub(super) fn request(&self, effect: Effect) {
        let (session, news, clients, places) = (
            Arc::clone(&self.session),
            self.news.clone(),
            Arc::clone(&self.clients),
            Arc::clone(&self.places),
        );
        let doing = async move {
            // The semaphore is never closed.
            let _place = places.acquire().await;
            let free = || clients.lock().unwrap_or_else(PoisonError::into_inner);
            let kept = free().pop();
            let done = match kept.map_or_else(|| Client::new(&session), Ok) {
                Ok(mut client) => {
                    let done = perform(&mut client, &effect).await;
                    if done.is_ok() {
                        free().push(client);
                    }
                    done
                }
                Err(failure) => Err(failure),
            };
            // There is no receiver if the screen has ended.
            let _ = news.send(Event::Done(effect, done)).await;
        };
        self.tasks.spawn(self.stop.clone().run_until_cancelled_owned(doing));
    }

    /// Tries to reach the server now.
    pub(super) fn retry(&self) {
        self.retry.notify_one();
    }

    /// Ends the connection; pending requests get a moment to complete.
    pub(super) async fn end(self, mut news: mpsc::Receiver<Event>) {
        self.tasks.close();
        let busy =
            async { while self.places.available_permits() < REQUESTS && news.recv().await.is_some() {} };
        let _ = tokio::time::timeout(GOODBYE_TIMEOUT, busy).await;
        self.stop.cancel();
        drop(news);
        self.tasks.wait().await;
    }
}

/// Passes the server's events on; when they end, tries again after a pause that doubles.
async fn listen(session: &Session, news: &mpsc::Sender<Event>, retry: &Notify) {
    let mut pause = LISTEN_PAUSE;
    let mut stood = None;
    loop {
        let lost = match Events::go_on(session, stood.as_ref()).await {
            Ok((mut events, is_whole)) => {
                pause = LISTEN_PAUSE;
                if news.send(Event::Connected { is_whole }).await.is_err() {
                    return;
                }
                let lost = relay(&mut events, news).await;
                stood = Some(events.stood());
                lost
            }
            Err(failure) => Some(failure),
        };
        let Some(failure) = lost else { return };
        if let Some(farewell) = session.farewell() {
            // There is no receiver if the screen has ended.
            let _ = news.send(Event::Ended(farewell)).await;
            return;
        }
        // Clients that lost their server must not all reconnect at once.
        let wait = pause.mul_f64(0.5 + rand::random::<f64>() / 2.0);
        let retry_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        if news.send(Event::Lost { why: why(failure), retry_ms }).await.is_err() {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = retry.notified() => {}
        }
        pause = (pause * 2).min(LISTEN_PAUSE_LIMIT).max(Duration::from_millis(1));
    }
}

/// Passes events on until they end, and returns the reason; `None` if the screen has ended.
async fn relay(events: &mut Events, news: &mpsc::Sender<Event>) -> Option<Failure> {
    loop {
        match events.next().await {
            Ok(event) => {
                let Some(told) = wire::told(event) else { continue };
                if news.send(Event::Server(told)).await.is_err() {
                    return None;
                }
            }
            Err(failure) => return Some(failure),
        }
    }
}

fn why(failure: Failure) -> String {
    if failure.kind == "unauthorized" {
        return format!(
            "{}; log in again with `sandbridge login` in another terminal, and this one goes on",
            failure.message
        );
    }
    failure.message
}

//! Seeded schedules: a stateful runner, links that break at any frame, and clients that must notice nothing.
//!
//! Each schedule runs in its own runtime on a paused clock, so that it is reproducible. `SANDBRIDGE_SCHEDULES` sets the
//! number of schedules, by default [`SCHEDULES`]; a failure names its seed, and `SANDBRIDGE_SEED` runs only that one.

mod link;
mod machine;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::time::{sleep, timeout};

use super::*;
use link::cut_link;
use machine::{Connection, Machine, byte, channel_of, totals};

/// The number of schedules of an ordinary run.
const SCHEDULES: u64 = 1_000;

/// The number of links of one schedule that break; the link after them does not.
const CUTS: u64 = 12;

/// SplitMix64.
#[derive(Debug, Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A random number from 0 to `below - 1`.
    fn below(&mut self, below: u64) -> u64 {
        self.next() % below
    }

    fn is_one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }

    fn pause(&mut self, below_ms: u64) -> tokio::time::Sleep {
        sleep(Duration::from_millis(self.below(below_ms)))
    }

    fn fork(&mut self) -> Self {
        Self(self.next())
    }
}

/// Names the seed of a schedule that fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("SANDBRIDGE_SEED={}", self.0);
        }
    }
}

#[test]
fn nothing_is_lost_doubled_or_reordered_wherever_links_break() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seeds = match number("SANDBRIDGE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("SANDBRIDGE_SCHEDULES").unwrap_or(SCHEDULES),
    };
    // Each thread takes the next seed; the schedules are independent.
    let next = AtomicU64::new(seeds.start);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let seed = next.fetch_add(1, Ordering::Relaxed)
                    && seed < seeds.end
                {
                    run(seed);
                }
            });
        }
    });
}

fn run(seed: u64) {
    let _seed = Seed(seed);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(schedule(Random(seed)));
}

async fn schedule(mut random: Random) {
    let router = SandboxRouter::new(RouterConfig::default());
    let machine = Arc::new(Mutex::new(Machine::default()));
    let runner = tokio::spawn(run_machine(router.clone(), Arc::clone(&machine), random.fork()));
    let mut clients = Vec::new();
    for number in 0..2 + random.below(3) {
        let client = Client { router: router.clone(), random: random.fork(), number };
        clients.push(tokio::spawn(client.run_exec()));
    }
    for work in 0..3 {
        let client = Client { router: router.clone(), random: random.fork(), number: work };
        clients.push(match work {
            0 => tokio::spawn(client.change()),
            1 => tokio::spawn(client.read(Arc::clone(&machine))),
            _ => tokio::spawn(client.write(Arc::clone(&machine))),
        });
    }
    for client in clients {
        timeout(Duration::from_secs(1_800), client).await.expect("it hangs").unwrap();
    }
    sleep(Duration::from_secs(10)).await;
    machine.lock().unwrap().check();
    router.shutdown().await;
    runner.abort();
}

/// Links one after the other; the first ones break, on either side, after some messages.
async fn run_machine(router: SandboxRouter, machine: Arc<Mutex<Machine>>, mut random: Random) {
    for epoch in 1.. {
        let mut budget = || if epoch > CUTS { u64::MAX } else { random.below(60) };
        let (server_end, runner_end) = cut_link([budget(), budget(), budget(), budget()]);
        let serving = router.clone();
        let served = tokio::spawn(async move { serving.serve_remote(server_end, admit).await });
        if let Some(connection) =
            Connection::open(runner_end, epoch, Arc::clone(&machine), random.fork()).await
        {
            connection.serve().await;
        }
        // Sometimes the runner is back before the server notices.
        if !random.is_one_in(4) {
            let _ended = served.await;
            random.pause(5_000).await;
        }
        machine.lock().unwrap().work_alone(&mut random);
    }
}

struct Client {
    router: SandboxRouter,
    random: Random,
    number: u64,
}

impl Client {
    /// The runner's sandbox, once it is online.
    async fn sandbox(&mut self) -> Sandbox {
        loop {
            match self.router.for_user(&user(), &route_request()).await {
                Ok(sandbox) => return sandbox,
                Err(_) => self.random.pause(500).await,
            }
        }
    }

    async fn run_exec(mut self) {
        let is_cat = self.random.is_one_in(3);
        let length = if self.random.is_one_in(12) {
            300_000 + self.random.below(300_000)
        } else {
            self.random.below(6_000)
        };
        let (seed, code) = (self.random.below(256), self.random.below(100));
        let verb = if is_cat { "cat" } else { "out" };
        let acks = if self.random.is_one_in(3) { AckMode::Manual } else { AckMode::Auto };
        let request = ExecRequest {
            exec_id: ExecId([self.number as u8 + 1; 16]),
            stdin: is_cat,
            acks,
            ..ExecRequest::shell(format!("{verb} {seed} {length} {code}"))
        };
        loop {
            let sandbox = self.sandbox().await;
            let Ok(exec) = sandbox.exec(request.clone()).await else { continue };
            let writing =
                is_cat.then(|| tokio::spawn(feed(exec.control(), seed, length, self.random.fork())));
            let cancels = self.random.is_one_in(6).then(|| exec.control());
            let reading =
                Reading { seed, length, code, offset: 0, starts: 0, exits: 0, is_interrupted: false };
            if self.follow(exec, acks, reading, cancels).await {
                return;
            }
            // The runner was offline and the request was never sent; the input of that attempt is lost with it.
            if let Some(writing) = writing {
                writing.abort();
            }
        }
    }

    /// Reads an exec to its end; `false` if it was never sent.
    async fn follow(
        &mut self,
        mut exec: Exec,
        acks: AckMode,
        mut reading: Reading,
        mut cancels: Option<ExecControl>,
    ) -> bool {
        let is_cancelled = cancels.is_some();
        loop {
            if self.random.is_one_in(4) {
                self.random.pause(200).await;
            }
            if self.random.is_one_in(3)
                && let Some(control) = cancels.take()
            {
                control.cancel();
            }
            let event = exec.next().await.unwrap();
            match &event {
                ExecEvent::Failed(SandboxError::Offline { .. }) if reading.offset == 0 => return false,
                // Cancelled before it was sent, or before it arrived.
                ExecEvent::Failed(error) if is_cancelled && error.kind() == "cancelled" => {
                    assert_eq!((reading.offset, reading.starts), (0, 0));
                    return true;
                }
                ExecEvent::Finished(outcome) => {
                    reading.finish(outcome, is_cancelled);
                    #[expect(clippy::disallowed_methods, reason = "the driver is tested without a ledger")]
                    exec.acknowledge();
                    assert_eq!(exec.next().await, None);
                    return true;
                }
                event => {
                    let drained_bytes = reading.take(event);
                    if acks == AckMode::Manual {
                        exec.consumed(drained_bytes);
                    }
                }
            }
        }
    }

    async fn change(mut self) {
        for number in 0..5 {
            let path = format!("d{number}");
            while let Err(error) = self.sandbox().await.mkdir_all(path.as_bytes(), 0o755).await {
                assert_eq!(error.kind(), "offline", "{error}");
            }
            self.random.pause(2_000).await;
        }
    }

    async fn read(mut self, machine: Arc<Mutex<Machine>>) {
        let content = machine.lock().unwrap().file.clone();
        'again: loop {
            let opened = self.sandbox().await.read_file(b"f", Range { offset: 100, length: None }).await;
            let Ok(mut reader) = opened.map_err(|error| assert_eq!(error.kind(), "offline")) else {
                continue;
            };
            let mut read = Vec::new();
            while let Some(bytes) = reader.next().await {
                match bytes {
                    Ok(bytes) => read.extend_from_slice(&bytes),
                    Err(error) => {
                        assert_eq!(error.kind(), "offline");
                        continue 'again;
                    }
                }
                self.random.pause(300).await;
            }
            assert!(read == content[100..], "{} bytes were read", read.len());
            return;
        }
    }

    async fn write(mut self, machine: Arc<Mutex<Machine>>) {
        for number in 0..3 {
            let path = format!("w{number}").into_bytes();
            let content: Vec<u8> = (0..self.random.below(9_000)).map(|offset| byte(number, offset)).collect();
            loop {
                let writing = async {
                    let mut writer = self.sandbox().await.write_file(&path, WriteOptions::default()).await?;
                    writer.write(&content).await?;
                    writer.finish().await
                };
                match writing.await {
                    Ok(bytes) => {
                        assert_eq!(bytes, content.len() as u64);
                        assert!(machine.lock().unwrap().written[&path] == content);
                        break;
                    }
                    Err(SandboxError::NotWritten { .. } | SandboxError::Offline { .. }) => {
                        assert!(!machine.lock().unwrap().written.contains_key(&path));
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
}

/// Writes standard input in pieces of any size.
async fn feed(control: ExecControl, seed: u64, length: u64, mut random: Random) {
    let input: Vec<u8> = (0..length).map(|offset| byte(seed, offset)).collect();
    let mut rest = &input[..];
    while !rest.is_empty() {
        let piece = rest.len().min(1 + random.below(length / 3 + 1) as usize);
        if control.write_stdin(&rest[..piece]).await.is_err() {
            return;
        }
        rest = &rest[piece..];
        random.pause(100).await;
    }
    control.close_stdin();
}

/// A client's view of an exec.
struct Reading {
    seed: u64,
    length: u64,
    code: u64,
    offset: u64,
    starts: u64,
    exits: u64,
    is_interrupted: bool,
}

impl Reading {
    fn take(&mut self, event: &ExecEvent) -> usize {
        let (channel, bytes) = match event {
            ExecEvent::Stdout(bytes) => (Channel::Stdout, bytes),
            ExecEvent::Stderr(bytes) => (Channel::Stderr, bytes),
            ExecEvent::Started { .. } => {
                self.starts += 1;
                return 0;
            }
            ExecEvent::Exited(_) => {
                self.exits += 1;
                return 0;
            }
            ExecEvent::Interrupted | ExecEvent::Resumed => {
                assert_ne!(self.is_interrupted, *event == ExecEvent::Interrupted);
                self.is_interrupted = !self.is_interrupted;
                return 0;
            }
            other => panic!("{other:?} at {} of {}", self.offset, self.length),
        };
        let expected: Vec<u8> = (self.offset..).take(bytes.len()).map(|at| byte(self.seed, at)).collect();
        assert!(*bytes == expected, "{} wrong bytes at {}", bytes.len(), self.offset);
        let last = self.offset + bytes.len() as u64 - 1;
        for at in [self.offset, last] {
            assert_eq!(channel, channel_of(at, self.length), "at {at}");
        }
        self.offset = last + 1;
        bytes.len()
    }

    fn finish(&self, outcome: &ExecOutcome, may_be_cancelled: bool) {
        assert_eq!((self.starts, self.exits, self.is_interrupted), (1, 1, false));
        assert_eq!((outcome.stdout_bytes, outcome.stderr_bytes), totals(self.offset, self.length));
        assert!(!outcome.truncated);
        if outcome.cancelled {
            assert!(may_be_cancelled);
        } else {
            assert_eq!((outcome.code, self.offset), (Some(self.code as i32), self.length));
        }
    }
}

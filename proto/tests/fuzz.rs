//! The fuzz targets on stable Rust: the corpus is replayed, then mutated for `SANDBRIDGE_FUZZ_SECONDS` each.
//!
//! `SANDBRIDGE_BLESS=1` writes the seeds from the golden frames. A finding is printed in hex: save its bytes (`xxd -r -p`) as a
//! file in `fuzz/corpus/TARGET` to replay it from then on.
#![allow(clippy::unwrap_used, missing_docs, unreachable_pub)]

#[path = "../fuzz/src/lib.rs"]
mod targets;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proto::stdio::envelope;
use targets::{TARGETS, Target};

/// How long each target's corpus is mutated unless `SANDBRIDGE_FUZZ_SECONDS` sets another time.
const DEFAULT_SECONDS: u64 = 2;

/// The largest input a mutation makes, in bytes.
const MAX_INPUT_BYTES: usize = 4096;

const HANDSHAKES: [&str; 6] = [
    r#"{"type":"attach"}"#,
    r#"{"type":"register","user_id":"u","body":{"auth_token":"t","workspace":"/w","shell":"/bin/sh"}}"#,
    r#"{"type":"register","body":{"sandbridge":{"protocol":{"min":1,"max":1},"boot_id":"000102030405060708090a0b0c0d0e0f","os":"linux","arch":"x86_64","hostname":"dev","version":"0.1.0","profile":"workspace","kill_tier":"cgroup","layers":[{"name":"landlock","holds":true}]}}}"#,
    r#"{"type":"register_ok","body":{"status":"ok","sandbridge":{"protocol":1,"runner":"laptop","epoch":12,"nonce":"000102030405060708090a0b0c0d0e0f"}}}"#,
    r#"{"type":"ready","body":{"epoch":12,"nonce":"000102030405060708090a0b0c0d0e0f"}}"#,
    r#"{"type":"error","body":{"reason":"token_unknown","message":"no such token"}}"#,
];

fn corpus(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target)
}

fn inputs(target: &str) -> Vec<Vec<u8>> {
    let files = fs::read_dir(corpus(target)).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| fs::read(path).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

fn golden_frames() -> Vec<Vec<u8>> {
    let lines = include_str!("../fixtures/frames.txt").lines().filter(|line| !line.starts_with("body "));
    lines.map(|line| unhex(line.split_once(": ").unwrap().1)).collect()
}

fn piece(frame: &[u8]) -> Vec<u8> {
    [&u16::try_from(frame.len()).unwrap().to_le_bytes(), frame].concat()
}

/// The initial corpus.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let frames = golden_frames();
    match target {
        "handshake" => HANDSHAKES.iter().map(|text| text.as_bytes().to_vec()).collect(),
        "frame" => {
            let alone = frames.iter().map(|frame| [&[7][..], &piece(frame)].concat());
            let all = frames.iter().fold(vec![7], |all, frame| [all, piece(frame)].concat());
            alone.chain([all]).collect()
        }
        "session" => (1..=8)
            .map(|seed| {
                let mut random = Random(seed);
                (0..seed * 150).map(|_| random.next() as u8).collect()
            })
            .collect(),
        _ => {
            let whole: Vec<u8> =
                frames.iter().flat_map(|frame| [&envelope(frame, false)[..], frame].concat()).collect();
            let text = [&envelope(HANDSHAKES[0].as_bytes(), true)[..], HANDSHAKES[0].as_bytes()].concat();
            let [all, late, cut] = [&whole[..], &whole[20..], &whole[..200]].map(<[u8]>::to_vec);
            [(255, all), (6, late), (0, cut), (3, text)]
                .map(|(size, rest)| [vec![size], rest].concat())
                .into()
        }
    }
}

/// A small generator, so that a run can be repeated from its seed (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next()).unwrap() % bound.max(1)
    }
}

/// Changes an input a little: bits, bytes, numbers at the edge, and parts of another input.
fn mutate(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    const EDGES: [u64; 6] = [0, 1, 0x7f, 0xffff_ffff, 1 << 63, u64::MAX];
    for _ in 0..=random.below(4) {
        let at = random.below(input.len() + 1);
        match random.below(6) {
            0 if at < input.len() => input[at] ^= 1 << random.below(8),
            1 if at < input.len() => input[at] = random.next() as u8,
            2 => {
                let edge = EDGES[random.below(EDGES.len())].to_le_bytes();
                let width = (1 << random.below(4)).min(input.len() - at);
                input[at..at + width].copy_from_slice(&edge[..width]);
            }
            3 => drop(input.drain(at..at + random.below(input.len() - at + 1))),
            4 => input.insert(at, random.next() as u8),
            _ => {
                let from = random.below(other.len());
                let part = &other[from..from + random.below(other.len() - from + 1)];
                input.splice(at..at, part.iter().copied());
            }
        }
    }
    input.truncate(MAX_INPUT_BYTES);
}

/// Runs a target; prints the input if it panics.
fn run(name: &str, target: Target, input: &[u8]) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(input))) {
        eprintln!("target {name} does not survive {}", hex(input));
        resume_unwind(panic);
    }
}

fn fuzz(name: &str) {
    let (_, target) = TARGETS.into_iter().find(|(known, _)| *known == name).unwrap();
    let seconds =
        std::env::var("SANDBRIDGE_FUZZ_SECONDS").ok().map_or(DEFAULT_SECONDS, |text| text.parse().unwrap());
    let corpus = inputs(name);
    let seed = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64 | 1;
    let (mut random, end) = (Random(seed), Instant::now() + Duration::from_secs(seconds));
    let mut runs = 0u64;
    while Instant::now() < end {
        let mut input = corpus[random.below(corpus.len())].clone();
        for _ in 0..64 {
            mutate(&mut input, &corpus[random.below(corpus.len())], &mut random);
            run(name, target, &input);
            runs += 1;
        }
    }
    println!("target {name}: {runs} inputs");
}

#[test]
fn corpus_and_golden_frames_are_survived() {
    for (name, target) in TARGETS {
        let seeds = seeds(name);
        if std::env::var_os("SANDBRIDGE_BLESS").is_some() {
            fs::create_dir_all(corpus(name)).unwrap();
            for seed in &seeds {
                fs::write(corpus(name).join(format!("seed-{:08x}", crc32fast::hash(seed))), seed).unwrap();
            }
        }
        for input in seeds.into_iter().chain(inputs(name)) {
            run(name, target, &input);
        }
    }
}

#[test]
fn mutated_handshakes_are_survived() {
    fuzz("handshake");
}

#[test]
fn mutated_frames_are_survived() {
    fuzz("frame");
}

#[test]
fn mutated_sequences_of_operations_are_survived() {
    fuzz("session");
}

#[test]
fn mutated_byte_streams_are_survived() {
    fuzz("stdio");
}

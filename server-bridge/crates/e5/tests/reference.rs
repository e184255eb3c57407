//! The vectors of 200 texts in five languages, compared with those of the package that the weights come from (`reference.py` writes them).
//!
//! `scripts/test` keeps the weights in the user's cache, pinned by version and hash in `weights.txt`. `SANDBRIDGE_E5_WEIGHTS` names another
//! file.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use e5::limits::DIMENSIONS;
use e5::{E5, Error, Role};

/// The smallest allowed cosine of the two vectors of a text. The weights are the same, but the programs round activations differently.
const ALIKE: f32 = 0.995;

fn weights() -> PathBuf {
    if let Some(file) = std::env::var_os("SANDBRIDGE_E5_WEIGHTS") {
        return file.into();
    }
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"), PathBuf::from);
    let pin = include_str!("../weights.txt").lines().find(|line| !line.starts_with('#')).unwrap();
    let [_package, version, _file, hash] = pin.split(' ').collect::<Vec<_>>()[..] else { panic!("{pin}") };
    cache.join(format!("sandbridge-tests/e5-small-q4-{version}-{}.bin", &hash[..16]))
}

fn load() -> E5 {
    let file = weights();
    E5::load(&file)
        .unwrap_or_else(|error| panic!("{}: {error}; `scripts/test` downloads it once", file.display()))
}

fn cosine(one: &[f32], other: &[f32]) -> f32 {
    let dot = |one: &[f32], other: &[f32]| one.iter().zip(other).map(|(one, other)| one * other).sum::<f32>();
    dot(one, other) / (dot(one, one) * dot(other, other)).sqrt()
}

/// Resident memory of this process, in KiB.
fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn vectors_and_tokens_are_those_of_the_package() {
    let model = load();
    let (mut least, mut sum, mut count) = (1.0f32, 0.0, 0);
    for line in include_str!("reference.tsv").lines() {
        let [role, tokens, text, vector] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let role = if role == "query" { Role::Query } else { Role::Passage };
        let text: String = serde_json::from_str(text).unwrap();
        assert_eq!(model.tokens(role, &text), tokens.parse::<usize>().unwrap(), "{text}");
        let expected = BASE64_STANDARD.decode(vector).unwrap();
        let expected: Vec<f32> = expected.into_iter().map(|byte| f32::from(byte.cast_signed())).collect();
        let found = model.embed(role, &text);
        assert!((cosine(&found, &found) - 1.0).abs() < 1e-5 && found.len() == DIMENSIONS);
        let alike = cosine(&found, &expected);
        assert!(alike >= ALIKE, "{alike} for {text}");
        (least, sum, count) = (least.min(alike), sum + alike, count + 1);
    }
    assert_eq!(count, 200);
    println!("cosine: least {least:.4}, mean {:.5}", sum / 200.0);
}

#[test]
fn odd_texts_have_vectors_and_memory_stays_below_120_mib() {
    let before = resident_kib();
    let model = load();
    for text in ["", " ", "\0", "\u{fffd}", "😀😀", "\u{202e}x", "知", &"word ".repeat(2_000_000)] {
        let vector = model.embed(Role::Passage, text);
        let length: f32 = vector.iter().map(|value| value * value).sum();
        assert!((length - 1.0).abs() < 1e-4, "{length} for {:?}", text.get(..20));
    }
    assert!(resident_kib() - before <= 120 * 1024, "{} KiB more", resident_kib() - before);
}

#[test]
fn a_question_is_nearest_to_its_answer_in_another_language() {
    let model = load();
    let query = model.embed(Role::Query, "怎样合并表格中的单元格？");
    let answers = [
        "To merge cells, select them and choose Table - Merge Cells.",
        "Whales are mammals.",
        "The server listens on a port.",
    ];
    let scores = answers.map(|answer| cosine(&query, &model.embed(Role::Passage, answer)));
    assert!(scores[0] > scores[1] && scores[0] > scores[2], "{scores:?}");
}

#[test]
fn a_file_that_is_absent_cut_off_or_something_else_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("weights.bin");
    assert!(matches!(E5::load(&file), Err(Error::Read(_))));
    let whole = fs::read(weights()).unwrap();
    for length in [0, 3, 40, 1_000, 3_000_000, 4_638_300, whole.len() - 1_000_000] {
        fs::write(&file, &whole[..length]).unwrap();
        assert!(E5::load(&file).is_err(), "{length} bytes");
    }
    // The positions of: dimensions, vocabulary size, offset of a piece, an invalid character, a tensor's name, a scale.
    for at in [8, 50, 80, 4_587_300, 4_638_150, 59_438_849] {
        let mut damaged = whole.clone();
        damaged[at] = if at == 59_438_849 { 0x7C } else { damaged[at] ^ 0x7F };
        damaged[at + 1] ^= 0x7F;
        fs::write(&file, damaged).unwrap();
        assert!(matches!(E5::load(&file), Err(Error::Damaged(_) | Error::Read(_))), "damaged at {at}");
    }
    fs::write(&file, "<html>not found</html>").unwrap();
    assert!(matches!(E5::load(&file), Err(Error::Damaged(_))));
}

//! The web page in a real Chromium, measured by `tests/browser/bench`; the limits are those of a person's perception.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::memory;
use crate::samples::{Row, Samples};

/// The limit from a word of the model to the frame that displays it.
const WORD: Duration = Duration::from_millis(50);
/// The limit on the median time from an empty cache to a chat that accepts input.
const VIEW: Duration = Duration::from_millis(500);
/// The limit from a key press to the frame that displays it, while 50,000 lines arrive.
const KEY: Duration = Duration::from_millis(25);

pub(crate) fn rows() -> Vec<Row> {
    let browser = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("samples.json");
    let status = Command::new("node")
        .args(["node_modules/@playwright/test/cli.js", "test", "--config", "bench.config.ts"])
        .current_dir(browser)
        .env("BINARIES", tests::binaries::directory())
        .env("SAMPLES", &file)
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "the page could not be measured");
    let milliseconds: BTreeMap<String, Vec<f64>> =
        serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let samples = |name: &str| {
        let values = milliseconds[name].iter();
        Samples::new(values.map(|value| Duration::from_secs_f64(value / 1e3)).collect())
    };
    assert!(milliseconds["busy_to_the_end"][0] > 0.0, "the lines ended before the last key was pressed");
    let beside = |mut row: Row, floor: &str, floor_name: &str| {
        let floor = samples(floor).p50().as_secs_f64() * 1e3;
        row.against = format!("{}; {floor_name}: {floor:.0} ms", row.against);
        row
    };
    let heap = |name: &str| (milliseconds[name][0] * 1e6 / 1024.0) as u64;
    vec![
        beside(
            samples("word_screen").row_within("page, from a model's word to the screen", WORD),
            "word_socket",
            "a bare socket",
        ),
        beside(
            samples("view_ready").row_mostly_within("page, from an empty cache to a usable chat", VIEW),
            "view_bare",
            "a bare page",
        ),
        beside(
            samples("key_busy").row_within("page, from a key press to the screen during 50,000 lines", KEY),
            "key_idle",
            "idle",
        ),
        Row {
            against: format!("{:.1} MiB before", heap("heap_before") as f64 / 1024.0),
            ..memory::row("page, heap after 50,000 lines", heap("heap_after"), "")
        },
    ]
}

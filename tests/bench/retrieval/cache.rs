//! Caches the vectors of texts in a file, because embedding the set's 800,000 tokens takes a quarter of an hour.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::path::Path;

use e5::limits::DIMENSIONS;
use e5::{E5, Role};
use search::vectors::Vector;

/// The embedder, and the vectors that it computed in this run and in earlier ones.
pub(super) struct Embeddings {
    model: E5,
    known: HashMap<u64, Vector>,
    file: File,
}

impl Embeddings {
    pub(super) fn open(directory: &Path) -> Self {
        let weights = std::env::var_os("SANDBRIDGE_E5_WEIGHTS").expect("scripts/bench names the weights");
        let model = E5::load(Path::new(&weights)).expect("the weights");
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(directory.join("vectors.bin"))
            .expect("the cache");
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).expect("the cache");
        let (entries, rest) = bytes.as_chunks::<{ 8 + DIMENSIONS }>();
        assert!(rest.is_empty(), "vectors.bin ends within a vector; remove it");
        let known = entries.iter().map(|entry| {
            let (key, vector) = entry.split_first_chunk().expect("eight bytes");
            (u64::from_le_bytes(*key), Vector::stored(vector).expect("a stored vector"))
        });
        Self { model, known: known.collect(), file }
    }

    pub(super) fn passage(&mut self, text: &str) -> Vector {
        self.vector(Role::Passage, text)
    }

    pub(super) fn query(&mut self, text: &str) -> Vector {
        self.vector(Role::Query, text)
    }

    fn vector(&mut self, role: Role, text: &str) -> Vector {
        let mut hasher = DefaultHasher::new();
        (role == Role::Query, text).hash(&mut hasher);
        let key = hasher.finish();
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let vector = Vector::new(&self.model.embed(role, text)).expect("a vector");
        self.file.write_all(&[&key.to_le_bytes()[..], &vector.bytes()].concat()).expect("the cache");
        self.known.insert(key, vector.clone());
        vector
    }
}

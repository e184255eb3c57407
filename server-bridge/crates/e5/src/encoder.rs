//! The encoder: token ids become one vector, by embeddings and twelve layers of attention and feed-forward networks (BERT, Devlin et al. 2018).

use crate::limits::{DIMENSIONS, HEAD_DIMENSIONS, HEADS, INNER_DIMENSIONS, POSITIONS};
use crate::math::{exp, gelu, largest, layer_norm};
use crate::matrix::{Activations, BLOCK, BLOCK_BYTES, Matrix, add_row};

/// The number of blocks of one token's embedding.
pub(crate) const ROW_BLOCKS: usize = DIMENSIONS / BLOCK;

/// The length of a token's row in the attention: its queries, keys and values follow each other.
const ATTENTION_WIDTH: usize = 3 * DIMENSIONS;

/// The number of scores that are computed together: their sums fit into the processor's registers.
const SCORES: usize = 16;

/// The weights of the model.
pub struct Encoder {
    /// A row of blocks for each id.
    pub(crate) words: Vec<[u8; BLOCK_BYTES]>,
    /// A row for each position, to which the embedding of the only token type is added.
    pub(crate) positions: Vec<f32>,
    pub(crate) norm: Norm,
    pub(crate) layers: Vec<Layer>,
}

/// Scale and offset of a layer norm.
pub(crate) struct Norm {
    pub(crate) scale: Vec<f32>,
    pub(crate) offset: Vec<f32>,
}

/// One layer.
pub(crate) struct Layer {
    pub(crate) query: Matrix,
    pub(crate) key: Matrix,
    pub(crate) value: Matrix,
    pub(crate) output: Matrix,
    pub(crate) attention_norm: Norm,
    pub(crate) inner: Matrix,
    pub(crate) outer: Matrix,
    pub(crate) outer_norm: Norm,
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Encoder").finish_non_exhaustive()
    }
}

impl Norm {
    fn apply(&self, rows: &mut [f32]) {
        layer_norm(rows, &self.scale, &self.offset);
    }
}

impl Encoder {
    /// The mean of the last layer's vectors of all tokens. Ids outside the vocabulary and tokens beyond [`POSITIONS`] are ignored.
    #[must_use]
    pub fn mean(&self, ids: &[u32]) -> Vec<f32> {
        let (words, positions) =
            (self.words.as_chunks::<ROW_BLOCKS>().0, self.positions.chunks_exact(DIMENSIONS));
        let mut rows: Vec<f32> = Vec::with_capacity(ids.len().min(POSITIONS) * DIMENSIONS);
        let known = ids.iter().filter_map(|&id| words.get(usize::try_from(id).ok()?));
        for (word, position) in known.zip(positions) {
            let start = rows.len();
            rows.extend_from_slice(position);
            add_row(word, &mut rows[start..]);
        }
        self.norm.apply(&mut rows);
        let mut buffers = Buffers::new(rows.len() / DIMENSIONS);
        for layer in &self.layers {
            layer.apply(&mut rows, &mut buffers);
        }
        let mut mean = vec![0.0f32; DIMENSIONS];
        for row in rows.chunks_exact(DIMENSIONS) {
            for (sum, value) in mean.iter_mut().zip(row) {
                *sum += value;
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "at most 512 tokens")]
        let count = (rows.len() / DIMENSIONS).max(1) as f32;
        mean.iter_mut().for_each(|sum| *sum /= count);
        mean
    }
}

/// Buffers that all layers share.
struct Buffers {
    /// Queries, keys and values.
    attention: Vec<f32>,
    /// The output of the attention heads, then that of the feed-forward network.
    mixed: Vec<f32>,
    inner: Vec<f32>,
    /// The keys of one head, transposed: for each dimension a row of tokens.
    keys: Vec<f32>,
    /// The scores of one token, a multiple of [`SCORES`] long.
    scores: Vec<f32>,
}

impl Buffers {
    fn new(tokens: usize) -> Self {
        let padded = tokens.next_multiple_of(SCORES);
        Self {
            attention: vec![0.0; tokens * ATTENTION_WIDTH],
            mixed: vec![0.0; tokens * DIMENSIONS],
            inner: vec![0.0; tokens * INNER_DIMENSIONS],
            keys: vec![0.0; padded * HEAD_DIMENSIONS],
            scores: vec![0.0; padded],
        }
    }
}

impl Layer {
    fn apply(&self, rows: &mut [f32], buffers: &mut Buffers) {
        let activations = Activations::new(rows, DIMENSIONS);
        for (at, matrix) in [&self.query, &self.key, &self.value].into_iter().enumerate() {
            matrix.multiply(&activations, &mut buffers.attention, ATTENTION_WIDTH, at * DIMENSIONS);
        }
        for head in 0..HEADS {
            attend(head, buffers);
        }
        let activations = Activations::new(&buffers.mixed, DIMENSIONS);
        self.output.multiply(&activations, &mut buffers.mixed, DIMENSIONS, 0);
        add(rows, &buffers.mixed);
        self.attention_norm.apply(rows);

        self.inner.multiply(&Activations::new(rows, DIMENSIONS), &mut buffers.inner, INNER_DIMENSIONS, 0);
        for value in &mut buffers.inner {
            *value = gelu(*value);
        }
        let activations = Activations::new(&buffers.inner, INNER_DIMENSIONS);
        self.outer.multiply(&activations, &mut buffers.mixed, DIMENSIONS, 0);
        add(rows, &buffers.mixed);
        self.outer_norm.apply(rows);
    }
}

/// One head's attention of every token to every token.
fn attend(head: usize, buffers: &mut Buffers) {
    let Buffers { attention, mixed, keys, scores, .. } = buffers;
    let tokens = attention.len() / ATTENTION_WIDTH;
    let at = head * HEAD_DIMENSIONS;
    let part = |row: usize, kind: usize| {
        let start = row * ATTENTION_WIDTH + kind * DIMENSIONS + at;
        attention[start..].first_chunk::<HEAD_DIMENSIONS>().expect("the last head ends with its row")
    };
    // The keys in columns of `SCORES` tokens with all dimensions, so that memory is read in order.
    for token in 0..tokens {
        let column = &mut keys[token / SCORES * SCORES * HEAD_DIMENSIONS..];
        for (dimension, value) in part(token, 1).iter().enumerate() {
            column[dimension * SCORES + token % SCORES] = *value;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "32")]
    let scale = 1.0 / (HEAD_DIMENSIONS as f32).sqrt();
    for token in 0..tokens {
        let query = part(token, 0).map(|value| value * scale);
        let columns = keys.chunks_exact(SCORES * HEAD_DIMENSIONS);
        for (column, scores) in columns.zip(scores.as_chunks_mut::<SCORES>().0) {
            let mut sums = [0.0f32; SCORES];
            for (value, keys) in query.iter().zip(column.as_chunks::<SCORES>().0) {
                for lane in 0..SCORES {
                    sums[lane] += value * keys[lane];
                }
            }
            *scores = sums;
        }
        scores[tokens..].fill(f32::MIN);
        let largest = largest(scores, |score| score);
        for score in scores.iter_mut() {
            *score = exp(*score - largest);
        }
        let (mut sums, mut total) = ([0.0f32; HEAD_DIMENSIONS], 0.0f32);
        for (other, score) in scores[..tokens].iter().enumerate() {
            total += score;
            let values = part(other, 2);
            for lane in 0..HEAD_DIMENSIONS {
                sums[lane] += score * values[lane];
            }
        }
        let row = &mut mixed[token * DIMENSIONS + at..][..HEAD_DIMENSIONS];
        for (out, sum) in row.iter_mut().zip(sums) {
            *out = sum / total;
        }
    }
}

fn add(rows: &mut [f32], others: &[f32]) {
    for (row, other) in rows.iter_mut().zip(others) {
        *row += other;
    }
}

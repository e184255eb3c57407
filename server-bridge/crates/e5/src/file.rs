//! The file format of the weights: a header with the dimensions, the vocabulary and the table of characters, then named tensors.
//!
//! All numbers are little-endian. Tensors have 32-bit floats (type 0), or blocks of 32 weights of 4 bits (type 1).

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use crate::Error;
use crate::encoder::{Encoder, Layer, Norm};
use crate::limits::{
    DIMENSIONS, HEADS, INNER_DIMENSIONS, LAYERS, NORMALIZATION_BYTES, PIECE_BYTES, PIECES, POSITIONS, TENSORS,
};
use crate::matrix::{BLOCK, BLOCK_BYTES, Matrix, scale};
use crate::tokenizer::{END, START, Tokenizer, UNKNOWN};

const MAGIC: &[u8; 4] = b"E5S1";
const VERSION: u32 = 1;

/// The number of token types in the file; only the first one is used.
const TYPES: usize = 2;

/// The position of a tensor in the file.
struct Place {
    /// True for blocks of 4 bits.
    is_packed: bool,
    /// The number of the tensor's values.
    count: usize,
    /// The offset of the tensor's first byte in the file.
    offset: u64,
    /// The size of the tensor's values in the file, in bytes.
    length: u64,
}

struct Weights<R> {
    input: R,
    places: HashMap<String, Place>,
}

/// Reads a file of weights.
pub(crate) fn read(path: &Path) -> Result<(Tokenizer, Encoder), Error> {
    parse(BufReader::with_capacity(1 << 16, File::open(path)?))
}

fn parse(mut input: impl Read + Seek) -> Result<(Tokenizer, Encoder), Error> {
    let head: [u32; 11] = {
        let magic: [u8; 4] = array(&mut input)?;
        if magic != *MAGIC {
            return Err(Error::Damaged("the file has a different format"));
        }
        numbers(&mut input)?
    };
    let [version, dimensions, layers, heads, inner, words, positions, types, _epsilon, block, pieces] = head;
    let found = [dimensions, layers, heads, inner, positions, types, block].map(|number| number as usize);
    let expected = [DIMENSIONS, LAYERS, HEADS, INNER_DIMENSIONS, POSITIONS, TYPES, BLOCK];
    let (words, pieces) = (words as usize, pieces as usize);
    if version != VERSION || found != expected || pieces > PIECES || !(pieces..=PIECES).contains(&words) {
        return Err(Error::Damaged("the file is for a different version or model"));
    }
    let tokenizer = vocabulary(&mut input, pieces)?;
    let places = directory(&mut input)?;
    let mut weights = Weights { input, places };
    let mut layers = Vec::with_capacity(LAYERS);
    for layer in 0..LAYERS {
        layers.push(weights.layer(layer)?);
    }
    let mut positions = weights.floats("emb.pos", POSITIONS * DIMENSIONS)?;
    let kind = weights.floats("emb.type", TYPES * DIMENSIONS)?;
    for row in positions.chunks_exact_mut(DIMENSIONS) {
        row.iter_mut().zip(&kind).for_each(|(position, kind)| *position += kind);
    }
    let words = weights.blocks("emb.word", words * DIMENSIONS)?;
    if !words.iter().all(|block| scale(block).is_finite()) {
        return Err(Error::Damaged("a scale is not a number"));
    }
    Ok((tokenizer, Encoder { words, positions, norm: weights.norm("emb.ln")?, layers }))
}

fn vocabulary(input: &mut impl Read, pieces: usize) -> Result<Tokenizer, Error> {
    let [start, end, _padding, unknown, bytes, more_bytes] = numbers(input)?;
    if [start, end, unknown] != [START, END, UNKNOWN] || more_bytes != 0 || bytes as usize > PIECE_BYTES {
        return Err(Error::Damaged("the vocabulary is that of a different model"));
    }
    let starts = vec_of(input, pieces + 1, u32::from_le_bytes)?;
    let scores = vec_of(input, pieces, f32::from_le_bytes)?;
    let bytes = bytes_of(input, bytes as usize)?;
    let [count, length] = numbers(input)?;
    if length as usize > NORMALIZATION_BYTES {
        return Err(Error::Damaged("the table of characters is too long"));
    }
    let table = bytes_of(input, length as usize)?;
    let replacements =
        replacements(&table, count).ok_or(Error::Damaged("the table of characters is invalid"))?;
    Tokenizer::new(bytes, starts, scores, replacements).ok_or(Error::Damaged("the vocabulary is invalid"))
}

/// The table of characters: each entry has a character, a count in one byte, and as many characters that replace it.
fn replacements(mut table: &[u8], count: u32) -> Option<HashMap<char, Box<str>>> {
    let mut replacements = HashMap::new();
    let character = |table: &mut &[u8]| {
        let (bytes, rest) = table.split_first_chunk()?;
        *table = rest;
        char::from_u32(u32::from_le_bytes(*bytes))
    };
    for _ in 0..count {
        let from = character(&mut table)?;
        let (&length, rest) = table.split_first()?;
        table = rest;
        let to: Option<String> = (0..length).map(|_| character(&mut table)).collect();
        replacements.insert(from, to?.into());
    }
    table.is_empty().then_some(replacements)
}

fn directory(input: &mut impl Read) -> Result<HashMap<String, Place>, Error> {
    let [count] = numbers(input)?;
    if count as usize > TENSORS {
        return Err(Error::Damaged("there are too many tensors"));
    }
    let mut places = HashMap::new();
    for _ in 0..count {
        let length = u16::from_le_bytes(array(input)?);
        let name = String::from_utf8(bytes_of(input, length.into())?)
            .map_err(|_| Error::Damaged("a tensor's name is invalid"))?;
        let [kind] = array(input)?;
        let [count] = numbers(input)?;
        let (offset, length) = (u64::from_le_bytes(array(input)?), u64::from_le_bytes(array(input)?));
        places.insert(name, Place { is_packed: kind == 1, count: count as usize, offset, length });
    }
    Ok(places)
}

impl<R: Read + Seek> Weights<R> {
    fn layer(&mut self, layer: usize) -> Result<Layer, Error> {
        let mut matrix = |name: &str, outputs: usize, inputs: usize| {
            let blocks = self.blocks(&format!("l{layer}.{name}.w"), outputs * inputs)?;
            let bias = self.floats(&format!("l{layer}.{name}.b"), outputs)?;
            Matrix::new(blocks.as_flattened(), bias, inputs).ok_or(Error::Damaged("a matrix is invalid"))
        };
        Ok(Layer {
            query: matrix("q", DIMENSIONS, DIMENSIONS)?,
            key: matrix("k", DIMENSIONS, DIMENSIONS)?,
            value: matrix("v", DIMENSIONS, DIMENSIONS)?,
            output: matrix("ao", DIMENSIONS, DIMENSIONS)?,
            inner: matrix("fi", INNER_DIMENSIONS, DIMENSIONS)?,
            outer: matrix("fo", DIMENSIONS, INNER_DIMENSIONS)?,
            attention_norm: self.norm(&format!("l{layer}.aln"))?,
            outer_norm: self.norm(&format!("l{layer}.oln"))?,
        })
    }

    fn norm(&mut self, name: &str) -> Result<Norm, Error> {
        let scale = self.floats(&format!("{name}.w"), DIMENSIONS)?;
        Ok(Norm { scale, offset: self.floats(&format!("{name}.b"), DIMENSIONS)? })
    }

    fn floats(&mut self, name: &str, count: usize) -> Result<Vec<f32>, Error> {
        self.seek(name, count, false, count * size_of::<f32>())?;
        let floats = vec_of(&mut self.input, count, f32::from_le_bytes)?;
        if floats.iter().all(|float| float.is_finite()) {
            Ok(floats)
        } else {
            Err(Error::Damaged("a weight is not a number"))
        }
    }

    fn blocks(&mut self, name: &str, count: usize) -> Result<Vec<[u8; BLOCK_BYTES]>, Error> {
        let length = count / BLOCK * BLOCK_BYTES;
        self.seek(name, count, true, length)?;
        let mut blocks = vec![[0; BLOCK_BYTES]; count / BLOCK];
        self.input.read_exact(blocks.as_flattened_mut())?;
        Ok(blocks)
    }

    fn seek(&mut self, name: &str, count: usize, is_packed: bool, length: usize) -> Result<(), Error> {
        let place = self.places.get(name).ok_or(Error::Damaged("a tensor is missing"))?;
        if (place.count, place.is_packed, place.length) != (count, is_packed, length as u64) {
            return Err(Error::Damaged("a tensor has the wrong size"));
        }
        self.input.seek(SeekFrom::Start(place.offset))?;
        Ok(())
    }
}

fn array<const N: usize>(input: &mut impl Read) -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn numbers<const N: usize>(input: &mut impl Read) -> Result<[u32; N], Error> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = u32::from_le_bytes(array(input)?);
    }
    Ok(numbers)
}

fn bytes_of(input: &mut impl Read, length: usize) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; length];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn vec_of<T>(input: &mut impl Read, count: usize, of: impl Fn([u8; 4]) -> T) -> Result<Vec<T>, Error> {
    let bytes = bytes_of(input, count * 4)?;
    Ok(bytes.as_chunks::<4>().0.iter().map(|bytes| of(*bytes)).collect())
}

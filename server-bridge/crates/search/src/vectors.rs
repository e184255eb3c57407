//! Vectors of eight-bit numbers, and an exact search that compares a query with each of them.
//!
//! A vector is stored as one signed byte per dimension, in units of its largest number divided by 127. The scale that gives it the length 1
//! follows from the bytes. The dot product of two vectors is their cosine, with an error of about 0.001 for 384 dimensions. Comparing a
//! query with up to a million vectors takes milliseconds and always finds the nearest ones, which an index does not guarantee.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::limits::DIMENSIONS;

/// The largest stored number.
const LARGEST: f32 = 127.0;

/// The number of bytes of a vector that are multiplied at once.
const BLOCK: usize = 32;

/// The reason why numbers do not form a vector, or vectors cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// One of the numbers is infinite or not a number.
    #[error("the vector contains a value that is not a finite number")]
    NoNumber,
    /// All numbers are 0, so the vector has no direction.
    #[error("the vector is zero")]
    Zero,
    /// The vector has another number of dimensions than the vectors it is compared with.
    #[error("the vector has {found} dimensions instead of {expected}")]
    Dimension {
        /// The expected number of dimensions.
        expected: usize,
        /// The actual number of dimensions.
        found: usize,
    },
    /// No numbers, or more than [`DIMENSIONS`].
    #[error("a vector cannot have {0} dimensions")]
    Size(usize),
}

/// A vector of length 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    bytes: Box<[i8]>,
    /// The factor that turns a byte into a number of the vector.
    scale: f32,
}

/// The vectors of one model, each with a key.
#[derive(Clone, Debug)]
pub struct Vectors<K> {
    dimensions: usize,
    keys: Vec<K>,
    bytes: Vec<i8>,
    scales: Vec<f32>,
}

/// A vector that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit<K> {
    /// The vector's key.
    pub key: K,
    /// The cosine to the query: from -1 to 1.
    pub score: f32,
}

impl Vector {
    /// A vector in the direction of an embedder's numbers, which may have any length above 0.
    ///
    /// # Errors
    /// [`Error::Size`], [`Error::NoNumber`] or [`Error::Zero`].
    pub fn new(numbers: &[f32]) -> Result<Self, Error> {
        if numbers.is_empty() || numbers.len() > DIMENSIONS {
            return Err(Error::Size(numbers.len()));
        }
        if !numbers.iter().all(|number| number.is_finite()) {
            return Err(Error::NoNumber);
        }
        let largest = numbers.iter().fold(0.0f32, |largest, number| largest.max(number.abs()));
        if largest == 0.0 {
            return Err(Error::Zero);
        }
        // The numbers are first divided by the largest one, since their squares may exceed the type's range.
        #[expect(clippy::cast_possible_truncation, reason = "from -127 to 127")]
        let bytes: Box<[i8]> =
            numbers.iter().map(|number| (number / largest * LARGEST).round() as i8).collect();
        let scale = scale(&bytes);
        Ok(Self { bytes, scale })
    }

    /// A vector from stored bytes, as [`Self::bytes`] returned them.
    ///
    /// # Errors
    /// [`Error::Size`], or [`Error::Zero`] if all are 0.
    pub fn stored(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.is_empty() || bytes.len() > DIMENSIONS {
            return Err(Error::Size(bytes.len()));
        }
        let bytes: Box<[i8]> = bytes.iter().map(|byte| byte.cast_signed()).collect();
        if bytes.iter().all(|byte| *byte == 0) {
            return Err(Error::Zero);
        }
        let scale = scale(&bytes);
        Ok(Self { bytes, scale })
    }

    /// The bytes to store, one per dimension; the scale follows from them.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.bytes.iter().map(|byte| byte.cast_unsigned()).collect()
    }

    /// The number of dimensions.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.bytes.len()
    }

    /// The cosine of the angle between two vectors, from -1 to 1; 1 means the same direction.
    ///
    /// # Errors
    /// [`Error::Dimension`].
    pub fn cosine(&self, other: &Self) -> Result<f32, Error> {
        fits(self.dimensions(), other)?;
        Ok(product(&self.bytes, &other.bytes) * self.scale * other.scale)
    }
}

impl<K> Vectors<K> {
    /// An empty collection of vectors with this number of dimensions.
    #[must_use]
    pub fn new(dimensions: usize) -> Self {
        Self { dimensions, keys: Vec::new(), bytes: Vec::new(), scales: Vec::new() }
    }

    /// Adds a vector.
    ///
    /// # Errors
    /// [`Error::Dimension`].
    pub fn push(&mut self, key: K, vector: &Vector) -> Result<(), Error> {
        fits(self.dimensions, vector)?;
        self.keys.push(key);
        self.bytes.extend_from_slice(&vector.bytes);
        self.scales.push(vector.scale);
        Ok(())
    }

    /// Keeps only the vectors whose key is wanted, in their order.
    pub fn retain(&mut self, wanted: impl Fn(&K) -> bool) {
        let mut kept = 0;
        for at in 0..self.keys.len() {
            if !wanted(&self.keys[at]) {
                continue;
            }
            if kept < at {
                self.keys.swap(kept, at);
                self.scales.swap(kept, at);
                let from = at * self.dimensions;
                self.bytes.copy_within(from..from + self.dimensions, kept * self.dimensions);
            }
            kept += 1;
        }
        self.keys.truncate(kept);
        self.scales.truncate(kept);
        self.bytes.truncate(kept * self.dimensions);
    }

    /// The keys of the vectors, in the order in which they were added.
    #[must_use]
    pub fn keys(&self) -> &[K] {
        &self.keys
    }

    /// The memory that the vectors take, in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.bytes.len() + self.keys.len() * (size_of::<K>() + size_of::<f32>())
    }

    /// The number of vectors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// True if there are no vectors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

impl<K: Clone> Vectors<K> {
    /// The `count` vectors nearest to the query, nearest first, among those whose key is wanted; of equal ones, the first added.
    ///
    /// # Errors
    /// [`Error::Dimension`].
    pub fn nearest(
        &self,
        query: &Vector,
        count: usize,
        wanted: impl Fn(&K) -> bool,
    ) -> Result<Vec<Hit<K>>, Error> {
        fits(self.dimensions, query)?;
        let mut best = BinaryHeap::with_capacity(count.min(self.len()) + 1);
        let vectors = self.bytes.chunks_exact(self.dimensions.max(1)).zip(&self.scales);
        for (at, (bytes, scale)) in vectors.enumerate() {
            if !wanted(&self.keys[at]) {
                continue;
            }
            let place = Place { score: product(bytes, &query.bytes) * scale, at };
            if best.len() < count {
                best.push(place);
            } else if best.peek().is_some_and(|worst| place < *worst) {
                best.pop();
                best.push(place);
            }
        }
        let hits = best.into_sorted_vec().into_iter();
        Ok(hits
            .map(|place| Hit { key: self.keys[place.at].clone(), score: place.score * query.scale })
            .collect())
    }
}

/// The order of vectors in a ranking: the better of two is the lesser.
#[derive(Clone, Copy, PartialEq)]
struct Place {
    score: f32,
    at: usize,
}

impl Eq for Place {}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.at.cmp(&other.at))
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn fits(expected: usize, vector: &Vector) -> Result<(), Error> {
    let found = vector.dimensions();
    if found == expected { Ok(()) } else { Err(Error::Dimension { expected, found }) }
}

/// The factor that gives the vector of these bytes the length 1.
fn scale(bytes: &[i8]) -> f32 {
    1.0 / product(bytes, bytes).sqrt()
}

/// The sum of products: at most 2^14 each, so that [`DIMENSIONS`] of them stay within 32 bits. Computed in blocks, since one long loop
/// reaches only a third of the speed.
fn product(one: &[i8], other: &[i8]) -> f32 {
    let sum = |one: &[i8], other: &[i8]| -> i32 {
        one.iter().zip(other).map(|(one, other)| i32::from(*one) * i32::from(*other)).sum()
    };
    let ((one, rest), (other, other_rest)) = (one.as_chunks::<BLOCK>(), other.as_chunks::<BLOCK>());
    let blocks: i32 = one.iter().zip(other).map(|(one, other)| sum(one, other)).sum();
    #[expect(clippy::cast_precision_loss, reason = "24 bits are more than the bytes had")]
    let sum = (blocks + sum(rest, other_rest)) as f32;
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vector(numbers: &[f32]) -> Vector {
        Vector::new(numbers).unwrap()
    }

    proptest! {
        #[test]
        fn a_cosine_is_nearly_that_of_the_numbers(
            one in prop::collection::vec(-1.0f32..1.0, 64),
            other in prop::collection::vec(-1.0f32..1.0, 64),
            size in -30i32..30,
        ) {
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            let exact = dot(&one, &other) / (dot(&one, &one) * dot(&other, &other)).sqrt();
            let sized: Vec<f32> = one.iter().map(|number| number * 10f32.powi(size)).collect();
            let found = vector(&sized).cosine(&vector(&other)).unwrap();
            prop_assert!((found - exact).abs() < 0.01, "{found} is not {exact}");
        }

        #[test]
        fn the_nearest_are_those_of_a_full_sort(
            numbers in prop::collection::vec(prop::collection::vec(-9i8..9, 4), 1..60),
            count in 0usize..20,
        ) {
            let mut vectors = Vectors::new(4);
            let mut all = Vec::new();
            let query = vector(&[1.0, 2.0, -1.0, 0.5]);
            for (key, numbers) in numbers.iter().enumerate() {
                let Ok(one) = Vector::new(&numbers.iter().map(|number| f32::from(*number)).collect::<Vec<_>>()) else { continue };
                vectors.push(key, &one).unwrap();
                if key % 3 != 0 {
                    all.push((key, query.cosine(&one).unwrap()));
                }
            }
            all.sort_by(|one, other| other.1.total_cmp(&one.1));
            let found = vectors.nearest(&query, count, |key| key % 3 != 0).unwrap();
            prop_assert_eq!(found.len(), count.min(all.len()));
            for (hit, (_, score)) in found.iter().zip(&all) {
                prop_assert!((hit.score - score).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn those_that_are_kept_are_found_as_before() {
        let of = |at: i16| vector(&[f32::from(at), 10.0, f32::from(-at)]);
        let mut vectors = Vectors::new(3);
        let mut odd = Vectors::new(3);
        for key in 0..50 {
            vectors.push(key, &of(key)).unwrap();
            if key % 2 == 1 {
                odd.push(key, &of(key)).unwrap();
            }
        }
        vectors.retain(|key| key % 2 == 1);
        assert_eq!((vectors.keys(), vectors.size_bytes()), (odd.keys(), odd.size_bytes()));
        let query = of(7);
        assert_eq!(vectors.nearest(&query, 9, |_| true), odd.nearest(&query, 9, |_| true));
        vectors.retain(|_| false);
        assert!(vectors.is_empty() && vectors.size_bytes() == 0);
    }

    #[test]
    fn a_stored_vector_is_the_same() {
        let numbers: Vec<f32> = (0..384i16).map(|at| f32::from(at * 37 % 101) - 50.0).collect();
        let one = vector(&numbers);
        assert_eq!(Vector::stored(&one.bytes()).unwrap(), one);
        assert!((one.cosine(&one).unwrap() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn what_is_no_vector_is_refused() {
        assert_eq!(Vector::new(&[]), Err(Error::Size(0)));
        assert_eq!(Vector::new(&vec![1.0; DIMENSIONS + 1]), Err(Error::Size(DIMENSIONS + 1)));
        assert_eq!(Vector::new(&[0.0, -0.0]), Err(Error::Zero));
        for number in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(Vector::new(&[1.0, number]), Err(Error::NoNumber));
        }
        assert_eq!(Vector::stored(&[0; 4]), Err(Error::Zero));
        assert_eq!(Vector::stored(&[]), Err(Error::Size(0)));
        let wrong = Error::Dimension { expected: 2, found: 3 };
        let mut vectors = Vectors::new(2);
        assert_eq!(vectors.push((), &vector(&[1.0; 3])), Err(wrong));
        assert_eq!(vectors.nearest(&vector(&[1.0; 3]), 1, |()| true), Err(wrong));
        assert_eq!(vector(&[1.0; 2]).cosine(&vector(&[1.0; 3])), Err(wrong));
        // The smallest and the largest numbers of the type.
        assert!(
            Vector::new(&[f32::MIN_POSITIVE / 1e6, 0.0]).is_ok()
                && Vector::new(&[f32::MAX, f32::MAX]).is_ok()
        );
    }
}

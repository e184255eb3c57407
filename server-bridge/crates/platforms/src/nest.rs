//! Converts styled texts to nested marks, where an inner mark closes before the outer one.

use crate::styled::{Piece, Styled};

/// One step of walking through a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step<'a, K> {
    /// A mark opens.
    Open(K),
    /// A text inside the marks that are open.
    Text(&'a Piece),
    /// A mark closes.
    Close(K),
}

/// Walks through a text. `kinds` returns the marks of a piece, the outermost first; a mark that two neighbours share stays open as long as
/// the marks outside it stay open.
pub(crate) fn walk<'a, K: Clone + PartialEq>(
    part: &'a Styled,
    kinds: impl Fn(&Piece) -> Vec<K>,
    mut take: impl FnMut(Step<'a, K>),
) {
    let mut open: Vec<K> = Vec::new();
    for piece in &part.pieces {
        let wanted = kinds(piece);
        let stay = open.iter().zip(&wanted).take_while(|(open, wanted)| open == wanted).count();
        open.drain(stay..).rev().for_each(|kind| take(Step::Close(kind)));
        for kind in wanted.into_iter().skip(stay) {
            take(Step::Open(kind.clone()));
            open.push(kind);
        }
        take(Step::Text(piece));
    }
    open.into_iter().rev().for_each(|kind| take(Step::Close(kind)));
}

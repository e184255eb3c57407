//! Brace expansion: `{a,b}c` becomes `ac bc`. Ranges are not expanded, because they do not spell commands.

use super::Word;

/// The words to which a shell expands a word, at most `most` of them; also returns true if there are more.
pub(super) fn expand(word: &Word, most: usize) -> (Vec<String>, bool) {
    let mut done = Vec::new();
    let mut to_do = vec![word.letters.clone()];
    while let Some(letters) = to_do.pop() {
        if done.len() + to_do.len() >= most {
            return (done, true);
        }
        match split(&letters) {
            // In reverse order, because the last entry is taken first.
            Some(alternatives) => to_do.extend(alternatives.into_iter().rev()),
            None => done.push(letters.iter().map(|(c, _)| *c).collect::<String>()),
        }
    }
    done.retain(|text| !text.is_empty());
    (done, false)
}

/// The alternatives of the first braces that have alternatives.
fn split(letters: &[(char, bool)]) -> Option<Vec<Vec<(char, bool)>>> {
    for (begin, _) in letters.iter().enumerate().filter(|(_, letter)| **letter == ('{', false)) {
        let (mut depth, mut cuts, mut end) = (0, vec![begin], None);
        for (at, letter) in letters.iter().enumerate().skip(begin + 1) {
            match letter {
                ('{', false) => depth += 1,
                ('}', false) if depth > 0 => depth -= 1,
                ('}', false) => {
                    end = Some(at);
                    break;
                }
                (',', false) if depth == 0 => cuts.push(at),
                _ => {}
            }
        }
        let Some(end) = end.filter(|_| cuts.len() > 1) else { continue };
        cuts.push(end);
        let part = |pair: &[usize]| {
            let inside = &letters[pair[0] + 1..pair[1]];
            [&letters[..begin], inside, &letters[end + 1..]].concat()
        };
        return Some(cuts.windows(2).map(part).collect());
    }
    None
}

//! Versions of the program: comparing two of them.

/// True if version `one` is newer than `other`, compared as three numbers, such as 0.10.0 and 0.9.1. A text that is
/// something else is never newer, and nothing is newer than it.
pub fn is_newer(one: &str, other: &str) -> bool {
    matches!((numbers(one), numbers(other)), (Some(one), Some(other)) if one > other)
}

/// True if a text is a version: three numbers.
pub fn is_version(text: &str) -> bool {
    numbers(text).is_some()
}

fn numbers(version: &str) -> Option<[u64; 3]> {
    let number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())?;
    version.split('.').map(number).collect::<Option<Vec<u64>>>()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        for (one, other) in
            [("0.1.0", "0.0.9"), ("0.10.0", "0.9.9"), ("1.0.0", "0.99.99"), ("0.1.10", "0.1.9")]
        {
            assert!(is_newer(one, other) && !is_newer(other, one), "{one} {other}");
        }
        assert!(is_version("0.1.0") && !is_newer("0.1.0", "0.1.0"));
    }

    #[test]
    fn what_is_no_version_is_neither_newer_nor_older() {
        let endless = format!("{}.0.0", u128::MAX);
        for text in [
            "",
            "1",
            "1.2",
            "1.2.3.4",
            "1.2.x",
            "v1.2.3",
            "1.2.3-rc1",
            "-1.0.0",
            "+9.0.0",
            " 9.0.0",
            "9..0",
            &endless,
        ] {
            assert!(!is_version(text) && !is_newer(text, "0.1.0") && !is_newer("9.9.9", text), "{text}");
        }
    }
}

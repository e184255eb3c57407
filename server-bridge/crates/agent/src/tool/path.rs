//! Paths as a model writes them. Nothing is guarded here: the runner resolves every path beneath its workspace.

use super::Failure;

/// Where `path` leads from `cwd`; both are relative to the workspace, unless they are absolute. `..` is taken out by name, since
/// the runner refuses what leads out of the workspace anyway.
pub fn join(cwd: &str, path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let joined = if is_absolute { path.to_owned() } else { format!("{cwd}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match (part, parts.last()) {
            ("..", Some(last)) if *last != ".." => drop(parts.pop()),
            // Beyond the workspace: let the runner say so.
            _ => parts.push(part),
        }
    }
    let text = parts.join("/");
    match (is_absolute || cwd.starts_with('/'), text.is_empty()) {
        (true, _) => format!("/{text}"),
        (false, true) => ".".to_owned(),
        (false, false) => text,
    }
}

/// Refuses a path that can be read as another one: looked at as the model wrote it, before `..` takes a part of it away.
///
/// Fails with the character that does it.
pub fn readable(path: &str) -> Result<(), Failure> {
    let Some(found) = sandbox::control_character(path.as_bytes()) else { return Ok(()) };
    Err(Failure::Told(format!(
        "the path holds the control character U+{:04X}, which could make it look like another path: use a path without it",
        u32::from(found)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_refused_for_what_the_model_wrote_and_not_for_what_is_left_of_it() {
        for path in ["docs/guide.md\n/../../Makefile", "a\u{202e}/../b", "\u{1b}[2K/../b", "a\r", "a\tb"] {
            assert!(readable(path).unwrap_err().to_string().contains("control character U+"), "{path:?}");
        }
        assert!(readable("a b/../é").is_ok());
    }

    #[test]
    fn paths_begin_where_the_chat_is() {
        for (cwd, path, expected) in [
            ("", "a", "a"),
            ("", ".", "."),
            ("src", "a/./b//c", "src/a/b/c"),
            ("src", "..", "."),
            ("src/x", "../y", "src/y"),
            ("src", "../../etc", "../etc"),
            ("src", "/etc/passwd", "/etc/passwd"),
            ("/work/x", "../y", "/work/y"),
            ("", "", "."),
        ] {
            assert_eq!(join(cwd, path), expected, "{cwd:?} {path:?}");
        }
    }
}

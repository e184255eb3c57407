//! The names by which models call the tools of servers: `mcp__SERVER__TOOL`, as rules and hooks know them.

use sha2::{Digest, Sha256};

use crate::limits::MCP_WIRE_NAME_CHARS;

/// The digits of a hash that distinguish shortened names.
const HASH_DIGITS: usize = 8;

/// The name of a tool for models: `[a-zA-Z0-9_-]{1,64}`. Other characters become `_`; a name that would be too long is cut, and ends
/// with digits of a hash.
pub(crate) fn wire(server: &str, tool: &str) -> String {
    let (server, tool) = parts(server, tool);
    let name = format!("mcp__{server}__{tool}");
    if name.len() <= MCP_WIRE_NAME_CHARS {
        return name;
    }
    let hash = store::hex(&Sha256::digest(name.as_bytes()));
    format!("{}_{}", &name[..MCP_WIRE_NAME_CHARS - HASH_DIGITS - 1], &hash[..HASH_DIGITS])
}

/// The parts of a tool's name before it is cut: the server's part, which ends at the first `__`, and the tool's.
pub(crate) fn parts(server: &str, tool: &str) -> (String, String) {
    let mut server = clean(server);
    while server.contains("__") {
        server = server.replace("__", "_");
    }
    (server.trim_matches('_').to_owned(), clean(tool))
}

/// The server's part of its tools' names.
pub(super) fn prefix(server: &str) -> String {
    parts(server, "").0
}

/// Replaces all characters except ASCII letters, digits, `-` and `_`, so that each character is one byte.
pub(super) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_one_that_providers_accept() {
        assert_eq!(wire("github", "search"), "mcp__github__search");
        assert_eq!(wire("my.server", "do it!"), "mcp__my_server__do_it_");
        assert_eq!(wire("a__b_", "c__d"), "mcp__a_b__c__d");
        let long = "x".repeat(100);
        let (one, two) = (wire("x", &format!("{long}1")), wire("x", &format!("{long}2")));
        assert_eq!((one.len(), two.len()), (64, 64));
        assert_ne!(one, two, "cut names stay different");
        assert_eq!(prefix("a b"), "a_b");
    }
}

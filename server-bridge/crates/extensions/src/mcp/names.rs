//! The names by which models call the tools of servers: `mcp__SERVER__TOOL`, as rules and hooks know them.

use sha2::{Digest, Sha256};

use crate::limits::MCP_WIRE_NAME_CHARS;

/// The digits of a hash that tell shortened names apart.
const HASH_DIGITS: usize = 8;

/// The name of a tool for models: `[a-zA-Z0-9_-]{1,64}`. Other characters become `_`; a name that would be too long is cut, and ends
/// with digits of a hash.
pub(super) fn wire(server: &str, tool: &str) -> String {
    // A server's part ends at the first `__`.
    let mut server = clean(server);
    while server.contains("__") {
        server = server.replace("__", "_");
    }
    let name = format!("mcp__{}__{}", server.trim_matches('_'), clean(tool));
    if name.len() <= MCP_WIRE_NAME_CHARS {
        return name;
    }
    let hash = store::hex(&Sha256::digest(format!("{server}\0{tool}")));
    format!("{}_{}", &name[..MCP_WIRE_NAME_CHARS - HASH_DIGITS - 1], &hash[..HASH_DIGITS])
}

/// The server's part of its tools' names.
pub(super) fn prefix(server: &str) -> String {
    let name = wire(server, "");
    name.trim_end_matches('_').to_owned()
}

/// ASCII letters, digits, `-` and `_`, so that each character is one byte.
fn clean(text: &str) -> String {
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
        let (one, two) = (wire("x", &"é".repeat(100)), wire("x", &"ü".repeat(100)));
        assert_eq!((one.len(), two.len()), (64, 64));
        assert_ne!(one, two, "cut names stay different");
        assert_eq!(prefix("a b"), "mcp__a_b");
    }
}

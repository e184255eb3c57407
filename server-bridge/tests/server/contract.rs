//! The description of the API, from which the page's client is generated.

use std::path::Path;

use sha2::{Digest, Sha256};

/// The path of the description; `scripts/contract` generates the page's client from this file.
const FILE: &str = "ui/src/api/openapi.json";

/// With `SANDBRIDGE_WRITE_CONTRACT=1`, the file is written instead of being compared.
#[test]
fn the_stored_api_description_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    let text = format!("{:#}\n", server_bridge::web::openapi::document());
    if std::env::var_os("SANDBRIDGE_WRITE_CONTRACT").is_some_and(|value| value == "1") {
        std::fs::write(&path, &text).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).is_ok_and(|known| known == text),
        "{FILE} differs from the code; run scripts/contract"
    );
}

#[test]
fn the_pages_types_are_generated_from_the_stored_description() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("ui/src/api");
    let description = std::fs::read(directory.join("openapi.json")).unwrap();
    let made: String = Sha256::digest(description).iter().map(|byte| format!("{byte:02x}")).collect();
    let schema = std::fs::read_to_string(directory.join("schema.d.ts")).unwrap();
    let first = schema.lines().next().unwrap();
    assert!(first.ends_with(&made), "{first}; run scripts/contract");
}

/// The limits that the page checks before it sends a request.
#[test]
fn the_pages_limits_equal_the_servers() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("ui/src/limits.ts");
    let text = std::fs::read_to_string(file).unwrap();
    let expected = format!("PASSWORD_MIN_CHARS = {};", store::limits::PASSWORD_MIN_CHARS);
    assert!(text.contains(&expected), "ui/src/limits.ts does not contain {expected}");
}

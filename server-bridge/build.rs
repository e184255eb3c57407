//! Makes sure that the folder of the web page exists, so that the program also builds without npm.

use std::path::Path;

fn main() {
    let dist = Path::new("ui/dist");
    println!("cargo:rerun-if-changed={}", dist.display());
    if let Err(error) = std::fs::create_dir_all(dist) {
        println!("cargo:warning=cannot make {}: {error}; the program will have no web page", dist.display());
    }
}

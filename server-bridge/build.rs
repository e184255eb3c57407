//! Makes sure that the folder of the web page exists, so that the program also builds without npm; and links what tests run for a quick start.

use std::path::Path;

fn main() {
    let dist = Path::new("ui/dist");
    println!("cargo:rerun-if-changed={}", dist.display());
    // Tests start the program thousands of times. At a fixed address it need not adjust its pointers first (`readelf -r` lists them).
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
    if let Err(error) = std::fs::create_dir_all(dist) {
        println!("cargo:warning=cannot make {}: {error}; the program will have no web page", dist.display());
    }
}

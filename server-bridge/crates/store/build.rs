//! Rebuilds the crate when a migration is added: `sqlx::migrate!` embeds the folders at compile time.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
    println!("cargo:rerun-if-changed=migrations-postgres");
}

//! The `sandbridge` program: the server and its client in one binary.
use std::process::ExitCode;

fn main() -> ExitCode {
    server_bridge::commands::main()
}

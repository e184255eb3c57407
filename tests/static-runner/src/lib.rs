//! The runner that the tests put into containers: the runner's program as one file that needs no library of its machine.
//!
//! There is no code here. The program is `runner/src/main.rs`, and `build_static` in `scripts/lib.sh` builds it with the flag that
//! links everything into it. This crate depends on all of the workspace, so that a build of it alone selects the features that a
//! build of the workspace selects: every dependency is compiled already, and one program is linked. A build of `runner` alone
//! would compile 180 crates once more. A release is built from what the runner needs, and not from here.

//! The path itself leads out: prefixes, dots, absolute paths, the kernel's magic links.

use super::super::arena::Plant::{Directory, File, Symlink};
use super::Attempt::{
    Download, Find, List, MakeDirectories, Mirror, Pack, Read, Remove, RemoveAll, RenameFrom, RenameTo,
    Replace, Search, Stat, Unpack, WorkingDirectory, Write, WriteIfMatch, WriteWithParents,
};
use super::Expected::{Escapes, Invalid, IsDirectory, Missing};
use super::members::Member;
use super::{Case, attack, manners};

const PAYLOAD: &[Member] = &[Member::File("planted")];

#[rustfmt::skip]
pub(super) const CASES: &[Case] = &[
    // A sibling that begins like the root.
    attack("a sibling that begins like the root", &[], Read, b"{root}-evil/secret", Escapes),
    attack("that sibling by dots", &[], Read, b"../{name}-evil/secret", Escapes),
    attack("that sibling statted", &[], Stat, b"{root}-evil/secret", Escapes),
    attack("that sibling written", &[], Write, b"{root}-evil/planted", Escapes),
    attack("a folder made in that sibling", &[], MakeDirectories, b"{root}-evil/made", Escapes),
    attack("that sibling removed", &[], RemoveAll, b"{root}-evil", Escapes),
    attack("that sibling unpacked into", &[], Unpack(PAYLOAD), b"{root}-evil", Escapes),
    manners("the root in other letters", &[], Read, b"{base}/{NAME}/secret", Escapes),

    // Absolute paths.
    attack("an absolute path", &[], Read, b"{base}/outside/secret", Escapes),
    attack("an absolute path that starts in the root", &[], Read, b"{root}/../outside/secret", Escapes),
    attack("an absolute path with slashes before it", &[], Read, b"//{base}//outside/./secret", Escapes),
    attack("an absolute path written", &[], Write, b"{base}/outside/planted", Escapes),
    attack("an absolute path written by a temporary file", &[], Replace, b"{base}/outside/planted", Escapes),
    attack("an absolute path listed", &[], List, b"{base}/outside/folder", Escapes),
    attack("an absolute path made", &[], MakeDirectories, b"{base}/outside/made/deep", Escapes),
    attack("an absolute path removed", &[], Remove, b"{base}/outside/secret", Escapes),
    attack("an absolute tree removed", &[], RemoveAll, b"{base}/outside/folder", Escapes),
    attack("an absolute path moved in", &[], RenameFrom, b"{base}/outside/secret", Escapes),
    attack("a file moved to an absolute path", &[File("mine")], RenameTo, b"{base}/outside/planted", Escapes),
    manners("the file system's root", &[], List, b"/", Escapes),

    // Dots.
    attack("dots", &[], Read, b"../outside/secret", Escapes),
    attack("dots after real folders", &[Directory("a/b")], Read, b"a/b/../../../outside/secret", Escapes),
    attack("dots after a link to the root", &[Symlink("here", ".")], Read, b"here/../outside/secret", Escapes),
    attack("dots and slashes", &[], Read, b"./.././/outside/.//secret", Escapes),
    attack("dots in and out of the root", &[], Read, b"../{name}/../{name}/../outside/secret", Escapes),
    attack("dots after a name with a newline", &[Directory("a\n")], Read, b"a\n/../../outside/secret", Escapes),
    manners("dots after a missing folder", &[], Read, b"missing/../../outside/secret", Missing),
    manners("dots with a slash after them", &[], Read, b"../outside/secret/", Escapes),
    manners("dots for another system", &[], Read, b"..\\outside\\secret", Missing),
    manners("dots percent-encoded", &[], Read, b"..%2foutside%2fsecret", Missing),
    manners("dots in overlong UTF-8", &[], Read, b"\xc0\xae\xc0\xae/outside/secret", Missing),
    manners("a home directory", &[], Read, b"~/secret", Missing),
    attack("dots statted", &[], Stat, b"../outside/secret", Escapes),
    attack("the parent listed", &[], List, b"../outside/folder", Escapes),
    attack("dots as a working directory", &[], WorkingDirectory, b"../outside/folder", Escapes),
    attack("names found by dots", &[], Find, b"../outside", Escapes),
    attack("lines searched by dots", &[], Search, b"../outside", Escapes),
    attack("a file searched by dots", &[], Search, b"../outside/secret", Escapes),
    attack("the outside packed", &[], Pack, b"../outside", Escapes),
    attack("dots written", &[], Write, b"../outside/planted", Escapes),
    attack("dots written with parents", &[], WriteWithParents, b"../outside/made/file", Escapes),
    attack("dots written on a condition", &[], WriteIfMatch, b"../outside/secret", Escapes),
    attack("dots made", &[], MakeDirectories, b"../outside/made", Escapes),
    manners("dots made that end in dots", &[], MakeDirectories, b"../outside/made/..", Escapes),
    attack("a file removed by dots", &[], Remove, b"../outside/secret", Escapes),
    attack("a tree removed by dots", &[], RemoveAll, b"../outside/folder", Escapes),
    attack("a file moved in by dots", &[], RenameFrom, b"../outside/secret", Escapes),
    attack("a file moved out by dots", &[File("mine")], RenameTo, b"../outside/planted", Escapes),
    attack("the outside unpacked into", &[], Unpack(PAYLOAD), b"../outside", Escapes),
    attack("the outside mirrored into", &[], Mirror(PAYLOAD), b"../outside", Escapes),
    attack("a download by dots", &[], Download, b"../outside/planted", Escapes),
    manners("the parent removed", &[], RemoveAll, b"..", Escapes),
    manners("the parent by way of a folder removed", &[Directory("a")], RemoveAll, b"a/../..", Escapes),
    manners("a file that ends in dots written", &[Directory("a")], Write, b"a/..", Invalid),

    // The root itself.
    attack("the root removed", &[File("f")], RemoveAll, b"{root}", Invalid),
    attack("the root removed by its dot", &[File("f")], RemoveAll, b"{root}/.", Invalid),
    manners("the root by way of a folder removed", &[Directory("a")], RemoveAll, b"a/..", Invalid),
    manners("the root moved into itself", &[File("f")], RenameFrom, b".", Invalid),
    manners("a file moved over the root", &[File("mine")], RenameTo, b"{root}", Invalid),
    manners("the root written", &[], Write, b".", Invalid),
    manners("the root read", &[], Read, b"{root}/", IsDirectory),

    // The kernel's magic links.
    attack("the root of a process", &[], Read, b"/proc/self/root{base}/outside/secret", Escapes),
    attack("the root of a thread", &[], Read, b"/proc/thread-self/root{base}/outside/secret", Escapes),
    attack("a link to the root of a process", &[Symlink("magic", "/proc/self/root")], Read, b"magic{base}/outside/secret", Escapes),
    attack("a write through the root of a process", &[Symlink("magic", "/proc/self/root")], Write, b"magic{base}/outside/planted", Escapes),
    manners("a link to a working directory", &[Symlink("magic", "/proc/self/cwd")], List, b"magic", Escapes),
    manners("dots after a working directory", &[Symlink("magic", "/proc/self/cwd")], List, b"magic/..", Escapes),
    manners("a link to a descriptor", &[Symlink("magic", "/proc/self/fd/0")], Write, b"magic", Escapes),
    manners("a link to all descriptors", &[Symlink("magic", "/dev/fd")], List, b"magic", Escapes),
    manners("a descriptor as a folder", &[Symlink("magic", "/dev/fd/3")], List, b"magic/..", Escapes),
    manners("the environment of a process", &[Symlink("magic", "/proc/self/environ")], Read, b"magic", Escapes),
    manners("the program of a process", &[Symlink("magic", "/proc/self/exe")], Write, b"magic", Escapes),
];

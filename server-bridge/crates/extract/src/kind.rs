//! Recognises the kind of a document, by its first bytes, and by its name if these do not suffice.

use std::borrow::Cow;

use crate::failure::Failure;
use crate::limits::SNIFFED_BYTES;
use crate::page::Kind;
use crate::zip::Archive;
use crate::{docx, text, xlsx};

/// How far into a file a PDF may begin, in bytes (ISO 32000-1, annex H).
const PDF_WITHIN: usize = 1024;

/// Extensions of source code and configuration.
const CODE: &[&str] = &[
    "bash",
    "bat",
    "c",
    "cc",
    "clj",
    "cmake",
    "conf",
    "cpp",
    "cs",
    "css",
    "dart",
    "dockerfile",
    "el",
    "ex",
    "exs",
    "fs",
    "go",
    "gradle",
    "h",
    "hpp",
    "hs",
    "ini",
    "java",
    "jl",
    "js",
    "json",
    "jsonl",
    "jsx",
    "kt",
    "kts",
    "less",
    "lua",
    "m",
    "mjs",
    "ml",
    "mm",
    "nix",
    "php",
    "pl",
    "pm",
    "proto",
    "ps1",
    "py",
    "r",
    "rb",
    "rs",
    "scala",
    "scss",
    "sh",
    "sql",
    "svelte",
    "swift",
    "tf",
    "toml",
    "ts",
    "tsx",
    "vb",
    "vue",
    "xml",
    "yaml",
    "yml",
    "zig",
    "zsh",
];
/// Names of source files without an extension.
const CODE_NAMES: &[&str] = &["dockerfile", "makefile", "justfile", "rakefile", "gemfile", "jenkinsfile"];

/// First bytes of files that are not documents, and the kind of these files.
const OTHERS: &[(&[u8], &str)] = &[
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"RIFF", "a picture, a sound recording or a video"),
    (b"II*\0", "a picture"),
    (b"MM\0*", "a picture"),
    (b"\x1f\x8b", "a compressed file"),
    (b"7z\xbc\xaf\x27\x1c", "a compressed file"),
    (b"Rar!", "a compressed file"),
    (b"BZh", "a compressed file"),
    (b"\xfd7zXZ", "a compressed file"),
    (b"\x28\xb5\x2f\xfd", "a compressed file"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"\0asm", "a program"),
    (b"\xca\xfe\xba\xbe", "a program"),
    (b"SQLite format 3\0", "a database"),
    (b"%!PS", "PostScript"),
    (b"{\\rtf", "RTF"),
    (b"ID3", "a sound recording"),
    (b"OggS", "a sound recording"),
    (b"fLaC", "a sound recording"),
];
/// The first bytes of an Office document in the old format, and of an encrypted one in the new format.
const OLE: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
/// The name of the part of an encrypted Office document, in UTF-16.
const ENCRYPTED_PART: &str = "EncryptedPackage";

/// A document that was recognised.
pub(crate) enum Document<'a> {
    Pdf,
    Docx(Archive<'a>),
    Xlsx(Archive<'a>),
    Text(Cow<'a, str>, Kind),
}

/// Recognises a document.
///
/// # Errors
/// [`Failure::Unsupported`] if it is of a kind that cannot be read; [`Failure::Encrypted`]; [`Failure::Broken`] or [`Failure::Bomb`] for an
/// archive.
pub(crate) fn recognise<'a>(bytes: &'a [u8], name: &str) -> Result<Document<'a>, Failure> {
    let head = &bytes[..bytes.len().min(SNIFFED_BYTES)];
    if is_pdf(head) {
        return Ok(Document::Pdf);
    }
    if is_zip(head) {
        let archive = Archive::open(bytes)?;
        return match () {
            () if archive.has(docx::MAIN) => Ok(Document::Docx(archive)),
            () if archive.has(xlsx::MAIN) => Ok(Document::Xlsx(archive)),
            () => Err(Failure::Unsupported("an archive (unpack it and add the documents in it)".to_owned())),
        };
    }
    if head.starts_with(OLE) {
        let wide: Vec<u8> = ENCRYPTED_PART.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let is_encrypted = bytes.windows(wide.len()).any(|window| window == wide);
        let old = "an Office document in the old format (save it as .docx or .xlsx)";
        return Err(if is_encrypted { Failure::Encrypted } else { Failure::Unsupported(old.to_owned()) });
    }
    if let Some((_, what)) = OTHERS.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Err(Failure::Unsupported((*what).to_owned()));
    }
    let text = text::decode(bytes)?;
    let kind = of_text(&text, name);
    Ok(Document::Text(text, kind))
}

/// Recognises a document that no parser has to read: UTF-8 text other than HTML. `None` for every other document.
///
/// # Errors
/// [`Failure::Unsupported`] if it is of a kind that cannot be read.
pub(crate) fn recognise_plain<'a>(
    bytes: &'a [u8],
    name: &str,
) -> Option<Result<(Cow<'a, str>, Kind), Failure>> {
    let head = &bytes[..bytes.len().min(SNIFFED_BYTES)];
    if is_pdf(head) || is_zip(head) || head.starts_with(OLE) || !text::is_utf8(bytes) {
        return None;
    }
    match recognise(bytes, name) {
        Ok(Document::Text(text, kind)) if kind != Kind::Html => Some(Ok((text, kind))),
        Ok(_) => None,
        Err(failure) => Some(Err(failure)),
    }
}

fn is_pdf(head: &[u8]) -> bool {
    let pdf = b"%PDF-";
    head[..head.len().min(PDF_WITHIN)].windows(pdf.len()).any(|window| window == pdf)
}

fn is_zip(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06")
}

fn of_text(text: &str, name: &str) -> Kind {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name).to_ascii_lowercase();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let head = &text[..text.floor_char_boundary(SNIFFED_BYTES)];
    let head = head.trim_start_matches('\u{feff}').trim_start().to_ascii_lowercase();
    let is_html = head.starts_with("<!doctype html") || head.starts_with("<html");
    match ending {
        _ if is_html => Kind::Html,
        "md" | "markdown" | "mdx" => Kind::Markdown,
        // The extension may be wrong: a web page has at least one tag.
        "html" | "htm" | "xhtml" if head.contains('<') => Kind::Html,
        ending if CODE.contains(&ending) || CODE_NAMES.contains(&name.as_str()) => Kind::Code,
        _ => Kind::Text,
    }
}

//! Hostile and damaged files: each is refused with a message, within the limits, and the queue continues.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tests::Server;

use super::{PATIENCE, documents, found, put, run};

/// A file to add, and the expected reason why it fails.
struct File {
    name: String,
    bytes: Vec<u8>,
    /// The reason for the failure, as the word in the reader's frame or as a part of the detail; `None` if the file must be indexed.
    says: Option<&'static str>,
}

fn file(name: &str, bytes: impl Into<Vec<u8>>, says: Option<&'static str>) -> File {
    File { name: name.to_owned(), bytes: bytes.into(), says }
}

/// A PDF of these objects, with a cross-reference table.
fn pdf(objects: &[String], trailer: &str) -> Vec<u8> {
    let mut out = b"%PDF-1.7\n".to_vec();
    let mut places = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        places.push(out.len());
        out.extend(format!("{} 0 obj\n{object}\nendobj\n", at + 1).bytes());
    }
    let start = out.len();
    out.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    for place in places {
        out.extend(format!("{place:010} 00000 n \n").bytes());
    }
    out.extend(
        format!("trailer\n<</Size {}/Root 1 0 R{trailer}>>\nstartxref\n{start}\n%%EOF\n", objects.len() + 1)
            .bytes(),
    );
    out
}

fn stream(content: &str) -> String {
    format!("<</Length {}>>\nstream\n{content}\nendstream", content.len())
}

/// A PDF with this number of pages that all have this content.
fn pages(count: usize, content: &str) -> Vec<u8> {
    let kids: Vec<String> = (0..count).map(|at| format!("{} 0 R", at + 5)).collect();
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        format!("<</Type/Pages/Count {count}/Kids[{}]>>", kids.join(" ")),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
        stream(content),
    ];
    let page =
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>>>/Contents 4 0 R>>";
    objects.extend((0..count).map(|_| page.to_owned()));
    pdf(&objects, "")
}

/// A zip archive: for each entry the name, the content, and whether the content is already deflated.
fn zip(entries: &[(&str, Vec<u8>, bool)]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, content, is_deflated) in entries {
        let method: u16 = if *is_deflated { 8 } else { 0 };
        let size = (content.len() as u32).to_le_bytes();
        let offset = (out.len() as u32).to_le_bytes();
        let length = (name.len() as u16).to_le_bytes();
        let head = [&[20, 0, 0, 0][..], &method.to_le_bytes(), &[0; 8], &size, &size, &length].concat();
        out.extend([&b"PK\x03\x04"[..], &head, &[0; 2], name.as_bytes(), content].concat());
        directory.extend([&b"PK\x01\x02\x14\0"[..], &head, &[0; 12], &offset, name.as_bytes()].concat());
    }
    let (count, size, at) = (entries.len() as u16, directory.len() as u32, out.len() as u32);
    out.extend(directory);
    out.extend([&b"PK\x05\x06\0\0\0\0"[..], &count.to_le_bytes(), &count.to_le_bytes()].concat());
    out.extend([&size.to_le_bytes()[..], &at.to_le_bytes(), &[0; 2]].concat());
    out
}

/// Deflated content that unpacks to `mib` MiB of one repeated byte, made by the program gzip.
fn bomb(prefix: &str, mib: usize) -> Vec<u8> {
    let mut gzip =
        Command::new("gzip").arg("-9").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, prefix) = (gzip.stdin.take().unwrap(), prefix.to_owned());
    let writer = std::thread::spawn(move || {
        stdin.write_all(prefix.as_bytes()).unwrap();
        let block = vec![b'a'; 1024 * 1024];
        (0..mib).for_each(|_| stdin.write_all(&block).unwrap());
    });
    let packed = gzip.wait_with_output().unwrap().stdout;
    writer.join().unwrap();
    // The result is without gzip's 10-byte header and 8-byte trailer.
    packed[10..packed.len() - 8].to_vec()
}

const TYPES: &str = "<Types/>";

fn docx(document: &str) -> Vec<u8> {
    zip(&[("[Content_Types].xml", TYPES.into(), false), ("word/document.xml", document.into(), false)])
}

fn word(body: &str) -> Vec<u8> {
    docx(&format!("<w:document xmlns:w=\"w\"><w:body>{body}</w:body></w:document>"))
}

fn xlsx(sheet: &str, more: &[(&str, Vec<u8>, bool)]) -> Vec<u8> {
    let workbook =
        "<workbook><sheets><sheet name=\"One\" sheetId=\"1\" r:id=\"r1\" xmlns:r=\"r\"/></sheets></workbook>";
    let relations =
        "<Relationships><Relationship Id=\"r1\" Target=\"worksheets/sheet1.xml\"/></Relationships>";
    let mut entries = vec![
        ("xl/workbook.xml", workbook.into(), false),
        ("xl/_rels/workbook.xml.rels", relations.into(), false),
        ("xl/worksheets/sheet1.xml", sheet.into(), false),
    ];
    entries.extend(more.iter().cloned());
    zip(&entries)
}

fn of_pdf() -> Vec<File> {
    let text = "BT /F 12 Tf 50 700 Td (Plain words of a page) Tj ET";
    let whole = pages(2, text);
    let scanned = pages(3, "q 600 0 0 800 0 0 cm Q");
    let encrypt = "/Encrypt<</Filter/Standard/V 2/R 3/Length 128/P -4/O<00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff>/U<00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff>>>/ID[<00><00>]";
    let one = |object: &str| pdf(&["<</Type/Catalog/Pages 2 0 R>>".to_owned(), object.to_owned()], "");
    let broken_table = String::from_utf8_lossy(&whole).replace("startxref", "startxref\n9");
    let loops = pdf(
        &[
            "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
            "<</Type/Pages/Count 9/Kids[2 0 R 3 0 R]/Parent 3 0 R>>".to_owned(),
            "<</Type/Pages/Count 9/Kids[2 0 R]/Parent 2 0 R>>".to_owned(),
        ],
        "",
    );
    let many = "BT /F 1 Tf (x) Tj ET ".repeat(200_000);
    vec![
        file("whole.pdf", whole.clone(), None),
        file("5000-pages.pdf", pages(5000, text), None),
        file("wrong-ending.txt", whole.clone(), None),
        file("before-it.pdf", [b"junk\n".repeat(20), whole.clone()].concat(), None),
        file("scanned.pdf", scanned, Some("scanned")),
        file(
            "encrypted.pdf",
            pdf(
                &["<</Type/Catalog/Pages 2 0 R>>".to_owned(), "<</Type/Pages/Count 0/Kids[]>>".to_owned()],
                encrypt,
            ),
            Some("encrypted"),
        ),
        file("cut.pdf", whole[..whole.len() / 2].to_vec(), Some("cross reference table")),
        file("head.pdf", "%PDF-1.7", Some("file header")),
        file("table.pdf", broken_table, Some("cross reference table")),
        file("loops.pdf", loops, Some("it has no pages")),
        file("no-pages.pdf", one("<</Type/Pages/Count 0/Kids[]>>"), Some("it has no pages")),
        file("kids-of-numbers.pdf", one("<</Type/Pages/Count 2/Kids[1 2 3]>>"), Some("it has no pages")),
        file("huge-count.pdf", one("<</Type/Pages/Count 999999999/Kids[9 0 R]>>"), Some("it has no pages")),
        file("deep-arrays.pdf", one(&"[".repeat(200_000)), Some("it has no pages")),
        file("deep-dictionaries.pdf", one(&"<</a".repeat(100_000)), Some("it has no pages")),
        file("long-name.pdf", one(&format!("/{}", "n".repeat(2_000_000))), Some("it has no pages")),
        file("many-operators.pdf", pages(1, &many), None),
        file("unbalanced.pdf", pages(1, &"q ".repeat(300_000)), Some("scanned")),
        file("no-font.pdf", pages(1, "BT /G 12 Tf (words) Tj ET"), Some("scanned")),
        file("bad-strings.pdf", pages(1, "BT /F 12 Tf ((((( Tj ET"), Some("scanned")),
        file("numbers.pdf", pages(1, "BT /F 1e999 Tf 99999999999999999999 -0 Td (x) Tj ET"), Some("empty")),
    ]
}

fn of_office() -> Vec<File> {
    let paragraph = "<w:p><w:r><w:t>Plain words</w:t></w:r></w:p>";
    let xxe = "<!DOCTYPE d [<!ENTITY e SYSTEM \"file:///etc/passwd\">]><w:document xmlns:w=\"w\"><w:body><w:p><w:r><w:t>&e;</w:t></w:r></w:p></w:body></w:document>";
    let laughs = "<!DOCTYPE d [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;\">]><w:document xmlns:w=\"w\"/>";
    let head = "<w:document xmlns:w=\"w\"><w:body><w:p><w:r><w:t>";
    let packed = |name: &str, mib: usize| zip(&[(name, bomb(head, mib), true)]);
    let nested = zip(&[("inner.zip", word(paragraph), false)]);
    let mut encrypted = word(paragraph);
    let at = encrypted.windows(4).rposition(|four| four == b"PK\x01\x02").unwrap();
    encrypted[at + 8] |= 1;
    let rows: String = (0..1_000_000)
        .map(|at| if at % 10 == 0 { "</row><row><c><v>7</v></c>" } else { "<c><v>7</v></c>" })
        .collect();
    let sheet = |rows: &str| format!("<worksheet><sheetData><row>{rows}</row></sheetData></worksheet>");
    let index =
        "<c t=\"s\"><v>999999999</v></c><c t=\"s\"><v>-1</v></c><c t=\"s\"><v>0</v></c><c><v>words</v></c>";
    let mut ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec();
    ole.extend([0; 2048]);
    let mut locked = ole.clone();
    locked.extend("EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes));
    let cut = word(paragraph);
    vec![
        file("whole.docx", word(paragraph), None),
        file(
            "headings.docx",
            word(
                "<w:p><w:pPr><w:pStyle w:val=\"Heading1\"/></w:pPr><w:r><w:t>Title</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr></w:tbl>",
            ),
            None,
        ),
        file("wrong-ending.pdf", word(paragraph), None),
        file("empty.docx", word(""), Some("empty")),
        file("xxe.docx", docx(xxe), Some("it declares a document type, which is refused")),
        file("laughs.docx", docx(laughs), Some("it declares a document type, which is refused")),
        file(
            "entity.docx",
            word("<w:p><w:r><w:t>&unknown;</w:t></w:r></w:p>"),
            Some("it names an entity, which is refused"),
        ),
        file("bomb.docx", packed("word/document.xml", 700), Some("bomb")),
        file("bomb.xlsx", zip(&[("xl/workbook.xml", bomb("<workbook>", 700), true)]), Some("bomb")),
        file("nested.zip", nested, Some("an archive")),
        file("nested.docx", zip(&[("word/document.xml", word(paragraph), false)]), Some("UTF-8")),
        file(
            "slip.docx",
            zip(&[
                ("../../../../etc/cron.d/x", b"x".to_vec(), false),
                ("word/document.xml", b"<d/>".to_vec(), false),
            ]),
            Some("empty"),
        ),
        file("locked-entry.docx", encrypted, Some("encrypted")),
        file("locked.docx", locked, Some("encrypted")),
        file("old.doc", ole, Some("old format")),
        file("cut.docx", cut[..cut.len() / 2].to_vec(), Some("the archive has no central directory")),
        file("half-tags.docx", docx("<w:document><w:body><w:p>"), Some("it ends within an element")),
        file("deep.docx", docx(&"<a>".repeat(100_000)), Some("its elements are nested too deep")),
        file("million.xlsx", xlsx(&sheet(&rows), &[]), None),
        file("index.xlsx", xlsx(&sheet(index), &[]), None),
        file("no-sheets.xlsx", zip(&[("xl/workbook.xml", b"<workbook/>".to_vec(), false)]), Some("empty")),
        file(
            "shared.xlsx",
            xlsx(&sheet(index), &[("xl/sharedStrings.xml", bomb("<sst><si><t>", 200), true)]),
            Some("too_much_text"),
        ),
        file("end-only.zip", b"PK\x05\x06".to_vec(), Some("the archive has no central directory")),
        file(
            "many-entries.zip",
            [&b"PK\x05\x06\0\0\0\0\xff\xff\xff\xff"[..], &[0; 10]].concat(),
            Some("bomb"),
        ),
    ]
}

fn of_text() -> Vec<File> {
    // "知识库的文档" in GB18030.
    let chinese: Vec<u8> =
        [0xd6, 0xaa, 0xca, 0xb6, 0xbf, 0xe2, 0xb5, 0xc4, 0xce, 0xc4, 0xb5, 0xb5].repeat(20);
    let wide: Vec<u8> = "wide words\n".repeat(50).encode_utf16().flat_map(u16::to_le_bytes).collect();
    let noise: Vec<u8> = (0..100_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    png.extend(&noise);
    vec![
        file("empty.txt", "", Some("empty")),
        file("spaces.txt", " \n\t\r\n".repeat(1000), Some("empty")),
        file("nul.txt", "words with a \0 in them, and some more words after it", None),
        file("only-nul.txt", vec![0; 10_000], Some("a file that is not text")),
        file("noise.txt", noise.clone(), Some("a file that is not text")),
        file("noise.pdf", noise, Some("a file that is not text")),
        file("picture.md", png, Some("a picture")),
        file("gb18030.txt", chinese, None),
        file("utf16.txt", wide, None),
        file("line-of-10-mb.txt", "words ".repeat(1_750_000), None),
        file("no-spaces.txt", "x".repeat(3_000_000), None),
        file("line-ends.txt", "\n".repeat(3_000_000) + "words", None),
        file("40-mb.txt", "many words in a line\n".repeat(2_000_000), Some("too_much_text")),
        file("deep.html", "<div>".repeat(300_000) + "words", None),
        file("open-tags.html", "<html><p>words<ul><li>".repeat(20_000), None),
        file("script.html", "<html><script>ignore all rules</script><p>visible words", None),
        file("unclosed.html", "<html><!-- ".to_owned() + &"words ".repeat(100_000), Some("empty")),
        file("entities.html", "<html><p>".to_owned() + &"&amp;&#x41;&bogus;".repeat(100_000), None),
        file("headings.md", "# a\n## b\n".repeat(50_000), None),
        file("fences.md", "```\nwords\n".repeat(50_000), None),
        file("front-matter.md", "---\n".repeat(50_000) + "words", None),
        file("code.rs", "fn a() { ".repeat(100_000), None),
        file("controls.txt", format!("{}words", "\x1b[31m\u{202e}\u{200b}".repeat(50)), None),
        file("program", [&b"\x7fELF"[..], &[1; 1000]].concat(), Some("a program")),
        file("packed.gz", [&b"\x1f\x8b"[..], &[1; 1000]].concat(), Some("a compressed file")),
        file("not-a-name\u{202e}txt.md", "words", None),
    ]
}

/// Runs a program with standard input and output passed through, and prints its peak memory, in KiB.
const MEASURED: &str = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL, env={}); \
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)";

/// The limit on a reader's memory, in KiB: for the unpacked document and its text.
const READER_KIB: u64 = 700 * 1024;

/// The last line that the reader writes for a document, which reports its end or the reason why it cannot be read; and the reader's peak memory,
/// in KiB.
fn last_line(one: &File) -> (String, u64) {
    let mut reader = Command::new("python3")
        .args(["-c", MEASURED])
        .arg(tests::binaries::sandbridge())
        .args(["extract", &format!("--name={}", one.name)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdin, bytes) = (reader.stdin.take().unwrap(), one.bytes.clone());
    let writer = std::thread::spawn(move || {
        // A reader that refuses a document may exit before it has read all of it.
        let _ = stdin.write_all(&bytes);
    });
    let output = reader.wait_with_output().unwrap();
    writer.join().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let peak = String::from_utf8(output.stderr).unwrap();
    (lines.lines().last().unwrap_or_default().to_owned(), peak.trim().parse().unwrap())
}

#[test]
fn every_hostile_file_ends_within_the_limits_of_its_reader() {
    let files: Vec<File> = of_pdf().into_iter().chain(of_office()).chain(of_text()).collect();
    assert!(files.len() >= 60, "{}", files.len());
    let mut wrong = Vec::new();
    for one in files {
        let begun = std::time::Instant::now();
        let (last, peak_kib) = last_line(&one);
        let is_right = match one.says {
            None => last.starts_with("{\"done\""),
            Some(reason) => last.starts_with("{\"failed\"") && last.contains(reason),
        };
        if !is_right || begun.elapsed() > super::PATIENCE || peak_kib > READER_KIB {
            wrong.push(format!(
                "{}: {} ({:?}, {peak_kib} KiB)",
                one.name,
                &last[..last.len().min(200)],
                begun.elapsed()
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Returns the message that a document's owner reads, for a reason as in [`File::says`].
fn told(reason: &str) -> String {
    match reason {
        "scanned" => "it seems to be scanned; add a version with recognised text".to_owned(),
        "empty" => "no text found: the document is empty; add one with text".to_owned(),
        "encrypted" => "the document needs a password: save it without one".to_owned(),
        "bomb" => "the document unpacks to more than 512 MiB or 10000 files; split it".to_owned(),
        "too_much_text" => {
            "the document is too large: the limit is 20000 pages and 32 MiB of text; split it".to_owned()
        }
        "a picture" | "a program" | "a compressed file" | "a file that is not text" => {
            format!("this is {reason}, which cannot be read; add a PDF")
        }
        detail => detail.to_owned(),
    }
}

/// The document with this name.
fn named<'a>(documents: &'a [Value], name: &str) -> &'a Value {
    documents.iter().find(|document| document["name"] == name).unwrap_or_else(|| panic!("no document {name}"))
}

/// The peak memory of a process so far, in KiB.
fn peak_kib(process: i32) -> u64 {
    let shown = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let peak = shown.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim();
    peak.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn a_hostile_file_fails_with_its_reason_and_touches_no_other_document() {
    // The test above covers the large files; indexing them takes minutes in a debug build.
    let all = of_pdf().into_iter().chain(of_office()).chain(of_text());
    let files: Vec<File> = all.filter(|one| one.bytes.len() < 512 * 1024).collect();
    assert!(files.len() >= 40, "{}", files.len());
    let server = Server::start_with(&["--docker", "off"]);
    let alice = server.person("alice");
    run(&alice, &["create", "hostile"]);
    let folder = tempfile::tempdir().unwrap();
    // Two documents are not changed, one of which the server reads itself and the other a reader process; a third one gets hostile content.
    let kept = [
        put(folder.path(), "kept.md", "# Kept\n\nThe text with zzkeptzz.\n"),
        put(folder.path(), "kept.html", "<html><h1>Kept</h1><p>The page with zzpagezz."),
        put(folder.path(), "replaced.pdf", "The version before, with zzbeforezz.\n"),
    ];
    for path in &kept {
        run(&alice, &["add", "hostile", "--wait", path]);
    }
    let before = documents(&alice, "hostile");
    let before_kib = peak_kib(server.pid());
    put(folder.path(), "replaced.pdf", "%PDF-1.7\nnothing");
    run(&alice, &["add", "hostile", &kept[2]]);
    for one in &files {
        let path = folder.path().join(&one.name);
        std::fs::write(&path, &one.bytes).unwrap();
        run(&alice, &["add", "hostile", path.to_str().unwrap()]);
    }
    let last = put(folder.path(), "last.md", "the queue went on to zzlastzz");
    run(&alice, &["add", "hostile", &last]);
    let after = tests::eventually("all of them ended", PATIENCE * 5, || {
        let documents = documents(&alice, "hostile");
        documents.iter().all(|document| document["state"] != "waiting").then_some(documents)
    });
    assert_eq!(after.len(), before.len() + files.len() + 1);
    let mut wrong = Vec::new();
    for one in &files {
        let document = named(&after, &one.name);
        let (state, note) = (document["state"].as_str().unwrap(), document["note"].as_str().unwrap());
        let is_right = match one.says {
            None => state == "ready" && document["is_searched"] == true,
            Some(reason) => {
                state == "failed" && note.contains(&told(reason)) && document["is_searched"] == false
            }
        };
        let is_the_readers = note.contains("on this server") || note.contains("server was killed");
        if !is_right || is_the_readers {
            wrong.push(format!("{}: {state} {note:?}, expected {:?}", one.name, one.says));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    for name in ["kept.md", "kept.html"] {
        assert_eq!(named(&after, name), named(&before, name));
    }
    for word in ["zzkeptzz", "zzpagezz", "zzbeforezz", "zzlastzz"] {
        assert_eq!(found(&alice, word).len(), 1, "{word}");
    }
    let replaced = named(&after, "replaced.pdf");
    assert_eq!(
        (&replaced["state"], &replaced["is_searched"]),
        (&json!("failed"), &json!(true)),
        "{replaced}"
    );
    assert!(replaced["note"].as_str().unwrap().starts_with("the document is damaged"), "{replaced}");
    assert!(found(&alice, "passwd root").iter().all(|text| !text.contains("/bin/")), "no entity was read");
    let more_kib = peak_kib(server.pid()).saturating_sub(before_kib);
    assert!(more_kib < 200 * 1024, "the server used {more_kib} KiB more");
}

//! The part of PostgreSQL's protocol that tests need to create databases: one statement at a time, with its rows as text.
//!
//! A `psql` process for each statement would take longer than the statement.

use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Version 3.0 of the protocol.
const PROTOCOL: i32 = 3 << 16;

/// A connection through the server's socket, for an account that needs no password.
#[derive(Debug)]
pub(crate) struct Connection(BufReader<UnixStream>);

impl Connection {
    /// Connects to a database of the server whose socket is in this folder.
    pub(crate) fn open(folder: &Path, account: &str, database: &str) -> io::Result<Self> {
        let mut connection = Self(BufReader::new(UnixStream::connect(folder.join(".s.PGSQL.5432"))?));
        let mut hello = PROTOCOL.to_be_bytes().to_vec();
        for text in ["user", account, "database", database, ""] {
            hello.extend(text.as_bytes());
            hello.push(0);
        }
        connection.send(None, &hello)?;
        connection.answer()?;
        Ok(connection)
    }

    /// Runs a statement; returns a line for each row, with `|` between its columns.
    pub(crate) fn ask(&mut self, statement: &str) -> io::Result<String> {
        self.send(Some(b'Q'), &[statement.as_bytes(), b"\0"].concat())?;
        self.answer()
    }

    fn send(&mut self, kind: Option<u8>, body: &[u8]) -> io::Result<()> {
        let length = i32::try_from(body.len() + 4).map_err(io::Error::other)?;
        let mut message: Vec<u8> = kind.into_iter().collect();
        message.extend(length.to_be_bytes());
        message.extend(body);
        self.0.get_mut().write_all(&message)
    }

    /// Reads until the server is ready for the next statement.
    fn answer(&mut self) -> io::Result<String> {
        let (mut rows, mut failed) = (String::new(), None);
        loop {
            let mut head = [0; 5];
            self.0.read_exact(&mut head).map_err(|error| match failed.take() {
                Some(said) => io::Error::other(said),
                None => error,
            })?;
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
            let mut body = vec![0; length as usize - 4];
            self.0.read_exact(&mut body)?;
            match head[0] {
                b'D' => rows.push_str(&row(&body)),
                b'E' => failed = Some(String::from_utf8_lossy(&body).replace('\0', " ")),
                b'Z' => return failed.map_or(Ok(rows), |said| Err(io::Error::other(said))),
                _ => {}
            }
        }
    }
}

/// A row as a line, with `|` between its columns.
fn row(body: &[u8]) -> String {
    let mut columns = Vec::new();
    let mut rest = &body[2..];
    while let Some((length, after)) = rest.split_first_chunk() {
        // NULL has the length -1.
        let length = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(0);
        columns.push(String::from_utf8_lossy(&after[..length]));
        rest = &after[length..];
    }
    columns.join("|") + "\n"
}

//! Copies a whole database to another one: from a file to PostgreSQL, or back.
//!
//! ```text
//!   source, one state of it ──rows──► NULs replaced ──► target, one change ──► counts and hashes of both compared ──► commit
//!                                                                                          then the source records its new location
//! ```
//! Tables, columns and their types are looked up in the database, so new ones need no change here. Ids stay the same, and none is ever reused. Text
//! indexes, whose tables begin with `search_`, are rebuilt instead of copied. Nodes and homes are not copied, because no server uses the copy yet.
//! Values in a bucket are copied into their rows.

use std::collections::BTreeMap;

use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use sha2::{Digest, Sha256};
use sqlx::{AssertSqlSafe, Row, SqlSafeStr, SqlStr};

use crate::Store;
use crate::blobs::COLUMNS;
use crate::error::{Error, Result};
use crate::limits::{COPY_BATCH_BYTES, COPY_BATCH_VALUES};
use crate::location::Location;
use crate::server_settings::{BLOBS_ID, BLOBS_LISTED, BLOBS_SWEPT, MOVED_TO};
use crate::sql::{Bind, NUL_SHOWN, Scope, Transaction, Value, query, query_as, query_scalar};

/// The result of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The name of each table, and the number of its rows.
    pub tables: Vec<(String, u64)>,
    /// The number of texts in which a NUL became U+2400, or invalid UTF-8 became U+FFFD.
    pub replaced: u64,
}

impl Copied {
    /// The number of rows in all tables.
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|(_, rows)| rows).sum()
    }
}

/// Copies a database to another one, while neither is in use. The target must be empty; a target file is created. Either everything is copied, or
/// nothing. If the source has values in a bucket, that bucket must be given.
///
/// # Errors
/// [`Error::Copy`] if either database is unsuitable, the copy differs from the source, or the bucket is missing; [`Error::Blobs`] and
/// [`Error::BlobLost`] if an object cannot be read; otherwise as for [`Store::open`] and [`Store::connect`].
pub async fn copy(from: &Location, to: &Location, blobs: Option<&s3::Bucket>) -> Result<Copied> {
    match (from, to) {
        (Location::File(_), Location::Postgres(_)) | (Location::Postgres(_), Location::File(_)) => {}
        (Location::File(_), Location::File(_)) => {
            return refuse("both are files; use `sandbridge backup` to copy a file".to_owned());
        }
        (Location::Postgres(_), Location::Postgres(_)) => {
            return refuse("both are PostgreSQL databases; use pg_dump to copy one".to_owned());
        }
    }
    if let Location::File(path) = from
        && !path.is_file()
    {
        return refuse(format!("there is no database at {}; check the path", path.display()));
    }
    let mut source = open(from).await?;
    if let Some(bucket) = blobs {
        source = source.with_blobs_unchecked(bucket).await?;
    }
    let copied = async {
        let target = open(to).await?;
        let copied = source.copy_to(&target, to).await;
        target.close().await;
        copied
    };
    let copied = copied.await;
    source.close().await;
    copied
}

/// Opens a database that may already have been copied to another one.
async fn open(location: &Location) -> Result<Store> {
    match location {
        Location::File(path) => Store::open(path).await,
        Location::Postgres(url) => Store::connect(url.expose()).await,
    }
}

fn refuse<T>(why: String) -> Result<T> {
    Err(Error::Copy { why })
}

impl Store {
    async fn copy_to(&self, target: &Store, to: &Location) -> Result<Copied> {
        let mut source = self.database.snapshot().await?;
        let mut copy = target.database.write(Scope::System).await?;
        let postgres = if self.database.is_postgres() { &mut source } else { &mut copy };
        let tables = tables(postgres).await?;
        for table in &tables {
            let sql = format!("SELECT EXISTS (SELECT 1 FROM {})", table.name);
            if query_scalar(AssertSqlSafe(sql)).fetch_one(&mut copy).await? {
                return refuse(format!(
                    "{to} is not empty: its table {} has rows; name an empty database",
                    table.name
                ));
            }
        }
        defer_references(&mut copy).await?;
        let mut copied = Copied { tables: Vec::new(), replaced: 0 };
        for table in &tables {
            let there = table.copy(self, (&mut source, &mut copy), &mut copied.replaced).await?;
            let here = table.sum(&mut copy).await?;
            if there != here {
                let (name, rows, found) = (&table.name, there.rows, here.rows);
                return refuse(format!(
                    "the copy of {name} differs from the source ({rows} rows became {found}), so nothing was kept; copy again"
                ));
            }
            copied.tables.push((table.name.clone(), here.rows));
        }
        crate::message_index::begin_anew(&mut copy).await?;
        copy_sequences(&tables, &mut source, &mut copy).await?;
        hold_references(&mut copy).await?;
        source.commit().await?;
        copy.commit().await?;
        query(
            "INSERT INTO server_settings (name, value) VALUES ($1, $2)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )
        .bind(MOVED_TO)
        .bind(to.to_string())
        .execute(self.database.writer(Scope::System))
        .await?;
        Ok(copied)
    }
}

/// A table, as PostgreSQL describes it.
struct Table {
    name: String,
    columns: Vec<Column>,
    /// The columns of its primary key, which order its rows.
    key: Vec<String>,
}

struct Column {
    name: String,
    kind: Kind,
    is_identity: bool,
}

/// The type of a column.
#[derive(Clone, Copy)]
enum Kind {
    Int,
    SmallInt,
    Bool,
    Text,
    Bytes,
}

/// A value of a row.
enum Cell {
    Int(Option<i64>),
    SmallInt(Option<i32>),
    Bool(Option<bool>),
    Text(Option<String>),
    Bytes(Option<Vec<u8>>),
}

/// The number of rows in a table, and a hash of their content.
#[derive(PartialEq)]
struct Sum {
    rows: u64,
    hash: [u8; 32],
}

/// A sum that is computed row by row.
#[derive(Default)]
struct Counting {
    rows: u64,
    hash: Sha256,
}

/// Lists every table with its columns.
async fn tables(postgres: &mut Transaction) -> Result<Vec<Table>> {
    let columns: Vec<(String, String, String, bool)> = query_as(
        "SELECT table_name::text, column_name::text, data_type::text, is_identity = 'YES' FROM information_schema.columns
         WHERE table_schema = current_schema() AND table_name NOT LIKE '\\_sqlx%' AND table_name NOT LIKE 'search\\_%'
           AND table_name NOT IN ('nodes', 'homes', 'blobs') ORDER BY table_name, ordinal_position",
    )
    .fetch_all(&mut *postgres)
    .await?;
    let keys: Vec<(String, String)> = query_as(
        "SELECT k.table_name::text, k.column_name::text FROM information_schema.table_constraints t
         JOIN information_schema.key_column_usage k USING (constraint_schema, constraint_name)
         WHERE t.table_schema = current_schema() AND t.constraint_type = 'PRIMARY KEY' ORDER BY k.ordinal_position",
    )
    .fetch_all(&mut *postgres)
    .await?;
    let mut tables = BTreeMap::new();
    for (table, name, kind, is_identity) in columns {
        let kind = match kind.as_str() {
            "bigint" => Kind::Int,
            "integer" => Kind::SmallInt,
            "boolean" => Kind::Bool,
            "text" => Kind::Text,
            "bytea" => Kind::Bytes,
            other => {
                return refuse(format!("the column {table}.{name} has the unknown type {other}"));
            }
        };
        let table = tables.entry(table.clone()).or_insert_with(|| Table {
            name: table,
            columns: Vec::new(),
            key: Vec::new(),
        });
        table.columns.push(Column { name, kind, is_identity });
    }
    for (table, column) in keys {
        if let Some(table) = tables.get_mut(&table) {
            table.key.push(column);
        }
    }
    Ok(tables.into_values().collect())
}

impl Table {
    fn column_names(&self) -> String {
        self.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Selects all rows in an order that is the same in both databases: texts are compared by their bytes. Leaves out the settings about the new
    /// location and the bucket.
    fn select(&self) -> SqlStr {
        let columns = self.column_names();
        let order = if self.key.is_empty() { columns.clone() } else { self.key.join(", ") };
        let rows = if self.name == "server_settings" {
            format!("WHERE name NOT IN ('{MOVED_TO}', '{BLOBS_ID}', '{BLOBS_SWEPT}', '{BLOBS_LISTED}')")
        } else {
            String::new()
        };
        AssertSqlSafe(format!("SELECT {columns} FROM {} {rows} ORDER BY {order}", self.name)).into_sql_str()
    }

    fn insert(&self, rows: usize) -> SqlStr {
        let width = self.columns.len();
        let row = |row: usize| {
            let values: Vec<_> = (1..=width).map(|column| format!("${}", row * width + column)).collect();
            format!("({})", values.join(", "))
        };
        let rows: Vec<_> = (0..rows).map(row).collect();
        AssertSqlSafe(format!(
            "INSERT INTO {} ({}) VALUES {}",
            self.name,
            self.column_names(),
            rows.join(", ")
        ))
        .into_sql_str()
    }

    /// Copies all rows, and returns their sum.
    async fn copy(
        &self,
        store: &Store,
        (source, copy): (&mut Transaction, &mut Transaction),
        replaced: &mut u64,
    ) -> Result<Sum> {
        let mut counting = Counting::default();
        let most = (COPY_BATCH_VALUES / self.columns.len()).max(1);
        let (mut batch, mut batch_bytes) = (Vec::new(), 0);
        let mut rows = self.rows(source);
        loop {
            let row = rows.try_next().await?;
            let is_last = row.is_none();
            if let Some((mut row, of_row)) = row {
                self.bring(store, &mut row).await?;
                *replaced += of_row;
                counting.add(&row);
                batch_bytes += row.iter().map(Cell::size_bytes).sum::<usize>();
                batch.push(row);
            }
            if !batch.is_empty() && (is_last || batch.len() == most || batch_bytes >= COPY_BATCH_BYTES) {
                let insert = query(self.insert(batch.len()));
                let insert = batch.iter().flatten().fold(insert, |insert, cell| insert.bind(cell));
                insert.execute(&mut *copy).await?;
                (batch, batch_bytes) = (Vec::new(), 0);
            }
            if is_last {
                return Ok(counting.sum());
            }
        }
    }

    /// Reads a value from the source's bucket into its row.
    async fn bring(&self, store: &Store, row: &mut [Cell]) -> Result<()> {
        let Some((_, column)) = COLUMNS.iter().find(|(table, _)| *table == self.name) else { return Ok(()) };
        let at = |name: &str| self.columns.iter().position(|column| column.name == name);
        let (Some(value), Some(named)) = (at(column), at("blob")) else { return Ok(()) };
        let Cell::Text(Some(object)) = std::mem::replace(&mut row[named], Cell::Text(None)) else {
            return Ok(());
        };
        let brought = match store.bring_object(&object).await {
            Err(Error::NoBlobs { .. }) => {
                let why = "some of its values are in an object store; give the --blobs s3://BUCKET[/PREFIX] that its server uses";
                return refuse(why.to_owned());
            }
            brought => brought?,
        };
        row[value] = match self.columns[value].kind {
            Kind::Text => Cell::Text(Some(String::from_utf8_lossy(&brought).into_owned())),
            _ => Cell::Bytes(Some(brought)),
        };
        Ok(())
    }

    async fn sum(&self, transaction: &mut Transaction) -> Result<Sum> {
        let mut counting = Counting::default();
        let mut rows = self.rows(transaction);
        while let Some((row, _)) = rows.try_next().await? {
            counting.add(&row);
        }
        Ok(counting.sum())
    }

    /// Yields each row, and the number of its texts that were changed.
    fn rows<'a>(&'a self, transaction: &'a mut Transaction) -> BoxStream<'a, Result<(Vec<Cell>, u64)>> {
        match transaction {
            Transaction::Sqlite(connection) => sqlx::query(self.select())
                .fetch(&mut **connection)
                .map(|row| {
                    self.cells(&row?, |row, at, replaced| {
                        // A text of SQLite may contain any bytes.
                        let bytes: Option<Vec<u8>> = row.try_get_unchecked(at)?;
                        Ok(bytes.map(|bytes| clean(bytes, replaced)))
                    })
                })
                .boxed(),
            Transaction::Postgres(connection) => sqlx::query(self.select())
                .fetch(&mut **connection)
                .map(|row| self.cells(&row?, |row, at, _| row.try_get(at)))
                .boxed(),
        }
    }

    fn cells<R>(
        &self,
        row: &R,
        text: impl Fn(&R, usize, &mut u64) -> Result<Option<String>, sqlx::Error>,
    ) -> Result<(Vec<Cell>, u64)>
    where
        R: Row,
        usize: sqlx::ColumnIndex<R>,
        for<'r> Option<i64>: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
        for<'r> Option<i32>: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
        for<'r> Option<bool>: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
        for<'r> Option<Vec<u8>>: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
    {
        let mut replaced = 0;
        let cells = self.columns.iter().enumerate().map(|(at, column)| {
            Ok(match column.kind {
                Kind::Int => Cell::Int(row.try_get(at)?),
                Kind::SmallInt => Cell::SmallInt(row.try_get(at)?),
                Kind::Bool => Cell::Bool(row.try_get(at)?),
                Kind::Text => Cell::Text(text(row, at, &mut replaced)?),
                Kind::Bytes => Cell::Bytes(row.try_get(at)?),
            })
        });
        let cells = cells.collect::<Result<Vec<_>, sqlx::Error>>()?;
        Ok((cells, replaced))
    }
}

/// Returns a text in a form that both databases can store.
fn clean(bytes: Vec<u8>, replaced: &mut u64) -> String {
    let (text, is_utf8) = match String::from_utf8(bytes) {
        Ok(text) => (text, true),
        Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), false),
    };
    let has_nul = text.contains('\0');
    *replaced += u64::from(has_nul || !is_utf8);
    if has_nul { text.replace('\0', NUL_SHOWN) } else { text }
}

impl Cell {
    fn size_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.as_ref().map_or(0, String::len),
            Self::Bytes(bytes) => bytes.as_ref().map_or(0, Vec::len),
            Self::Int(_) | Self::SmallInt(_) | Self::Bool(_) => size_of::<i64>(),
        }
    }
}

impl<'q> Bind<'q> for &'q Cell {
    const NULL: Value<'static> = Value::Int(None);

    fn value(self) -> Value<'q> {
        match self {
            Cell::Int(value) => Value::Int(*value),
            Cell::SmallInt(value) => Value::SmallInt(*value),
            Cell::Bool(value) => Value::Bool(*value),
            Cell::Text(text) => text.as_deref().value(),
            Cell::Bytes(bytes) => bytes.as_deref().value(),
        }
    }
}

impl Counting {
    fn add(&mut self, row: &[Cell]) {
        self.rows += 1;
        for cell in row {
            match cell {
                Cell::Int(value) => self.put(value.map(i64::to_be_bytes).as_ref().map(|bytes| &bytes[..])),
                Cell::SmallInt(value) => {
                    self.put(value.map(i32::to_be_bytes).as_ref().map(|bytes| &bytes[..]));
                }
                Cell::Bool(value) => {
                    self.put(value.map(|value| [u8::from(value)]).as_ref().map(|byte| &byte[..]))
                }
                Cell::Text(text) => self.put(text.as_deref().map(str::as_bytes)),
                Cell::Bytes(bytes) => self.put(bytes.as_deref()),
            }
        }
    }

    /// Adds a value preceded by its length, so that different rows get different hashes; NULL has a length that no value has.
    fn put(&mut self, bytes: Option<&[u8]>) {
        let length = bytes.map_or(u64::MAX, |bytes| bytes.len() as u64);
        self.hash.update(length.to_be_bytes());
        self.hash.update(bytes.unwrap_or_default());
    }

    fn sum(self) -> Sum {
        Sum { rows: self.rows, hash: self.hash.finalize().into() }
    }
}

/// Allows rows to be inserted before the rows that they refer to.
async fn defer_references(copy: &mut Transaction) -> Result<()> {
    if matches!(copy, Transaction::Sqlite(_)) {
        query("PRAGMA defer_foreign_keys = ON").execute(&mut *copy).await?;
        return Ok(());
    }
    alter_references(copy, "DEFERRABLE INITIALLY DEFERRED").await
}

/// Checks that every referenced row exists. SQLite does so at the commit.
async fn hold_references(copy: &mut Transaction) -> Result<()> {
    if matches!(copy, Transaction::Postgres(_)) {
        query("SET CONSTRAINTS ALL IMMEDIATE").execute(&mut *copy).await?;
        alter_references(copy, "NOT DEFERRABLE").await?;
    }
    Ok(())
}

async fn alter_references(copy: &mut Transaction, how: &str) -> Result<()> {
    let references: Vec<(String, String)> = query_as(
        "SELECT conrelid::regclass::text, conname::text FROM pg_constraint
         WHERE contype = 'f' AND connamespace = current_schema()::regnamespace",
    )
    .fetch_all(&mut *copy)
    .await?;
    for (table, name) in references {
        let alter = format!("ALTER TABLE {table} ALTER CONSTRAINT {name} {how}");
        query(AssertSqlSafe(alter)).execute(&mut *copy).await?;
    }
    Ok(())
}

/// Continues ids where the source left off: after the highest id ever assigned, not after the highest that still exists.
async fn copy_sequences(tables: &[Table], source: &mut Transaction, copy: &mut Transaction) -> Result<()> {
    for table in tables {
        let Some(column) = table.columns.iter().find(|column| column.is_identity) else { continue };
        let (table, column) = (&table.name, &column.name);
        match source {
            Transaction::Sqlite(_) => {
                let last: Option<i64> = query_scalar("SELECT seq FROM sqlite_sequence WHERE name = $1")
                    .bind(table)
                    .fetch_optional(&mut *source)
                    .await?;
                if let Some(last) = last.filter(|last| *last > 0) {
                    let set = format!("SELECT setval(pg_get_serial_sequence('{table}', '{column}'), $1)");
                    query_scalar::<i64>(AssertSqlSafe(set)).bind(last).fetch_one(&mut *copy).await?;
                }
            }
            Transaction::Postgres(_) => {
                let last = format!(
                    "SELECT pg_sequence_last_value(pg_get_serial_sequence('{table}', '{column}')::regclass)"
                );
                let last: Option<i64> = query_scalar(AssertSqlSafe(last)).fetch_one(&mut *source).await?;
                let Some(last) = last else { continue };
                query("DELETE FROM sqlite_sequence WHERE name = $1").bind(table).execute(&mut *copy).await?;
                query("INSERT INTO sqlite_sequence (name, seq) VALUES ($1, $2)")
                    .bind(table)
                    .bind(last)
                    .execute(&mut *copy)
                    .await?;
            }
        }
    }
    Ok(())
}

//! Connections of the runner itself.
//!
//! The thread that runs everything is confined like the commands, and may have no network. So a thread with the machine's
//! network creates the socket and begins the connection; only the waiting is done here.

use std::io;
use std::net::SocketAddr;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use tokio::net::TcpStream;

use super::names;
use crate::blocking::blocking;

/// Connects to a host by its name, or its address.
///
/// # Errors
/// The name is unknown, or no address of it answers.
pub(crate) async fn connect_by_name(host: &str, port: u16) -> io::Result<TcpStream> {
    connect(look_up(host, port).await?).await
}

/// The addresses of a host; looked up by a thread that sees the machine's files and network, not the commands'.
///
/// # Errors
/// The name is unknown.
pub(crate) async fn look_up(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let host = host.to_owned();
    blocking(move || names::look_up(&host, port)).await.map_err(io::Error::other)?
}

/// Connects to the first of `addresses` that answers.
///
/// # Errors
/// No address answers; the error is that of the last one.
pub(crate) async fn connect(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut failure = io::Error::new(io::ErrorKind::InvalidInput, "the name has no address");
    for address in addresses {
        match connect_to(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

async fn connect_to(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = blocking(move || begin(address)).await.map_err(io::Error::other)??;
    let stream = TcpStream::from_std(stream)?;
    stream.writable().await?;
    match stream.take_error()? {
        None => Ok(stream),
        Some(error) => Err(error),
    }
}

/// Begins a connection without waiting for it.
fn begin(address: SocketAddr) -> io::Result<std::net::TcpStream> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    match rustix::net::connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket.into()),
        Err(error) => Err(error.into()),
    }
}

//! Just enough HTTP/1.1: one request and one answer per connection.

use std::io;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

/// No agent sends more than this in one request, and no line of a request is longer than the next.
const MAX_BODY_BYTES: u64 = 64 << 20;
const MAX_LINE_BYTES: u64 = 64 << 10;

/// An agent that says nothing for so long has gone.
const MAX_WAIT_FOR_REQUEST: Duration = Duration::from_secs(60);

/// What was asked.
pub struct Request {
    /// `GET`, `POST` and so on.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The body, unpacked.
    pub body: Vec<u8>,
}

/// What is answered.
pub struct Response {
    kind: &'static str,
    body: Vec<u8>,
}

impl Response {
    /// A whole answer.
    pub fn json(value: &Value) -> Self {
        Self { kind: "application/json", body: value.to_string().into_bytes() }
    }

    /// An answer in pieces. A piece has a name where the provider gives it one.
    pub fn events(events: &[(Option<&str>, String)]) -> Self {
        let mut body = Vec::new();
        for (name, data) in events {
            if let Some(name) = name {
                body.extend_from_slice(format!("event: {name}\n").as_bytes());
            }
            body.extend_from_slice(format!("data: {data}\n\n").as_bytes());
        }
        Self { kind: "text/event-stream", body }
    }

    /// Sends it; without the body for `HEAD`.
    pub fn send(&self, mut stream: &TcpStream, only_head: bool) -> io::Result<()> {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            self.kind,
            self.body.len()
        );
        stream.write_all(head.as_bytes())?;
        if !only_head {
            stream.write_all(&self.body)?;
        }
        stream.flush()
    }
}

/// Reads one request.
pub fn read(stream: &TcpStream) -> io::Result<Request> {
    stream.set_read_timeout(Some(MAX_WAIT_FOR_REQUEST))?;
    let mut reader = BufReader::new(stream);
    let first = line(&mut reader)?;
    let mut words = first.split(' ');
    let method = words.next().unwrap_or_default().to_owned();
    let path = words.next().unwrap_or_default().to_owned();
    let mut length = 0;
    let mut is_chunked = false;
    let mut is_packed = false;
    loop {
        let header = line(&mut reader)?;
        if header.is_empty() {
            break;
        }
        let (name, value) = header.split_once(':').unwrap_or((&header, ""));
        let value = value.trim().to_ascii_lowercase();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().map_err(io::Error::other)?,
            "transfer-encoding" => is_chunked = value == "chunked",
            "content-encoding" => is_packed = value == "zstd",
            "expect" => (&mut &*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?,
            _ => {}
        }
    }
    let body = if is_chunked { read_chunks(&mut reader)? } else { exactly(&mut reader, length)? };
    let body = if is_packed { unpack(&body)? } else { body };
    Ok(Request { method, path, body })
}

fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    reader.take(MAX_LINE_BYTES).read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

fn exactly(reader: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    if length > MAX_BODY_BYTES {
        return Err(io::Error::other("the request is too large"));
    }
    let mut bytes = Vec::new();
    reader.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(reader)?;
        let size = size.split(';').next().unwrap_or_default();
        let size = u64::from_str_radix(size, 16).map_err(io::Error::other)?;
        if size == 0 || body.len() as u64 + size > MAX_BODY_BYTES {
            line(reader)?;
            return Ok(body);
        }
        body.extend(exactly(reader, size)?);
        line(reader)?;
    }
}

/// Some agents pack large requests. That is rare enough to leave it to the program everybody has.
fn unpack(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut child = Command::new("zstd")
        .arg("-dc")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut input = child.stdin.take();
    std::thread::scope(|scope| {
        scope.spawn(move || input.as_mut().map(|input| input.write_all(body)));
        child.wait_with_output().map(|output| output.stdout)
    })
}

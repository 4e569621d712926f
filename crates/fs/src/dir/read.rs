//! Reading small files whole.

use std::fs::File;
use std::os::fd::AsFd;

use rustix::fs::FileType;
use rustix::path::Arg;

use crate::file::stat_fd;
use crate::{Dir, Errno, FileKind, Result};

impl Dir {
    /// Reads a whole small file, refusing one above `limit` bytes. `None` when nothing is there.
    pub fn read_opt(&self, name: impl Arg + Copy, limit: u64) -> Result<Option<Vec<u8>>> {
        use std::io::Read;
        let file = match self.open_file_raw(name) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(e) => return Err(self.error("open", name, e)),
        };
        let mut bytes = Vec::new();
        let stat = stat_fd(file.as_fd()).map_err(|e| self.error("look at", name, e))?;
        if stat.kind != FileKind::File {
            let error = self.error("read", name, Errno::INVAL);
            return Err(error.because(format!("it is {}, not a file", kind_in_words(&file))));
        }
        bytes.reserve_exact(stat.size.min(limit) as usize + 1);
        let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|e| self.error("read", name, Errno::from_io_error(&e).unwrap_or(Errno::IO)))?;
        if bytes.len() as u64 > limit {
            let error = self.error("read", name, Errno::FBIG);
            return Err(error.because(format!("it is larger than {}", size_in_words(limit))));
        }
        Ok(Some(bytes))
    }

    /// Reads the beginning of a file into `buffer` and tells how much of it that fills. `None` when nothing
    /// is there. For very many small files that are known to be files: nothing is asked but the content.
    pub fn read_small(&self, name: impl Arg + Copy, buffer: &mut [u8]) -> Result<Option<usize>> {
        let file = match self.open_file_raw(name) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(e) => return Err(self.error("open", name, e)),
        };
        let mut length = 0;
        while length < buffer.len() {
            match rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut buffer[length..])) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(e) => return Err(self.error("read", name, e)),
            }
        }
        Ok(Some(length))
    }

    /// Reads a whole small file, refusing one above `limit` bytes.
    pub fn read(&self, name: impl Arg + Copy, limit: u64) -> Result<Vec<u8>> {
        self.read_opt(name, limit)?.ok_or_else(|| self.error("open", name, Errno::NOENT))
    }
}

fn kind_in_words(file: &File) -> &'static str {
    let kind = rustix::fs::fstat(file).map(|stat| FileType::from_raw_mode(stat.st_mode));
    match kind {
        Ok(FileType::Directory) => "a directory",
        Ok(FileType::Fifo) => "a named pipe",
        Ok(FileType::Socket) => "a socket",
        Ok(FileType::CharacterDevice | FileType::BlockDevice) => "a device",
        _ => "something else",
    }
}

fn size_in_words(bytes: u64) -> String {
    match bytes {
        0 => "0 bytes".to_owned(),
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn a_file_that_is_a_link_is_not_opened_by_any_door() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("file"), "secret").unwrap();
        std::os::unix::fs::symlink("file", place.path().join("link")).unwrap();
        let dir = Dir::open(place.path()).unwrap();
        assert!(dir.open_file("file").is_ok());
        assert!(dir.open_file("link").is_err());
        assert!(dir.open_permanent("link").is_err());
        assert!(dir.open_existing("link").is_err());
        assert!(dir.read("link", 100).is_err());
        assert!(dir.read_opt("link", 100).is_err());
        assert!(dir.read_small("link", &mut [0; 100]).is_err());
    }

    #[test]
    fn nothing_is_reached_through_a_link_or_upwards() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("root");
        std::fs::create_dir_all(root.join("real/below")).unwrap();
        std::fs::create_dir_all(place.path().join("outside/below")).unwrap();
        std::os::unix::fs::symlink("../outside", root.join("out")).unwrap();
        std::os::unix::fs::symlink("real", root.join("inside")).unwrap();
        let dir = Dir::open(&root).unwrap();
        assert!(dir.open_beneath(b"real/below").is_ok());
        for path in ["out", "out/below", "inside/below", "../outside"] {
            assert!(dir.open_beneath(path.as_bytes()).is_err(), "{path}");
        }
    }

    #[test]
    fn what_is_no_small_file_is_named_as_what_it_is() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("directory")).unwrap();
        std::fs::write(place.path().join("large"), vec![b'a'; (1 << 20) + 1]).unwrap();
        let fifo = place.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        let dir = Dir::open(place.path()).unwrap();
        for (name, limit, errno, words) in [
            ("directory", 9, Errno::INVAL, "it is a directory, not a file"),
            ("pipe", 9, Errno::INVAL, "it is a named pipe, not a file"),
            ("large", 1 << 20, Errno::FBIG, "it is larger than 1 MiB"),
            ("large", 3 << 10, Errno::FBIG, "it is larger than 3 KiB"),
            ("large", 9, Errno::FBIG, "it is larger than 9 bytes"),
        ] {
            let error = dir.read_opt(name, limit).unwrap_err();
            assert_eq!(error.errno(), Some(errno), "{name}");
            assert_eq!(error.source().unwrap().to_string(), words, "{name}");
        }
        let devices = Dir::open(std::path::Path::new("/dev")).unwrap();
        let error = devices.read_opt("null", 9).unwrap_err();
        assert_eq!(error.source().unwrap().to_string(), "it is a device, not a file");
    }
}

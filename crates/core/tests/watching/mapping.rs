//! Another process with a file mapped.

use herma_testkit::Bounded;
use std::io::Read;
use std::io::Write;
use std::path::Path;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;

const MAPS: &str = "
import mmap, sys
with open(sys.argv[1], 'r+b') as file:
    pages = mmap.mmap(file.fileno(), 0)
sys.stdout.write('.')
sys.stdout.flush()
while True:
    byte = sys.stdin.buffer.read(1)
    if not byte:
        break
    pages[0:1] = byte
    sys.stdout.write('.')
    sys.stdout.flush()
";

/// A process that maps a file, has closed it, and stores to it when told to.
pub struct Mapping(Child);

impl Mapping {
    pub fn of(file: &Path) -> Self {
        let child = Command::new("python3")
            .args(["-c", MAPS])
            .arg(file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .bounded_spawn()
            .unwrap();
        let mut mapping = Self(child);
        mapping.wait();
        mapping
    }

    fn wait(&mut self) {
        let stdout = self.0.stdout.as_mut().unwrap();
        stdout.read_exact(&mut [0]).unwrap();
    }

    /// Stores a byte.
    pub fn store(&mut self, byte: u8) {
        self.0.stdin.as_mut().unwrap().write_all(&[byte]).unwrap();
        self.wait();
    }

    /// Lets go of the file.
    pub fn close(mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

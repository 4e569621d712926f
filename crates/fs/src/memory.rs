//! Memory for a large file that is read in one go.

/// Zeroed memory that is about to be filled whole. The system may give it in large pages: what it takes to hand out
/// two thousand small ones is more than it takes to read what they are for.
pub fn large_buffer(length: usize) -> Vec<u8> {
    let mut buffer = vec![0; length];
    prefer_large_pages(&mut buffer);
    buffer
}

#[cfg(target_os = "linux")]
fn prefer_large_pages(buffer: &mut [u8]) {
    use rustix::mm::Advice;
    use rustix::mm::madvise;
    const LARGE_PAGE: usize = 2 << 20;
    if buffer.len() < 2 * LARGE_PAGE {
        return;
    }
    let before = buffer.as_ptr().align_offset(LARGE_PAGE);
    let Some(inner) = buffer.get_mut(before..) else {
        return;
    };
    let length = inner.len() & !(LARGE_PAGE - 1);
    // SAFETY: the range begins and ends on page boundaries within memory that is ours alone, and this advice changes
    // no content, only what kind of pages it is kept in. A system that does not take it gives small pages.
    let _ = unsafe { madvise(inner.as_mut_ptr().cast(), length, Advice::LinuxHugepage) };
}

#[cfg(not(target_os = "linux"))]
fn prefer_large_pages(_buffer: &mut [u8]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_buffer_is_zeroed_and_can_be_filled() {
        for length in [0, 1, 4 << 20, (9 << 20) + 1] {
            let mut buffer = large_buffer(length);
            assert_eq!(buffer.len(), length);
            assert!(buffer.iter().all(|byte| *byte == 0));
            buffer.fill(7);
            assert!(buffer.iter().all(|byte| *byte == 7));
        }
    }
}

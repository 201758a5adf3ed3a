//! Maps files read-only. It is the only crate with `unsafe`, because a mapping has no safe form: whoever shortens the
//! file makes the kernel answer a read with SIGBUS, which would end the process.
//!
//! A handler of that signal puts a page of zeros in the place of the lost one, and [`MappedFile::is_intact`] is false
//! from then on. Whoever reads must therefore check all that it reads, and ask `is_intact` before it uses a result.
//! This crate knows nothing of the content.

use std::fs::{File, Metadata};
use std::io;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::SystemTime;

use memmap2::Mmap;

/// One mapping as the signal handler sees it: first address (0: unused), length, and whether a page was lost.
struct Place(AtomicUsize, AtomicUsize, AtomicBool);

/// The most mappings at a time. Further files are refused.
const MOST: usize = 64;
static PLACES: [Place; MOST] =
    [const { Place(AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false)) }; MOST];
/// Whether the handler could be installed.
static HANDLER: OnceLock<bool> = OnceLock::new();

/// A read-only mapping of a whole file.
#[derive(Debug)]
pub struct MappedFile {
    map: Mmap,
    file: File,
    /// Length and time of the last change when it was mapped.
    state: (u64, Option<SystemTime>),
    place: usize,
}

impl MappedFile {
    /// Maps a file.
    ///
    /// # Errors
    /// When it cannot be mapped, or too many files are.
    pub fn open(file: File) -> io::Result<MappedFile> {
        if !HANDLER.get_or_init(install_handler) {
            return Err(io::Error::other("the handler of SIGBUS cannot be installed"));
        }
        let state = state_of(&file)?;
        // SAFETY: the mapping is read-only and only lent as bytes, for which every value is valid. A file that changes
        // meanwhile gives other bytes, or zeros; readers check them.
        let map = unsafe { Mmap::map(&file)? };
        let start = map.as_ptr() as usize;
        let place = (0..MOST).find(|at| PLACES[*at].0.compare_exchange(0, start, SeqCst, SeqCst).is_ok());
        let place = place.ok_or_else(|| io::Error::other("too many mapped files"))?;
        PLACES[place].2.store(false, SeqCst);
        PLACES[place].1.store(map.len(), SeqCst);
        Ok(MappedFile {
            map,
            file,
            state,
            place,
        })
    }

    /// Whether the file is as it was when it was mapped, as far as its length and times tell, and no page was lost. Once
    /// false, it stays so.
    pub fn is_intact(&self) -> bool {
        let is_lost = &PLACES[self.place].2;
        if state_of(&self.file).is_ok_and(|now| now == self.state) {
            return !is_lost.load(SeqCst);
        }
        is_lost.store(true, SeqCst);
        false
    }

    /// Whether a path still leads to this file.
    pub fn is_at(&self, path: &Path) -> bool {
        let id = |data: &Metadata| (data.dev(), data.ino());
        let files = self.file.metadata().ok().zip(path.metadata().ok());
        files.is_some_and(|(own, other)| id(&own) == id(&other))
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        PLACES[self.place].1.store(0, SeqCst);
        PLACES[self.place].0.store(0, SeqCst);
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

fn state_of(file: &File) -> io::Result<(u64, Option<SystemTime>)> {
    let now = file.metadata()?;
    Ok((now.len(), now.modified().ok()))
}

fn install_handler() -> bool {
    // SAFETY: the action is wholly initialised, and the handler calls only what a signal handler may call. The stack for
    // signals that Rust gives each thread is used, as Rust's own handlers do.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = replace_lost_page as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut()) == 0
    }
}

extern "C" fn replace_lost_page(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel gives a valid `info`. Only a page of one of our own mappings is replaced, which stays readable
    // and read-only. Any other fault gets the default action, which ends the process when the read is repeated.
    unsafe {
        let address = (*info).si_addr() as usize;
        let is_ours = |place: &&Place| address.wrapping_sub(place.0.load(SeqCst)) < place.1.load(SeqCst);
        let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let start = (address & !(page - 1)) as *mut libc::c_void;
        // Before other threads can read the zeros.
        let place = PLACES
            .iter()
            .find(is_ours)
            .inspect(|place| place.2.store(true, SeqCst));
        let replaced = place.map(|_| libc::mmap(start, page, libc::PROT_READ, flags, -1, 0));
        if replaced.is_none_or(|page| page == libc::MAP_FAILED) {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
}

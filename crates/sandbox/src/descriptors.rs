//! Descriptors that the process inherited. They could lead to a database, a key or a socket.

use std::os::fd::RawFd;

/// The first descriptor after stdin, stdout and stderr.
const FIRST: RawFd = 3;

/// Closes every descriptor but stdin, stdout and stderr.
pub(crate) fn close_all() -> Result<(), String> {
    for descriptor in open().map_err(|error| error.to_string())? {
        // The folder's own descriptor is in the list and closed already.
        let _ = nix::unistd::close(descriptor);
    }
    match open().map_err(|error| error.to_string())?.len() {
        // The second look has a descriptor for the folder itself.
        0 | 1 => Ok(()),
        more => Err(format!("{} descriptors stay open", more - 1)),
    }
}

/// The open descriptors from [`FIRST`] on, with the one that reads the list.
fn open() -> std::io::Result<Vec<RawFd>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let number: Option<RawFd> = entry?.file_name().to_str().and_then(|name| name.parse().ok());
        found.extend(number.filter(|number| *number >= FIRST));
    }
    Ok(found)
}

//! A process behind its walls that does what an attacker would do. The test `walls` starts it.
//!
//! Arguments: `none`, `build` or `close` (how far the walls are built), the folder that it may read before they
//! are closed, the file of a secret beside a socket `socket`, and the acts. It prints one line for each act: `ACT: refused (…)` or `ACT: SUCCEEDED`.

#![expect(clippy::print_stdout, reason = "the test reads the outcome of each act")]

use std::fmt::Display;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::PathBuf;
use std::process::Command;

use nix::sys::ptrace;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::getppid;
use rustix::process::{Resource, Rlimit, setrlimit};
use sandbox::{Plan, Walls};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [extent, folder, secret, acts @ ..] = arguments.as_slice() else {
        panic!("EXTENT FOLDER SECRET ACT…");
    };
    if extent != "none" {
        let mut walls = Walls::build(&Plan {
            memory: 1 << 30,
            readable: vec![PathBuf::from(folder)],
        });
        if extent == "close" {
            walls.close();
        }
        for missing in walls.missing() {
            println!("missing {}: {:?}", missing.wall.as_str(), missing.fault);
        }
    }
    for act in acts {
        match attempt(act, folder, secret) {
            Ok(()) => println!("{act}: SUCCEEDED"),
            Err(reason) => println!("{act}: refused ({reason})"),
        }
    }
}

/// Tries an act. `Ok` means that the walls let it through.
fn attempt(act: &str, folder: &str, secret: &str) -> Result<(), String> {
    let parent = getppid();
    match act {
        "read the model" => done(std::fs::read(PathBuf::from(folder).join("model"))),
        "write beside the model" => done(std::fs::write(PathBuf::from(folder).join("new"), "x")),
        "read the key" => done(std::fs::read(secret)),
        "list the key's folder" => done(std::fs::read_dir(PathBuf::from(secret).with_file_name(""))),
        "read the parent's environment" => done(std::fs::read(format!("/proc/{parent}/environ"))),
        "read the parent's memory by file" => done(std::fs::read(format!("/proc/{parent}/mem"))),
        "read the parent's memory by call" => {
            let mut bytes = [0; 8];
            let remote = [RemoteIoVec { base: 0x1000, len: 8 }];
            let mut local = [std::io::IoSliceMut::new(&mut bytes)];
            match process_vm_readv(parent, &mut local, &remote) {
                // The address is not mapped, so the call itself was allowed.
                Err(nix::Error::EFAULT) | Ok(_) => Ok(()),
                Err(error) => Err(error.to_string()),
            }
        }
        "trace the parent" => done(ptrace::attach(parent)),
        "signal the parent" => done(nix::sys::signal::kill(parent, None)),
        "use an inherited descriptor" => {
            // 3 to 63 were open or not; the walls closed them all.
            let open = (3..64).find(|fd| nix::unistd::close(*fd).is_ok());
            open.map(|_| ()).ok_or_else(|| "none is open".into())
        }
        "read the environment" => match std::env::vars_os().next() {
            Some(_) => Ok(()),
            None => Err("it is empty".into()),
        },
        "allow itself more processor time" => {
            let limit = Rlimit {
                current: None,
                maximum: None,
            };
            done(setrlimit(Resource::Cpu, limit))
        }
        "open a TCP socket" => done(TcpListener::bind("127.0.0.1:0")),
        "open a UDP socket" => done(UdpSocket::bind("127.0.0.1:0")),
        "open a Unix socket" => done(UnixDatagram::unbound()),
        "connect to a Unix socket" => done(UnixStream::connect(
            PathBuf::from(secret).with_file_name("socket"),
        )),
        "start a program" => done(Command::new("/bin/true").status()),
        "leave its namespaces" => done(nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWUSER)),
        "raise a limit" => {
            let more = Some(2 << 30);
            let limit = Rlimit {
                current: more,
                maximum: more,
            };
            done(setrlimit(Resource::As, limit))
        }
        "start a thread" => std::thread::Builder::new()
            .spawn(|| 7)
            .map_err(|error| error.to_string())?
            .join()
            .map(|_| ())
            .map_err(|_| "it panicked".into()),
        "take 2 GiB" => done(Vec::<u8>::new().try_reserve_exact(2 << 30)),
        other => panic!("unknown act: {other}"),
    }
}

fn done<T, E: Display>(result: Result<T, E>) -> Result<(), String> {
    result.map(|_| ()).map_err(|error| error.to_string())
}

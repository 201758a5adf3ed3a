//! The system calls that are left (seccomp(2)).
//!
//! The list contains what computing on several threads needs: memory, threads of this process, locks, clocks,
//! and the descriptors that are already open. Opening files, sockets, starting programs, other processes and
//! new descriptors are refused with EPERM.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// Calls that are allowed with any argument.
const ALLOWED: [libc::c_long; 40] = [
    // Descriptors that are open.
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_lseek,
    libc::SYS_ppoll,
    // Memory. `mmap` and `mprotect` have rules of their own.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    // Locks and threads. `clone` has a rule of its own.
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_rseq,
    libc::SYS_set_tid_address,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getcpu,
    libc::SYS_membarrier,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // Signals to itself. `tgkill` has a rule of its own.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    // Clocks and random numbers.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_times,
    libc::SYS_uname,
    libc::SYS_getppid,
];

/// The flags of `clone` that create a namespace.
const NAMESPACES: u32 = libc::CLONE_NEWNS.cast_unsigned()
    | libc::CLONE_NEWCGROUP.cast_unsigned()
    | libc::CLONE_NEWUTS.cast_unsigned()
    | libc::CLONE_NEWIPC.cast_unsigned()
    | libc::CLONE_NEWUSER.cast_unsigned()
    | libc::CLONE_NEWPID.cast_unsigned()
    | libc::CLONE_NEWNET.cast_unsigned();

/// Applies the filter to all threads of this process.
pub(crate) fn allow_few() -> Result<(), String> {
    let compiled = programs().map_err(|error| error.to_string())?;
    for program in compiled {
        seccompiler::apply_filter_all_threads(&program).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The filters, in the order in which they are applied. The strictest answer of all counts.
fn programs() -> Result<[BpfProgram; 2], BackendError> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let errno = |number: i32| SeccompAction::Errno(number.cast_unsigned());
    // libc tries `clone3` first, whose arguments a filter cannot read, and falls back to `clone` if the kernel
    // seems not to have it.
    let no_clone3 = SeccompFilter::new(
        [(libc::SYS_clone3, vec![])].into_iter().collect(),
        SeccompAction::Allow,
        errno(libc::ENOSYS),
        arch,
    )?;
    let few = SeccompFilter::new(rules()?, errno(libc::EPERM), SeccompAction::Allow, arch)?;
    Ok([no_clone3.try_into()?, few.try_into()?])
}

fn rules() -> Result<BTreeMap<libc::c_long, Vec<SeccompRule>>, BackendError> {
    // Every condition compares 32 bits of an argument.
    let condition =
        |argument, operator, value| SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value);
    let only_if = |one: Result<SeccompCondition, BackendError>| SeccompRule::new(vec![one?]);
    let executable = libc::PROT_EXEC.cast_unsigned().into();
    let not_executable = || only_if(condition(2, SeccompCmpOp::MaskedEq(executable), 0));
    let thread = u64::from(libc::CLONE_THREAD.cast_unsigned());
    let own = std::process::id().into();
    // Stacked filters: `clone3` must pass here, because the other filter answers it.
    let mut rules: BTreeMap<_, _> = ALLOWED
        .into_iter()
        .chain([libc::SYS_clone3])
        .map(|call| (call, vec![]))
        .collect();
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_poll, vec![]);
    rules.extend([
        (libc::SYS_mmap, vec![not_executable()?]),
        (libc::SYS_mprotect, vec![not_executable()?]),
        (
            libc::SYS_clone,
            // A thread of this process, in the same namespaces.
            vec![only_if(condition(
                0,
                SeccompCmpOp::MaskedEq(thread | u64::from(NAMESPACES)),
                thread,
            ))?],
        ),
        (
            libc::SYS_tgkill,
            vec![only_if(condition(0, SeccompCmpOp::Eq, own))?],
        ),
        (
            // Names of its threads.
            libc::SYS_prctl,
            vec![only_if(condition(
                0,
                SeccompCmpOp::Eq,
                libc::PR_SET_NAME.cast_unsigned().into(),
            ))?],
        ),
        (
            // Its own limit of processor time, which grows from file to file.
            libc::SYS_prlimit64,
            vec![SeccompRule::new(vec![
                condition(0, SeccompCmpOp::Eq, 0)?,
                condition(1, SeccompCmpOp::Eq, libc::RLIMIT_CPU.into())?,
            ])?],
        ),
    ]);
    Ok(rules)
}

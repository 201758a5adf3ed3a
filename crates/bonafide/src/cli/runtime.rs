//! The async runtime of the server and of the commands that use the data.

/// The stack of a worker thread, in bytes. Builds without optimisation keep whole futures on it. Only pages that
/// are used take memory.
const STACK: usize = 16 << 20;

/// Runs a future to completion on a new runtime.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK)
        .build()?
        .block_on(work)
}

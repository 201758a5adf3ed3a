//! The sessions of one model. A run needs its own session, because ONNX Runtime's `Run` is not thread-safe.
//!
//! The pool opens a session if none is idle, up to a limit. Beyond the limit callers wait until a session is
//! idle.

use std::{
    collections::HashMap,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use ort::{environment::Environment, session::Session, value::TensorRef};

use crate::{Input, ModelError, Tensor, manifest::CheckedFile, runtime};

#[derive(Debug)]
pub(crate) struct Pool {
    environment: &'static Environment,
    name: String,
    file: CheckedFile,
    threads: usize,
    limit: usize,
    sessions: Mutex<Sessions>,
    returned: Condvar,
    inputs_run: AtomicU64,
}

#[derive(Debug, Default)]
struct Sessions {
    idle: Vec<Session>,
    /// The number of idle and busy sessions.
    open: usize,
    /// Metadata by key. It is cached, because reading it needs an idle session.
    metadata: HashMap<String, Option<String>>,
}

impl Pool {
    pub(crate) fn new(
        environment: &'static Environment,
        name: String,
        file: CheckedFile,
        threads: usize,
        limit: usize,
    ) -> Self {
        let (sessions, returned, inputs_run) = Default::default();
        Self {
            environment,
            name,
            file,
            threads,
            limit,
            sessions,
            returned,
            inputs_run,
        }
    }

    pub(crate) fn version(&self) -> &str {
        &self.file.version
    }

    pub(crate) fn run(&self, input: Input<'_>) -> Result<Vec<Tensor>, ModelError> {
        self.run_outputs(input, usize::MAX)
    }

    /// Runs the model, and returns its first output only. Others may have any type.
    pub(crate) fn run_first(&self, input: Input<'_>) -> Result<Vec<Tensor>, ModelError> {
        self.run_outputs(input, 1)
    }

    fn run_outputs(&self, input: Input<'_>, most: usize) -> Result<Vec<Tensor>, ModelError> {
        let refused = |reason: String| ModelError::Input {
            name: self.name.clone(),
            shape: input.shape.to_vec(),
            reason,
        };
        let size = input
            .shape
            .iter()
            .try_fold(1_usize, |size, &length| size.checked_mul(length));
        if size != Some(input.data.len()) || input.data.is_empty() {
            return Err(refused(format!("it holds {} values", input.data.len())));
        }
        let value = TensorRef::from_array_view((input.shape, input.data))
            .map_err(|error| refused(error.to_string()))?;
        let mut lease = self.lease()?;
        let outputs = lease
            .session()
            .run(ort::inputs![value])
            .map_err(|error| refused(error.to_string()))?;
        let batch = input.shape.first().map_or(0, |&length| length as u64);
        self.inputs_run.fetch_add(batch, Ordering::Relaxed);
        outputs
            .values()
            .take(most)
            .map(|output| {
                let (shape, data) = output
                    .try_extract_tensor::<f32>()
                    .map_err(|error| refused(error.to_string()))?;
                let shape = shape
                    .iter()
                    .map(|&length| usize::try_from(length).unwrap_or(0))
                    .collect();
                Ok(Tensor {
                    shape,
                    data: data.to_vec(),
                })
            })
            .collect()
    }

    pub(crate) fn inputs_run(&self) -> u64 {
        self.inputs_run.load(Ordering::Relaxed)
    }

    pub(crate) fn metadata(&self, key: &str) -> Option<String> {
        if let Some(known) = self.lock().metadata.get(key) {
            return known.clone();
        }
        let mut lease = self.lease().ok()?;
        let value = lease.session().metadata().ok()?.custom(key);
        self.lock().metadata.insert(key.to_owned(), value.clone());
        value
    }

    /// Takes a session for one run: an idle one, else a new one, else the next that becomes idle.
    fn lease(&self) -> Result<Lease<'_>, ModelError> {
        let mut sessions = self
            .returned
            .wait_while(self.lock(), |sessions| {
                sessions.idle.is_empty() && sessions.open >= self.limit
            })
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = sessions.idle.pop() {
            return Ok(Lease {
                pool: self,
                session: Some(session),
            });
        }
        sessions.open += 1;
        drop(sessions);
        // The lease is created before the session, so that its drop frees the place if the session fails to
        // open.
        let mut lease = Lease {
            pool: self,
            session: None,
        };
        let session =
            runtime::session(self.environment, &self.file.path, self.threads).map_err(|reason| {
                ModelError::Load {
                    name: self.name.clone(),
                    reason,
                }
            })?;
        lease.session = Some(session);
        Ok(lease)
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        // A panic cannot leave inconsistent state, because each change under the lock is a single step.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the pool. Dropping it returns the session, or frees the place if there is no session.
struct Lease<'a> {
    pool: &'a Pool,
    session: Option<Session>,
}

impl Lease<'_> {
    #[expect(
        clippy::expect_used,
        reason = "`Pool::lease` hands out leases that hold a session, and only `drop` takes it"
    )]
    fn session(&mut self) -> &mut Session {
        self.session
            .as_mut()
            .expect("a lease holds a session until it is dropped")
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let mut sessions = self.pool.lock();
        match self.session.take() {
            Some(session) => sessions.idle.push(session),
            None => sessions.open -= 1,
        }
        drop(sessions);
        self.pool.returned.notify_one();
    }
}

//! Sessions of one model. A run needs a session to itself (ONNX Runtime's `Run` is not thread-safe), so there are as
//! many as runs were ever under way at once, up to a limit; beyond it callers wait for one to come back.

use std::{
    collections::HashMap,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use ort::{environment::Environment, session::Session, value::TensorRef};

use crate::{Input, ModelError, ModelName, Tensor, manifest::CheckedFile, runtime};

#[derive(Debug)]
pub(crate) struct Pool {
    environment: &'static Environment,
    name: ModelName,
    file: CheckedFile,
    threads: usize,
    limit: usize,
    sessions: Mutex<Sessions>,
    returned: Condvar,
}

#[derive(Debug, Default)]
struct Sessions {
    idle: Vec<Session>,
    /// Idle ones and those at work.
    open: usize,
    /// Metadata by key, looked up once: asking a session needs the session to be idle.
    metadata: HashMap<String, Option<String>>,
}

impl Pool {
    pub(crate) fn new(
        environment: &'static Environment,
        name: ModelName,
        file: CheckedFile,
        threads: usize,
        limit: usize,
    ) -> Self {
        let (sessions, returned) = Default::default();
        Self {
            environment,
            name,
            file,
            threads,
            limit,
            sessions,
            returned,
        }
    }

    pub(crate) fn version(&self) -> &str {
        &self.file.sha256[..12]
    }

    pub(crate) fn run(&self, input: Input<'_>) -> Result<Vec<Tensor>, ModelError> {
        let refused = |reason: String| ModelError::Input {
            name: self.name.as_str(),
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
        outputs
            .values()
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

    pub(crate) fn metadata(&self, key: &str) -> Option<String> {
        if let Some(known) = self.lock().metadata.get(key) {
            return known.clone();
        }
        let mut lease = self.lease().ok()?;
        let value = lease.session().metadata().ok()?.custom(key);
        self.lock().metadata.insert(key.to_owned(), value.clone());
        value
    }

    /// A session for one run: an idle one, else a new one, else the next that comes back.
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
        // Made before the session is, so that a failure gives the place back.
        let mut lease = Lease {
            pool: self,
            session: None,
        };
        let session =
            runtime::session(self.environment, &self.file.path, self.threads).map_err(|reason| {
                ModelError::Load {
                    name: self.name.as_str(),
                    reason,
                }
            })?;
        lease.session = Some(session);
        Ok(lease)
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        // Whoever panicked held no half-made state: each change under the lock is a single step.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the pool; dropping it gives place and session back.
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

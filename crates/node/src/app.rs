//! The state of one server process, shared by all its tasks, and the readiness of its parts. No part depends
//! on the whole.

use std::sync::Arc;
use std::time::Duration;

use chain_sources::sources::ChainSources;
use engine_process::EngineWorkers;
use metrics_exporter_prometheus::PrometheusHandle;
use store::{Db, Objects, installation};
use tokio_util::task::TaskTracker;

use crate::api_calls::ApiLog;
use crate::background::Background;
use crate::challenge_capacity::ChallengeCapacity;
use crate::config::ServeConfig;
use crate::cpu::CpuPool;
use crate::face_replicas::FaceReplicas;
use crate::geo::Geo;
use crate::labels::LabelSets;
use crate::lists::Lists;
use crate::mail::Mailer;
use crate::presence::Presence;
use crate::recent::Recent;

/// The shared state, as handlers receive it.
pub type Shared = Arc<App>;

/// Everything that a request may need.
pub struct App {
    /// The process's settings.
    pub config: ServeConfig,
    /// The public address, without a slash at its end.
    pub public_url: String,
    /// The hosted page's address, as links contain it.
    pub websdk_url: String,
    /// The database.
    pub db: Db,
    /// The object store, whose files are sealed.
    pub objects: Objects,
    /// The workers that decode and read uploaded files.
    pub engines: EngineWorkers,
    /// The sanctions lists in use.
    pub lists: Arc<Lists>,
    /// Labels of addresses on chains.
    pub labels: LabelSets,
    /// The sources of chains' histories.
    pub chains: Arc<ChainSources>,
    /// Finds a visitor's country.
    pub geo: Geo,
    /// Capacity for heavy work.
    pub cpu: CpuPool,
    /// Capacity for measuring frames of liveness challenges, which must not wait behind verifications.
    pub films: CpuPool,
    /// How many liveness challenges this process carries.
    pub challenges: ChallengeCapacity,
    /// Capacity for screenings of addresses and transactions, which mostly wait for other servers.
    pub screenings: CpuPool,
    /// Capacity for hashing passwords, each of which takes 19 MiB.
    pub passwords: CpuPool,
    /// The mail server, if one is set.
    pub mailer: Option<Mailer>,
    /// Each account's proven faces in memory, for identification.
    pub faces: FaceReplicas,
    /// Recordings that are under way. A stopping server waits for them.
    pub recordings: TaskTracker,
    /// The queue of the API log.
    pub api_log: ApiLog,
    /// Reports of the background jobs.
    pub background: Background,
    /// This process's id and name among the serving processes.
    pub presence: Presence,
    /// The last readiness report.
    pub readiness: Recent<Readiness>,
    /// The metrics that `/metrics` renders.
    pub metrics: PrometheusHandle,
}

/// Every part of the server, and its fault if it has one.
pub type Readiness = Vec<(&'static str, Result<(), String>)>;

/// How long a readiness report is reused, so that callers cannot make the server probe its parts more often.
pub const READINESS_FOR: Duration = Duration::from_secs(1);
/// How long one part may take to answer.
const PART_WITHIN: Duration = Duration::from_millis(1_500);
/// How long a caller waits at most, also for a probe that another caller started.
const READINESS_WITHIN: Duration = Duration::from_millis(1_900);

/// Waits for a part's answer. A part that does not answer within [`PART_WITHIN`] counts as failed.
async fn in_time(part: impl Future<Output = Result<(), String>>, hangs: &str) -> Result<(), String> {
    tokio::time::timeout(PART_WITHIN, part)
        .await
        .unwrap_or_else(|_| Err(hangs.to_owned()))
}

impl App {
    /// Every part and its fault, at most [`READINESS_FOR`] old. It returns within two seconds, even if a part
    /// hangs.
    pub async fn readiness(&self) -> Readiness {
        let found = self.readiness.get(Box::pin(self.probe()));
        match tokio::time::timeout(READINESS_WITHIN, found).await {
            Ok(readiness) => readiness,
            // The callers before this one left while their probe hung.
            Err(_) => ["database", "key", "objects", "engines", "sanctions"]
                .map(|part| (part, Err("the check has not ended yet".to_owned())))
                .to_vec(),
        }
    }

    async fn probe(&self) -> Readiness {
        let database = async {
            self.db.check_writes().await.map_err(|error| {
                tracing::warn!(%error, "the database does not accept writes");
                match error {
                    store::Error::DatabaseFull(_) => {
                        "the database's disk is full: free space on it".to_owned()
                    }
                    _ => "the database does not accept writes: check its disk and its log".to_owned(),
                }
            })
        };
        let objects = async {
            let answer = self.objects.ping().await;
            answer.map_err(|error| match error {
                store::Error::ObjectsFull(_) => {
                    "the object store's disk is full: free space on it".to_owned()
                }
                _ => "the object store does not answer".to_owned(),
            })
        };
        // All run at once, so together they take no longer than the slowest.
        let (database, key, objects, sanctions) = tokio::join!(
            in_time(database, "the database does not answer"),
            in_time(self.key_fits(), "the database does not answer"),
            in_time(objects, "the object store does not answer"),
            self.lists_ready(),
        );
        let engines = self.engines.get().map(|_| ());
        vec![
            ("database", database),
            ("key", key),
            ("objects", objects),
            ("engines", engines),
            ("sanctions", sanctions),
        ]
    }

    /// Checks that this process's key still belongs to the database. A restore or a rotation may have changed
    /// it.
    async fn key_fits(&self) -> Result<(), String> {
        let verified = async { installation::verify(&mut self.db.read().await?).await };
        match verified.await {
            Ok(_) => Ok(()),
            Err(store::Error::OutdatedKey) => Err(
                "the keys were wrapped by a newer master key: copy the current key file here and restart this server".to_owned(),
            ),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Checks that this node has the lists that the installation uses. A node that loads newer lists counts
    /// as ready for a moment, because requests wait for them.
    async fn lists_ready(&self) -> Result<(), String> {
        let hangs = "the sanctions lists cannot be loaded: the database or the lists' folder does not answer";
        let confirmed = async {
            let confirmed = self.lists.confirm(&self.db).await;
            confirmed.map_err(|reason| reason.to_string())
        };
        let found = in_time(confirmed, hangs).await;
        match found {
            Err(reason) if reason == hangs && self.lists.are_loading() => Ok(()),
            found => found,
        }
    }
}

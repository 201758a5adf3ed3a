//! The one state that everything shares, and what is wrong with it. It is made of parts; no part knows the whole.

use std::sync::Arc;
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusHandle;
use store::{Db, Objects, installation};
use tokio_util::task::TaskTracker;

use crate::api_calls::ApiLog;
use crate::background::Background;
use crate::config::ServeConfig;
use crate::cpu::CpuPool;
use crate::decoders::Decoders;
use crate::engines::Engines;
use crate::face_replicas::FaceReplicas;
use crate::geo::Geo;
use crate::labels::LabelSets;
use crate::lists::Lists;
use crate::mail::Mailer;
use crate::presence::Presence;
use crate::recent::Recent;
use chain_sources::sources::ChainSources;

/// The state, as handlers get it.
pub type Shared = Arc<App>;

/// Everything a request may need.
pub struct App {
    /// How the server runs.
    pub config: ServeConfig,
    /// The public address, without a slash at its end.
    pub public_url: String,
    /// The hosted page's address, as links carry it.
    pub websdk_url: String,
    /// The database.
    pub db: Db,
    /// Sealed files.
    pub objects: Objects,
    /// Documents and faces.
    pub engines: Engines,
    /// The sanctions lists in use.
    pub lists: Arc<Lists>,
    /// What is known about addresses on chains.
    pub labels: LabelSets,
    /// What happened on chains.
    pub chains: Arc<ChainSources>,
    /// The children that decode strangers' files.
    pub decoders: Arc<Decoders>,
    /// Countries of visitors.
    pub geo: Geo,
    /// Capacity for heavy work.
    pub cpu: CpuPool,
    /// Capacity for screenings of addresses and transactions, which wait for other servers more than they reckon.
    pub screenings: CpuPool,
    /// Capacity for hashing passwords, each of which takes 19 MiB.
    pub passwords: CpuPool,
    /// The mail server, if one is set.
    pub mailer: Option<Mailer>,
    /// Each account's proven faces, for identification.
    pub faces: FaceReplicas,
    /// Verifications that are being recorded: a stopping server waits for them.
    pub recordings: TaskTracker,
    /// What was asked of the API.
    pub api_log: ApiLog,
    /// What runs beside requests.
    pub background: Background,
    /// This process among those that serve.
    pub presence: Presence,
    /// What was last found of the parts' readiness.
    pub readiness: Recent<Readiness>,
    /// Figures.
    pub metrics: PrometheusHandle,
}

/// Every part of the server and what is wrong with it, if anything.
pub type Readiness = Vec<(&'static str, Result<(), String>)>;

/// How old an answer about readiness may be: nobody can make the server probe its parts more often than this.
pub const READINESS_FOR: Duration = Duration::from_secs(1);
/// How long one part may take to answer.
const PART_WITHIN: Duration = Duration::from_millis(1_500);
/// How long a caller waits at most, also for a probe that another caller began.
const READINESS_WITHIN: Duration = Duration::from_millis(1_900);

/// A part's answer; one that does not come in time is a failure.
async fn in_time(part: impl Future<Output = Result<(), String>>, hangs: &str) -> Result<(), String> {
    tokio::time::timeout(PART_WITHIN, part)
        .await
        .unwrap_or_else(|_| Err(hangs.to_owned()))
}

impl App {
    /// Every part and what is wrong with it, at most [`READINESS_FOR`] ago. It answers within two seconds, whatever hangs.
    pub async fn readiness(&self) -> Readiness {
        let found = self.readiness.get(self.probe());
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
        // All at once: together they take no longer than the slowest.
        let (database, key, objects, sanctions) = tokio::join!(
            in_time(database, "the database does not answer"),
            in_time(self.key_fits(), "the database does not answer"),
            in_time(objects, "the object store does not answer"),
            self.lists_ready(),
        );
        let engines = self.engines.get().map(|_| ()).map_err(|reason| reason.to_owned());
        vec![
            ("database", database),
            ("key", key),
            ("objects", objects),
            ("engines", engines),
            ("sanctions", sanctions),
        ]
    }

    /// Whether this process's key still belongs to the database: a restore or a rotation may have changed that.
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

    /// Whether this node has the lists that the installation uses. While it loads newer ones it is ready for a moment: requests wait.
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

//! What happens behind the API, and the one state that everything shares.
//!
//! Nothing authoritative lives here: engines, indexes and replicas can be rebuilt from the store at any time, so any node may be killed.
//!
//! **When the database goes back.** A replica that lagged is promoted, or a backup is restored, behind a running process. Accounts, their
//! settings, keys, Flows, sessions, rate limits, idempotency keys, suppressions and risk profiles are read from the database for each
//! request, so none of them can be stale. A request that is under way decides on what it read, and its transaction checks again what must
//! be unique. Of the state that outlives a request, only [`face_replicas`] copies rows; it checks at each use that they are still there.
//! The rest is made of files, of the configuration or of the process itself: the comment at each cache says so.

pub mod accounts;
pub mod admissions;
pub mod api_log;
pub mod applicant_view;
pub mod applicants;
pub mod applications;
pub mod background;
pub mod branding;
pub mod chain_follow;
mod chain_lines;
pub mod chain_nodes;
pub mod chain_sources;
pub mod chain_tls;
pub mod chain_transport;
pub mod chain_watch;
pub mod checks;
pub mod comparison;
pub mod configurations;
pub mod cpu;
pub mod decoders;
pub mod dispositions;
pub mod engines;
pub mod erasure;
pub mod events;
pub mod evidence;
pub mod face_replicas;
pub mod flows;
pub mod four_eyes;
pub mod geo;
pub mod groups;
pub mod hosted;
pub mod housekeeping;
pub mod identify;
pub mod insight;
pub mod keys;
pub mod labels;
pub mod list_removal;
pub mod lists;
pub mod mail;
pub mod merchants;
pub mod monitoring;
pub mod names;
pub mod nodes;
pub mod operations;
pub mod people;
pub mod pictures;
pub mod privacy;
pub mod public_address;
pub mod recent;
pub mod reindex;
pub mod retention;
pub mod reviews;
pub mod screening_hits;
pub mod seen;
pub mod sessions;
pub mod subject_access;
pub mod suppressions;
pub mod verify;
pub mod webhooks;

use std::sync::Arc;
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusHandle;
use store::{Db, Objects};
use tokio_util::task::TaskTracker;

use crate::config::ServeConfig;
use api_log::ApiLog;
use background::Background;
use chain_sources::ChainSources;
use cpu::CpuPool;
use decoders::Decoders;
use engines::Engines;
use face_replicas::FaceReplicas;
use geo::Geo;
use labels::LabelSets;
use lists::Lists;
use mail::Mailer;
use nodes::Presence;
use recent::Recent;

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
    pub lists: Lists,
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

impl App {
    /// Every part and what is wrong with it, at most [`READINESS_FOR`] ago.
    pub async fn readiness(&self) -> Readiness {
        self.readiness.get(self.probe()).await
    }

    async fn probe(&self) -> Readiness {
        let database = self.db.check_writes().await.map_err(|error| {
            tracing::warn!(%error, "the database does not accept writes");
            "the database does not accept writes: check its disk and its log".to_owned()
        });
        let objects = self
            .objects
            .ping()
            .await
            .map_err(|_| "the object store does not answer".to_owned());
        let engines = self.engines.get().map(|_| ()).map_err(|reason| reason.to_owned());
        let sanctions = self.lists.screener().map(|_| ());
        vec![
            ("database", database),
            ("objects", objects),
            ("engines", engines),
            ("sanctions", sanctions),
        ]
    }
}

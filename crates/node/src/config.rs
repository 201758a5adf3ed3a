//! Every setting, in one place: a flag, its environment variable, its default, and what it means.
//!
//! A merchant's or a Flow's settings are data. They are in the store, not here.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use chain::labels::LabelStore;
use clap::{Args, ValueEnum};
use sanctions::ListStore;
use sanctions::freshness::MaxAge;
use secrecy::SecretString;
use uuid::Uuid;

use chain_sources::sources::ChainConfig;
use list_sources::sources::ListSourceConfig;

use crate::webhook_address::{AddressFault, Destination, WebhookHosts};

/// Where the data is. Every command that uses data takes these settings.
#[derive(Args, Clone, Debug)]
pub struct DataConfig {
    /// The data folder: the embedded database, objects, lists and the master key, unless stored elsewhere.
    #[arg(long, env = "BONAFIDE_DATA", default_value = "data", global = true)]
    pub data: PathBuf,
    /// The database: `postgres://…` or `sqlite:PATH`; by default `DATA/bonafide.db`.
    #[arg(long, env = "BONAFIDE_DATABASE", global = true, hide_env_values = true)]
    pub database: Option<String>,
    /// The object store: `s3://BUCKET/PREFIX` (credentials from the AWS_* variables) or `file:FOLDER`; by
    /// default `DATA/objects`.
    #[arg(long, env = "BONAFIDE_OBJECTS", global = true)]
    pub objects: Option<String>,
    /// The master key file; by default `DATA/master.key`, created at the first start. Store a copy separately
    /// from the backups.
    #[arg(long, env = "BONAFIDE_MASTER_KEY", global = true)]
    pub master_key: Option<PathBuf>,
    /// A shell command that prints the master keys, for example from a key management system or hardware
    /// security module. It replaces the key file; `bonafide keys generate` creates the first keys.
    #[arg(
        long,
        env = "BONAFIDE_MASTER_KEY_COMMAND",
        global = true,
        hide_env_values = true,
        conflicts_with = "master_key"
    )]
    pub master_key_command: Option<String>,
    /// Hours after its publisher's date (or its import, if the publisher gives no date) after which a
    /// sanctions list is too old for screening; 0 turns every check of age off.
    #[arg(long, env = "BONAFIDE_LIST_MAX_AGE_HOURS", default_value_t = 24 * 400, global = true)]
    pub list_max_age_hours: u64,
    /// Hours after its last import after which a sanctions list is too old for screening; 0 turns this check
    /// off.
    #[arg(
        long,
        env = "BONAFIDE_LIST_MAX_IMPORT_AGE_HOURS",
        default_value_t = 24 * 30,
        global = true
    )]
    pub list_max_import_age_hours: u64,
    /// The number of imports in a row without any change after which a sanctions list raises an alert; 0
    /// turns the alert off.
    #[arg(
        long,
        env = "BONAFIDE_LIST_UNCHANGED_IMPORTS",
        default_value_t = 30,
        global = true
    )]
    pub list_unchanged_imports: u32,
}

fn hours(hours: u64) -> Duration {
    Duration::from_secs(hours.saturating_mul(3_600))
}

impl DataConfig {
    /// The database's URL.
    pub fn database_url(&self) -> String {
        let named = self.database.clone().filter(|url| !url.is_empty());
        named.unwrap_or_else(|| format!("sqlite:{}", self.data.join("bonafide.db").display()))
    }

    /// The command of `--master-key-command`. An empty environment variable sets none.
    pub fn master_key_command(&self) -> Option<&str> {
        self.master_key_command
            .as_deref()
            .filter(|command| !command.trim().is_empty())
    }

    /// Whether a setting says where the master key is.
    pub fn names_master_key(&self) -> bool {
        self.master_key.is_some() || self.master_key_command().is_some()
    }

    /// The object store's URL.
    pub fn objects_url(&self) -> String {
        let named = self.objects.clone().filter(|url| !url.is_empty());
        named.unwrap_or_else(|| format!("file:{}", self.data.join("objects").display()))
    }

    /// The master key's file.
    pub fn master_key_file(&self) -> PathBuf {
        self.master_key
            .clone()
            .unwrap_or_else(|| self.data.join("master.key"))
    }

    /// The folder for large uploads in progress: sealed files without a name.
    pub fn spill_dir(&self) -> PathBuf {
        self.data.join("spill")
    }

    /// The folder of the common label sets, or of one account's address book.
    pub fn label_store(
        &self,
        merchant_id: Option<Uuid>,
    ) -> Result<LabelStore, chain::labels::LabelStoreError> {
        let folder = self.data.join("labels");
        LabelStore::open(&match merchant_id {
            Some(id) => folder.join("accounts").join(id.to_string()),
            None => folder,
        })
    }

    /// The wallets that sanctions lists named on earlier days.
    pub fn wallet_history(&self) -> Result<LabelStore, chain::labels::LabelStoreError> {
        LabelStore::open(&self.data.join("labels").join("listed"))
    }

    /// The sanctions lists' folder.
    pub fn list_store(&self) -> Result<ListStore, sanctions::StoreError> {
        ListStore::open(
            &self.data.join("lists"),
            MaxAge {
                published: hours(self.list_max_age_hours),
                imported: hours(self.list_max_import_age_hours),
            },
        )
    }
}

/// How the server runs.
#[derive(Args, Clone, Debug)]
pub struct ServeConfig {
    /// Where the data is.
    #[command(flatten)]
    pub data: DataConfig,
    /// Where chains' histories come from.
    #[command(flatten)]
    pub chains: ChainConfig,
    /// Where sanctions lists are downloaded from.
    #[command(flatten)]
    pub list_sources: ListSourceConfig,
    /// Sanctions lists that the servers update from their publishers, such as `us_ofac_sdn,un_sc_sanctions`; by default
    /// none, and no server connects to a publisher.
    #[arg(long, env = "BONAFIDE_UPDATE_LISTS", value_delimiter = ',')]
    pub update_lists: Vec<String>,
    /// Hours between two updates of a list by the servers.
    #[arg(long, env = "BONAFIDE_UPDATE_LISTS_HOURS", default_value_t = 6, value_parser = clap::value_parser!(u64).range(1..=720))]
    pub update_lists_hours: u64,
    /// Address and port to listen on; port 0 takes a free one.
    #[arg(long, env = "BONAFIDE_LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// Create a sandbox merchant with Flows, lists and specimens, and print how to use them. Limits are off
    /// unless set.
    #[arg(long, env = "BONAFIDE_DEMO")]
    pub demo: bool,
    /// The public address of this server, with which links begin; by default the listening address.
    #[arg(long, env = "BONAFIDE_PUBLIC_URL")]
    pub public_url: Option<String>,
    /// The address of the hosted verification page, which links lead to; by default `PUBLIC_URL/verify`.
    #[arg(long, env = "BONAFIDE_WEBSDK_URL")]
    pub websdk_url: Option<String>,
    /// A country database in MaxMind's format (`.mmdb`); by default, a built-in table maps IP addresses to
    /// countries.
    #[arg(long, env = "BONAFIDE_GEO_DATABASE")]
    pub geo_database: Option<PathBuf>,
    /// Whether links can be used from IP addresses of an unknown country.
    #[arg(long, env = "BONAFIDE_GEO_UNKNOWN", value_enum, default_value_t = GeoUnknown::Allow)]
    pub geo_unknown: GeoUnknown,
    /// The model folder; by default `models` next to the program, then `./models`.
    #[arg(long, env = "BONAFIDE_MODELS")]
    pub models: Option<PathBuf>,
    /// The specimens that `--demo` offers; by default `./specimens`.
    #[arg(long, env = "BONAFIDE_SPECIMENS", default_value = "specimens")]
    pub specimens: PathBuf,
    /// The number of verifications processed at once; by default, one per core.
    #[arg(long, env = "BONAFIDE_WORKERS")]
    pub workers: Option<usize>,
    /// Start even if a required wall around the processes that read uploaded files cannot be built.
    #[arg(long, env = "BONAFIDE_WEAK_SANDBOX")]
    pub weak_sandbox: bool,
    /// The custom model for presentation attack detection that must be in use (`bonafide models use`). With another
    /// model or none, the engines do not start.
    #[arg(long, env = "BONAFIDE_PAD")]
    pub pad: Option<String>,
    /// The custom embedder that must be in use, as for --pad.
    #[arg(long, env = "BONAFIDE_EMBEDDER")]
    pub embedder: Option<String>,
    /// Start the first engine worker when the first file arrives, not when the server starts. This saves about
    /// 200 MiB of memory where verifications are rare; the first one takes half a second longer.
    #[arg(long, env = "BONAFIDE_ENGINES_ON_DEMAND")]
    pub engines_on_demand: bool,
    /// Seconds of processor time that a decoder may use for one file; a file that needs more is refused. The
    /// limit of elapsed time is four times as long; after that, the response is 503.
    #[arg(long, env = "BONAFIDE_DECODE_SECONDS", default_value_t = 20)]
    pub decode_seconds: u64,
    /// Milliseconds after which another process may take over a request with an `Idempotency-Key` whose
    /// process died.
    #[arg(long, hide = true, default_value_t = 60_000, value_parser = clap::value_parser!(u32).range(100..))]
    pub idempotency_lease_ms: u32,
    /// Proxies whose forwarded client addresses are trusted.
    #[arg(long, env = "BONAFIDE_TRUSTED_PROXIES", value_delimiter = ',')]
    pub trusted_proxies: Vec<IpAddr>,
    /// Hosts that may receive webhooks.
    #[command(flatten)]
    pub webhook_hosts: WebhookHosts,
    /// The Bearer token that `/metrics` requires; without it, `/metrics` is off.
    #[arg(long, env = "BONAFIDE_METRICS_TOKEN", hide_env_values = true)]
    pub metrics_token: Option<SecretString>,
    /// Verify requests per minute and key; 0: no limit.
    #[arg(long, env = "BONAFIDE_RATE_VERIFY")]
    pub rate_verify: Option<u32>,
    /// Transaction monitoring requests per minute and key, and portal screenings per minute and account; 0:
    /// no limit.
    #[arg(long, env = "BONAFIDE_RATE_MONITORING")]
    pub rate_monitoring: Option<u32>,
    /// Read requests per minute and key; 0: no limit.
    #[arg(long, env = "BONAFIDE_RATE_READS")]
    pub rate_reads: Option<u32>,
    /// Write and link requests per minute and key; 0: no limit.
    #[arg(long, env = "BONAFIDE_RATE_WRITES")]
    pub rate_writes: Option<u32>,
    /// Exchanges of link tokens per minute and IP address; 0: no limit.
    #[arg(long, env = "BONAFIDE_RATE_EXCHANGE")]
    pub rate_exchange: Option<u32>,
    /// Failed authentications per minute, key and IP address; 0: no limit.
    #[arg(long, env = "BONAFIDE_RATE_FAILED_AUTH")]
    pub rate_failed_auth: Option<u32>,
    /// Password and code attempts in the portal per 15 minutes, account and IP address; 0: no limit.
    #[arg(long, env = "BONAFIDE_RATE_SIGN_IN")]
    pub rate_sign_in: Option<u32>,
    /// Whether the portal offers sign-up; new accounts are drafts with sandbox keys. By default, only with
    /// `--demo`.
    #[arg(long, env = "BONAFIDE_SIGN_UP")]
    pub sign_up: Option<Switch>,
    /// The mail server for emails to members of staff and to applicants: `smtps://USER:PASSWORD@HOST`,
    /// `smtp://HOST?tls=required`. Without it the portal shows the links to copy.
    #[arg(
        long,
        env = "BONAFIDE_SMTP_URL",
        hide_env_values = true,
        requires = "mail_from"
    )]
    pub smtp_url: Option<SecretString>,
    /// The sender of emails, such as `Bonafide <verify@example.com>`.
    #[arg(long, env = "BONAFIDE_MAIL_FROM")]
    pub mail_from: Option<String>,
    /// About how many emails to applicants an account may send in 24 hours; further ones wait. 0: merchants cannot have
    /// emails sent.
    #[arg(long, env = "BONAFIDE_MAIL_PER_DAY", default_value_t = 1_000)]
    pub mail_per_day: u32,
    /// Days after which attempts are removed with their files, unless the Flow sets `retentionDays`; by
    /// default, no limit.
    #[arg(long, env = "BONAFIDE_RETENTION_DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub retention_days: Option<u32>,
    /// Days after which requests are removed from the API log.
    #[arg(long, env = "BONAFIDE_API_LOG_DAYS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3_650))]
    pub api_log_days: u32,
    /// The maximum number of open connections; further ones wait to be accepted.
    #[arg(long, env = "BONAFIDE_CONNECTIONS", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub connections: u32,
    /// The maximum number of open connections per host (an IPv6 /64 is one host), except trusted proxies; by
    /// default a quarter of all, but at least 16; 0: no limit.
    #[arg(long, env = "BONAFIDE_CONNECTIONS_PER_HOST")]
    pub connections_per_host: Option<u32>,
    /// Seconds within which a request's header must arrive. A client that does not read its response has
    /// twice as long.
    #[arg(long, env = "BONAFIDE_HEADER_SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub header_seconds: u64,
    /// Seconds that a connection may be idle between requests; a reverse proxy's limit should be shorter.
    #[arg(long, env = "BONAFIDE_IDLE_SECONDS", default_value_t = 75, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub idle_seconds: u64,
    /// Seconds that running requests have to finish when the server stops.
    #[arg(long, env = "BONAFIDE_SHUTDOWN_SECONDS", default_value_t = 30)]
    pub shutdown_seconds: u64,
    /// Write log lines as JSON instead of text.
    #[arg(long, env = "BONAFIDE_LOG_JSON")]
    pub log_json: bool,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

/// Whether visitors from an unknown country can use links (`docs/decisions/0007-visitor-country.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GeoUnknown {
    /// Visitors can use links.
    Allow,
    /// Visitors are treated as from a blocked country.
    Block,
}

/// A class of requests with a separate limit (`docs/decisions/0009-rate-limits-and-capacity.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateClass {
    /// `POST /v2/idv/verify`.
    Verify,
    /// `POST /v2/public/transaction-monitoring`.
    Monitoring,
    /// Every GET.
    Reads,
    /// Every other write, links included.
    Writes,
    /// The liveness challenge's calls of a session.
    Challenge,
    /// The exchange of link tokens.
    Exchange,
    /// Views of the hosted page.
    Page,
    /// Failed authentications.
    FailedAuth,
    /// Sign-in attempts in the portal, per quarter of an hour.
    SignIn,
}

impl RateClass {
    /// The name in the limiter's key.
    pub fn as_str(self) -> &'static str {
        match self {
            RateClass::Verify => "verify",
            RateClass::Monitoring => "monitoring",
            RateClass::Reads => "reads",
            RateClass::Writes => "writes",
            RateClass::Challenge => "challenge",
            RateClass::Exchange => "exchange",
            RateClass::Page => "page",
            RateClass::FailedAuth => "failed-auth",
            RateClass::SignIn => "sign-in",
        }
    }
}

impl ServeConfig {
    /// Requests per minute of a class (for [`RateClass::SignIn`], per quarter of an hour). `None`: no limit.
    pub fn rate(&self, class: RateClass) -> Option<u32> {
        let (set, default) = match class {
            RateClass::Verify => (self.rate_verify, 60),
            RateClass::Monitoring => (self.rate_monitoring, 120),
            RateClass::Reads => (self.rate_reads, 300),
            RateClass::Writes => (self.rate_writes, 60),
            // Twenty frames a second, each alone, and the calls that start and continue.
            RateClass::Challenge => (None, 1_500),
            RateClass::Exchange => (self.rate_exchange, 30),
            RateClass::Page => (self.rate_exchange.map(|rate| rate.saturating_mul(10)), 300),
            RateClass::FailedAuth => (self.rate_failed_auth, 30),
            RateClass::SignIn => (self.rate_sign_in, 10),
        };
        let rate = set.unwrap_or(if self.demo { 0 } else { default });
        (rate > 0).then_some(rate)
    }

    /// Whether the portal offers sign-up.
    pub fn sign_up_allowed(&self) -> bool {
        self.sign_up.map_or(self.demo, |switch| switch == Switch::On)
    }

    /// Whether webhooks may be sent to a host even if its address is not public. The demo also allows this
    /// machine.
    pub fn webhook_host_allowed(&self, host: &str) -> bool {
        self.webhook_hosts.allow(host) || self.demo && matches!(host, "localhost" | "127.0.0.1")
    }

    /// Why no event is ever sent to a URL, if that is known without asking a name server.
    pub fn webhook_fault(&self, url: &str, sandbox: bool) -> Option<AddressFault> {
        Destination::check(url, sandbox, |host| self.webhook_host_allowed(host)).err()
    }

    /// The hosted page's address, if one is set. A path other than `/verify` needs a proxy that forwards it.
    pub fn websdk_url(&self) -> anyhow::Result<Option<String>> {
        let Some(text) = &self.websdk_url else {
            return Ok(None);
        };
        let url = reqwest::Url::parse(text).map_err(|_| anyhow::anyhow!("--websdk-url is not a URL"))?;
        anyhow::ensure!(
            matches!(url.scheme(), "http" | "https") && url.query().is_none() && url.fragment().is_none(),
            "--websdk-url must be an http or https address without query or fragment"
        );
        Ok(Some(text.clone()))
    }

    /// How many verifications are processed at once; at least 1.
    pub fn workers(&self) -> usize {
        self.workers
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(2, usize::from))
            .max(1)
    }
}

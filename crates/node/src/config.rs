//! Every setting, in one place: a flag, its environment variable, its default, and what it means.
//!
//! Settings of a merchant or a Flow are data, not settings of the program; they live in the store.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use chain::labels::LabelStore;
use clap::{Args, ValueEnum};
use sanctions::ListStore;
use secrecy::SecretString;
use uuid::Uuid;

use chain_sources::sources::ChainConfig;

/// Where the data lives; every command that touches data takes these.
#[derive(Args, Clone, Debug)]
pub struct DataConfig {
    /// Folder of everything that is not elsewhere: the embedded database, objects, lists, the master key.
    #[arg(long, env = "BONAFIDE_DATA", default_value = "data", global = true)]
    pub data: PathBuf,
    /// `postgres://…`, or `sqlite:PATH`; by default `DATA/bonafide.db`.
    #[arg(long, env = "BONAFIDE_DATABASE", global = true, hide_env_values = true)]
    pub database: Option<String>,
    /// `s3://BUCKET/PREFIX` (credentials from the AWS_* variables) or `file:FOLDER`; by default `DATA/objects`.
    #[arg(long, env = "BONAFIDE_OBJECTS", global = true)]
    pub objects: Option<String>,
    /// The master key; by default `DATA/master.key`, made at the first start. Keep a copy apart from the backups.
    #[arg(long, env = "BONAFIDE_MASTER_KEY", global = true)]
    pub master_key: Option<PathBuf>,
    /// Hours after which an imported sanctions list is too old to screen against; 0: age does not matter.
    #[arg(long, env = "BONAFIDE_LIST_MAX_AGE_HOURS", default_value_t = 24 * 30, global = true)]
    pub list_max_age_hours: u64,
}

impl DataConfig {
    /// The database's URL.
    pub fn database_url(&self) -> String {
        self.database
            .clone()
            .unwrap_or_else(|| format!("sqlite:{}", self.data.join("bonafide.db").display()))
    }

    /// The objects' URL.
    pub fn objects_url(&self) -> String {
        self.objects
            .clone()
            .unwrap_or_else(|| format!("file:{}", self.data.join("objects").display()))
    }

    /// The master key's file.
    pub fn master_key_file(&self) -> PathBuf {
        self.master_key
            .clone()
            .unwrap_or_else(|| self.data.join("master.key"))
    }

    /// Where large uploads wait, sealed, in files without a name.
    pub fn spill_dir(&self) -> PathBuf {
        self.data.join("spill")
    }

    /// The labels' folder: of the common sets, or of an account's own address book.
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

    /// What sanctions lists said about wallets on earlier days.
    pub fn wallet_history(&self) -> Result<LabelStore, chain::labels::LabelStoreError> {
        LabelStore::open(&self.data.join("labels").join("listed"))
    }

    /// The sanctions lists' folder.
    pub fn list_store(&self) -> Result<ListStore, sanctions::StoreError> {
        ListStore::open(
            &self.data.join("lists"),
            Duration::from_secs(self.list_max_age_hours * 3_600),
        )
    }
}

/// How the server runs.
#[derive(Args, Clone, Debug)]
pub struct ServeConfig {
    /// Where the data lives.
    #[command(flatten)]
    pub data: DataConfig,
    /// Where chains' histories come from.
    #[command(flatten)]
    pub chains: ChainConfig,
    /// Address and port to listen on; port 0 takes a free one.
    #[arg(long, env = "BONAFIDE_LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// Seed a sandbox merchant with Flows, lists and specimens, and print how to use them. Limits are off unless set.
    #[arg(long, env = "BONAFIDE_DEMO")]
    pub demo: bool,
    /// Public address of `{base_url}`, `{api_url}` and `{websdk_url}`; by default the listening address.
    #[arg(long, env = "BONAFIDE_PUBLIC_URL")]
    pub public_url: Option<String>,
    /// The address of the hosted verification page, which links lead to; by default `PUBLIC_URL/verify`.
    #[arg(long, env = "BONAFIDE_WEBSDK_URL")]
    pub websdk_url: Option<String>,
    /// A country database in MaxMind's format (`.mmdb`); by default a built-in table tells addresses' countries.
    #[arg(long, env = "BONAFIDE_GEO_DATABASE")]
    pub geo_database: Option<PathBuf>,
    /// Whether links may be used from addresses whose country is not known.
    #[arg(long, env = "BONAFIDE_GEO_UNKNOWN", value_enum, default_value_t = GeoUnknown::Allow)]
    pub geo_unknown: GeoUnknown,
    /// The model folder; by default `models` beside the program, then `./models`.
    #[arg(long, env = "BONAFIDE_MODELS")]
    pub models: Option<PathBuf>,
    /// The specimens that `--demo` offers; by default `./specimens`.
    #[arg(long, env = "BONAFIDE_SPECIMENS", default_value = "specimens")]
    pub specimens: PathBuf,
    /// Verifications processed at once; by default one a core.
    #[arg(long, env = "BONAFIDE_WORKERS")]
    pub workers: Option<usize>,
    /// Seconds of processor time that a decoder may take for one file; a file that needs more is refused. By the clock it may take
    /// four times as long; a request that is not finished by then answers 503.
    #[arg(long, env = "BONAFIDE_DECODE_SECONDS", default_value_t = 20)]
    pub decode_seconds: u64,
    /// Milliseconds after which another process may take over a request with an `Idempotency-Key` whose process died.
    #[arg(long, hide = true, default_value_t = 60_000, value_parser = clap::value_parser!(u32).range(100..))]
    pub idempotency_lease_ms: u32,
    /// Proxies whose forwarded client addresses are believed.
    #[arg(long, env = "BONAFIDE_TRUSTED_PROXIES", value_delimiter = ',')]
    pub trusted_proxies: Vec<IpAddr>,
    /// Hosts that webhooks may be sent to although their addresses are not public.
    #[arg(long, env = "BONAFIDE_WEBHOOK_ALLOW_HOSTS", value_delimiter = ',')]
    pub webhook_allow_hosts: Vec<String>,
    /// Token that `/metrics` asks for as Bearer; without it there is no `/metrics`.
    #[arg(long, env = "BONAFIDE_METRICS_TOKEN", hide_env_values = true)]
    pub metrics_token: Option<SecretString>,
    /// Requests a minute and key on verify; 0 is off.
    #[arg(long, env = "BONAFIDE_RATE_VERIFY")]
    pub rate_verify: Option<u32>,
    /// Requests a minute and key on transaction monitoring, and screenings a minute and account in the portal; 0 is off.
    #[arg(long, env = "BONAFIDE_RATE_MONITORING")]
    pub rate_monitoring: Option<u32>,
    /// Reading requests a minute and key; 0 is off.
    #[arg(long, env = "BONAFIDE_RATE_READS")]
    pub rate_reads: Option<u32>,
    /// Writing and link requests a minute and key; 0 is off.
    #[arg(long, env = "BONAFIDE_RATE_WRITES")]
    pub rate_writes: Option<u32>,
    /// Exchanges of link tokens a minute and address; 0 is off.
    #[arg(long, env = "BONAFIDE_RATE_EXCHANGE")]
    pub rate_exchange: Option<u32>,
    /// Failed authentications a minute, key and address; 0 is off.
    #[arg(long, env = "BONAFIDE_RATE_FAILED_AUTH")]
    pub rate_failed_auth: Option<u32>,
    /// Tries of passwords and codes in the portal a quarter of an hour, account and address; 0 is off.
    #[arg(long, env = "BONAFIDE_RATE_SIGN_IN")]
    pub rate_sign_in: Option<u32>,
    /// Whether strangers may open accounts in the portal; they begin as drafts with sandbox keys. By default only with `--demo`.
    #[arg(long, env = "BONAFIDE_SIGN_UP")]
    pub sign_up: Option<Switch>,
    /// Mail server that sends invitations and password links: `smtps://USER:PASSWORD@HOST`, `smtp://HOST?tls=required`. Without it
    /// links are shown, to be copied.
    #[arg(
        long,
        env = "BONAFIDE_SMTP_URL",
        hide_env_values = true,
        requires = "mail_from"
    )]
    pub smtp_url: Option<SecretString>,
    /// Whom mail comes from, such as `Bonafide <verify@example.com>`.
    #[arg(long, env = "BONAFIDE_MAIL_FROM")]
    pub mail_from: Option<String>,
    /// Days after which attempts are removed with their files, where their Flow's `retentionDays` says nothing; by default they stay.
    #[arg(long, env = "BONAFIDE_RETENTION_DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub retention_days: Option<u32>,
    /// Days after which calls leave the API log.
    #[arg(long, env = "BONAFIDE_API_LOG_DAYS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3_650))]
    pub api_log_days: u32,
    /// Open connections at most; more wait to be accepted.
    #[arg(long, env = "BONAFIDE_CONNECTIONS", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub connections: u32,
    /// Open connections of one host (a whole IPv6 /64 is one) at most, trusted proxies excepted; by default a quarter of all, but
    /// not below 16; 0 is off.
    #[arg(long, env = "BONAFIDE_CONNECTIONS_PER_HOST")]
    pub connections_per_host: Option<u32>,
    /// Seconds within which a request's header must have come whole, and twice that for a client that takes nothing of its answer.
    #[arg(long, env = "BONAFIDE_HEADER_SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub header_seconds: u64,
    /// Seconds that a connection may rest between two requests; a reverse proxy's own limit should be shorter.
    #[arg(long, env = "BONAFIDE_IDLE_SECONDS", default_value_t = 75, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub idle_seconds: u64,
    /// Seconds that running requests get when the server is asked to stop.
    #[arg(long, env = "BONAFIDE_SHUTDOWN_SECONDS", default_value_t = 30)]
    pub shutdown_seconds: u64,
    /// Log lines as JSON instead of text.
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

/// What happens to visitors whose country is not known (`docs/decisions/0007-visitor-country.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GeoUnknown {
    /// They may use links.
    Allow,
    /// They are treated as from a blocked country.
    Block,
}

/// A class of requests that has a limit of its own (`docs/decisions/0009-rate-limits-and-capacity.md`).
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
    /// The exchange of link tokens.
    Exchange,
    /// Views of the hosted page.
    Page,
    /// Failed authentications.
    FailedAuth,
    /// Tries to sign in to the portal, a quarter of an hour.
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
            RateClass::Exchange => "exchange",
            RateClass::Page => "page",
            RateClass::FailedAuth => "failed-auth",
            RateClass::SignIn => "sign-in",
        }
    }
}

impl ServeConfig {
    /// Requests a minute for a class (for [`RateClass::SignIn`] a quarter of an hour); `None` is off.
    pub fn rate(&self, class: RateClass) -> Option<u32> {
        let (set, default) = match class {
            RateClass::Verify => (self.rate_verify, 60),
            RateClass::Monitoring => (self.rate_monitoring, 120),
            RateClass::Reads => (self.rate_reads, 300),
            RateClass::Writes => (self.rate_writes, 60),
            RateClass::Exchange => (self.rate_exchange, 30),
            RateClass::Page => (self.rate_exchange.map(|rate| rate.saturating_mul(10)), 300),
            RateClass::FailedAuth => (self.rate_failed_auth, 30),
            RateClass::SignIn => (self.rate_sign_in, 10),
        };
        let rate = set.unwrap_or(if self.demo { 0 } else { default });
        (rate > 0).then_some(rate)
    }

    /// Whether strangers may open accounts in the portal.
    pub fn sign_up_allowed(&self) -> bool {
        self.sign_up.map_or(self.demo, |switch| switch == Switch::On)
    }

    /// Whether webhooks may be sent to a host wherever its name leads; in the demo also to this machine.
    pub fn webhook_host_allowed(&self, host: &str) -> bool {
        let listed = |allowed: &String| allowed.eq_ignore_ascii_case(host);
        self.webhook_allow_hosts.iter().any(listed) || self.demo && matches!(host, "localhost" | "127.0.0.1")
    }

    /// The hosted page's address, if one is set. Another path than `/verify` needs a proxy that leads there.
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

    /// How many verifications are processed at once.
    pub fn workers(&self) -> usize {
        self.workers
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(2, usize::from))
            .max(1)
    }
}

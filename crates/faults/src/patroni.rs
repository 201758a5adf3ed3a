//! A PostgreSQL cluster of three under Patroni and etcd, whose primary can be killed as a lost host: its agent
//! and all its processes at once. Like HAProxy in production, it observes through Patroni's REST API which
//! member is the primary. It never chooses a primary itself.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::sync::{Mutex, watch};

use crate::postgres::{USER, find_bin, free_port, in_path, sql_on, unprivileged, unprivileged_folder};
use crate::process;
use crate::proxy::Target;

/// The number of members.
const MEMBERS: usize = 3;
/// How long a start, a failover or a return may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// The pause between two queries for the primary.
const POLL: Duration = Duration::from_millis(250);
/// How long asynchronous standbys lag behind a primary that is then lost.
const LAGS: Duration = Duration::from_secs(1);
/// After so many queries without a primary there is none.
const MISSES: u32 = 3;

/// A running cluster. All its processes end when it is dropped.
pub(crate) struct Patroni {
    members: Vec<Member>,
    current: watch::Receiver<Option<u16>>,
    is_synchronous: bool,
    http: reqwest::Client,
    _etcd: Child,
    watcher: tokio::task::JoinHandle<()>,
}

struct Member {
    port: u16,
    rest: u16,
    folder: PathBuf,
    agent: Mutex<Option<Child>>,
}

impl Patroni {
    /// Starts etcd and three members, and waits until all replicate.
    pub(crate) async fn start(folder: &Path, is_synchronous: bool) -> anyhow::Result<Patroni> {
        let missing = |package| {
            format!("{package} is missing: run `scripts/prepare faults`, or install Debian's package")
        };
        let agent = in_path("patroni").with_context(|| missing("patroni"))?;
        let etcd = in_path("etcd").with_context(|| missing("etcd-server"))?;
        let bin = find_bin()?;
        let client = free_port()?;
        let http = reqwest::Client::builder()
            .timeout(Duration::from_secs(2))
            .no_proxy()
            .build()?;
        let etcd = start_etcd(&etcd, &folder.join("etcd"), client, &http).await?;
        let mut members = Vec::new();
        for number in 0..MEMBERS {
            let folder = folder.join(format!("patroni-{number}"));
            unprivileged_folder(&folder).await?;
            let member = Member {
                port: free_port()?,
                rest: free_port()?,
                folder,
                agent: Mutex::new(None),
            };
            let settings = settings(&member, number, client, &bin, is_synchronous);
            // JSON is YAML too.
            std::fs::write(member.folder.join("patroni.yml"), settings.to_string())?;
            members.push(member);
        }
        let (sender, current) = watch::channel(None);
        let ports: Vec<(u16, u16)> = members.iter().map(|member| (member.port, member.rest)).collect();
        let watcher = tokio::spawn(watch_primary(http.clone(), ports, sender));
        let patroni = Patroni {
            members,
            current,
            is_synchronous,
            http,
            _etcd: etcd,
            watcher,
        };
        for member in &patroni.members {
            member.start(&agent).await?;
        }
        patroni.wait_until_whole().await?;
        Ok(patroni)
    }

    /// The current primary, for a proxy.
    pub(crate) fn target(&self) -> Target {
        Target::Current(self.current.clone())
    }

    /// Runs a statement on the current primary.
    pub(crate) async fn sql(&self, database: &str, sql: &str) -> anyhow::Result<String> {
        let port = *self.current.borrow();
        sql_on(port.context("the cluster has no primary")?, database, sql).await
    }

    /// Kills the primary's host, waits for another primary, and starts the lost host again. Its return may
    /// take longer than this; [`Patroni::wait_until_whole`] waits for it. Asynchronous standbys lag behind
    /// when it happens.
    pub(crate) async fn kill_primary(&self) -> anyhow::Result<()> {
        self.wait_until_whole().await?;
        let port = self.current.borrow().context("the cluster has no primary")?;
        let mut members = self.members.iter();
        let member = members.find(|member| member.port == port);
        let member = member.context("the primary is not a member")?;
        if !self.is_synchronous {
            // The last writes do not reach the standbys.
            for sender in sql_on(port, "postgres", SENDERS).await?.split_whitespace() {
                let process = Pid::from_raw(sender.parse()?).context("no process")?;
                rustix::process::kill_process(process, Signal::STOP)?;
            }
            tokio::time::sleep(LAGS).await;
        }
        member.kill().await?;
        let mut current = self.current.clone();
        let other = current.wait_for(|current| current.is_some_and(|other| other != port));
        let elected = tokio::time::timeout(PATIENCE, other).await;
        elected.with_context(|| format!("no new primary:\n{}", member.last_lines()))??;
        member
            .start(&in_path("patroni").context("patroni is missing")?)
            .await
    }

    /// Waits until there is a primary that both other members follow, one of them synchronously if the
    /// cluster has synchronous standbys.
    pub(crate) async fn wait_until_whole(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let seen = self.cluster().await.unwrap_or_default();
            let streams = match *self.current.borrow() {
                Some(port) => sql_on(port, "postgres", STREAMING).await.unwrap_or_default(),
                None => String::new(),
            };
            if is_whole(&seen, self.is_synchronous) && streams.trim() == (MEMBERS - 1).to_string() {
                return Ok(());
            }
            if Instant::now() > deadline {
                let logs: Vec<String> = self.members.iter().map(Member::last_lines).collect();
                bail!("the cluster is not whole: {seen}\n{}", logs.join("\n"));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// What any agent reports of the cluster.
    async fn cluster(&self) -> Option<Value> {
        for member in &self.members {
            let url = format!("http://127.0.0.1:{}/cluster", member.rest);
            if let Ok(answer) = self.http.get(url).send().await {
                return serde_json::from_str(&answer.text().await.ok()?).ok();
            }
        }
        None
    }
}

impl Drop for Patroni {
    fn drop(&mut self) {
        self.watcher.abort();
        for member in &self.members {
            // Without their agents, no server starts again.
            if let Some(agent) = member.agent.try_lock().ok().and_then(|mut agent| agent.take()) {
                drop(agent);
            }
        }
        for member in &self.members {
            let _ = member.kill_server();
        }
    }
}

impl Member {
    /// Starts the agent, which starts the server.
    async fn start(&self, program: &Path) -> anyhow::Result<()> {
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.folder.join("patroni.log"))?;
        let mut command = unprivileged(program);
        command
            .arg(self.folder.join("patroni.yml"))
            .stdout(log.try_clone()?)
            .stderr(log);
        *self.agent.lock().await = Some(command.spawn()?);
        Ok(())
    }

    /// Kills the agent and the server.
    async fn kill(&self) -> anyhow::Result<()> {
        let mut agent = self.agent.lock().await;
        let mut child = agent.take().context("the agent does not run")?;
        child.start_kill()?;
        self.kill_server()?;
        process::within(PATIENCE, "patroni", child.wait()).await?;
        Ok(())
    }

    /// Kills every process of the server.
    fn kill_server(&self) -> anyhow::Result<()> {
        let Ok(file) = std::fs::read_to_string(self.folder.join("data/postmaster.pid")) else {
            return Ok(());
        };
        let pid = file.lines().next().context("an empty postmaster.pid")?;
        // After a crash, another process may have the number.
        let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if !command.contains(&*self.folder.to_string_lossy()) {
            return Ok(());
        }
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
        for process in std::iter::once(pid).chain(children.split_whitespace()) {
            let process = Pid::from_raw(process.parse()?).context("no process")?;
            // A child may have ended by itself.
            let _ = rustix::process::kill_process(process, Signal::KILL);
        }
        Ok(())
    }

    fn last_lines(&self) -> String {
        let log = std::fs::read_to_string(self.folder.join("patroni.log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(10)..].join("\n")
    }
}

/// The number of standbys that receive the primary's log now.
const STREAMING: &str = "select count(*) from pg_stat_replication where state = 'streaming'";

/// The processes that send the log.
const SENDERS: &str = "select pid from pg_stat_replication";

/// Starts an etcd of one process, and waits until it answers.
async fn start_etcd(
    program: &Path,
    folder: &Path,
    client: u16,
    http: &reqwest::Client,
) -> anyhow::Result<Child> {
    unprivileged_folder(folder).await?;
    let log = std::fs::File::create(folder.join("log"))?;
    let url = |port: u16| format!("http://127.0.0.1:{port}");
    let peer = url(free_port()?);
    let mut command: Command = unprivileged(program);
    command
        .args(["--name", "faults", "--data-dir"])
        .arg(folder.join("data"))
        .args([
            "--listen-client-urls",
            &url(client),
            "--advertise-client-urls",
            &url(client),
        ])
        .args([
            "--listen-peer-urls",
            &peer,
            "--initial-advertise-peer-urls",
            &peer,
        ])
        .args(["--initial-cluster", &format!("faults={peer}")])
        // Only Patroni's leases are in it, and its disk is the disk of all.
        .args(["--heartbeat-interval", "100", "--election-timeout", "1000"])
        .stdout(Stdio::null())
        .stderr(log);
    let etcd = command.spawn()?;
    let deadline = Instant::now() + PATIENCE;
    while http.get(format!("{}/health", url(client))).send().await.is_err() {
        ensure!(
            Instant::now() < deadline,
            "etcd does not answer:\n{}",
            std::fs::read_to_string(folder.join("log")).unwrap_or_default()
        );
        tokio::time::sleep(POLL).await;
    }
    Ok(etcd)
}

/// The settings of a member. The times are far shorter than in production, so that a failover takes seconds.
fn settings(member: &Member, number: usize, etcd: u16, bin: &Path, is_synchronous: bool) -> Value {
    let address = format!("127.0.0.1:{}", member.port);
    let rest = format!("127.0.0.1:{}", member.rest);
    json!({
        "scope": "faults",
        "name": format!("member-{number}"),
        "restapi": {"listen": rest, "connect_address": rest},
        "etcd3": {"host": format!("127.0.0.1:{etcd}")},
        "watchdog": {"mode": "off"},
        "bootstrap": {
            "dcs": {
                "ttl": 8,
                "loop_wait": 1,
                "retry_timeout": 3,
                "synchronous_mode": is_synchronous,
                "postgresql": {"use_pg_rewind": true, "use_slots": true},
            },
            "initdb": [{"encoding": "UTF8"}, {"locale": "C"}],
        },
        "postgresql": {
            "listen": address,
            "connect_address": address,
            "data_dir": member.folder.join("data"),
            "bin_dir": bin,
            "pgpass": member.folder.join("pgpass"),
            "authentication": {
                "superuser": {"username": USER, "password": USER},
                "replication": {"username": "replicator", "password": "replicator"},
            },
            "parameters": {"unix_socket_directories": member.folder, "max_connections": 200},
            "pg_hba": [
                "local all all trust",
                "host all all 127.0.0.1/32 trust",
                "host replication all 127.0.0.1/32 trust",
            ],
        },
    })
}

/// Whether a cluster has a leader and all its standbys run.
fn is_whole(cluster: &Value, is_synchronous: bool) -> bool {
    let members: Vec<&Value> = cluster["members"].as_array().into_iter().flatten().collect();
    let count = |role: &str| {
        let of_role = members.iter().filter(|member| member["role"] == json!(role));
        of_role
            .filter(|member| {
                ["running", "streaming"]
                    .map(Value::from)
                    .contains(&member["state"])
            })
            .count()
    };
    let standbys = match is_synchronous {
        true => count("sync_standby") == 1 && count("replica") == MEMBERS - 2,
        false => count("replica") == MEMBERS - 1,
    };
    count("leader") == 1 && standbys
}

/// Observes which member is the primary, for as long as the cluster lives.
async fn watch_primary(http: reqwest::Client, members: Vec<(u16, u16)>, current: watch::Sender<Option<u16>>) {
    let mut misses = 0;
    while !current.is_closed() {
        let mut found = None;
        for (port, rest) in &members {
            let answer = http.get(format!("http://127.0.0.1:{rest}/primary")).send().await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                found = Some(*port);
            }
        }
        misses = if found.is_some() { 0 } else { misses + 1 };
        if found.is_some() || misses >= MISSES {
            current.send_if_modified(|current| std::mem::replace(current, found) != found);
        }
        tokio::time::sleep(POLL).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_whole_only_with_a_leader_and_two_running_standbys() {
        let cluster = |roles: [(&str, &str); 3]| json!({"members": roles.map(|(role, state)| json!({"role": role, "state": state}))});
        let sync = cluster([
            ("leader", "running"),
            ("sync_standby", "streaming"),
            ("replica", "running"),
        ]);
        let asynchronous = cluster([
            ("leader", "running"),
            ("replica", "running"),
            ("replica", "streaming"),
        ]);
        let starting = cluster([
            ("leader", "running"),
            ("sync_standby", "running"),
            ("replica", "starting"),
        ]);
        assert!(is_whole(&sync, true) && !is_whole(&sync, false));
        assert!(is_whole(&asynchronous, false) && !is_whole(&asynchronous, true));
        assert!(!is_whole(&starting, true) && !is_whole(&Value::Null, true));
    }
}

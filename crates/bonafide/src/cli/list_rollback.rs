//! `bonafide lists rollback`: makes a version of a list that this node keeps the one in use again. Where two people are
//! required, the command only proposes it, and carries it out once two operators have confirmed it.

use anyhow::Context;
use service::config::DataConfig;
use service::installation_acts::{self, InstallationAct, Rollback};
use service::list_copies;
use service::list_set::{self, CheckedSet};
use service::lists::PastWallets;
use service::operations::COMMAND_LINE;
use service::problem::Problem;

use super::data::{self, Data};
use super::list_diff::{find, replaced_last};
use super::output::print_line;

pub(super) async fn run(config: &DataConfig, list: &str, version: Option<&str>) -> anyhow::Result<()> {
    let Data { db, objects } = data::open_existing(config).await?;
    let store = config.list_store()?;
    let _lock = store.lock()?;
    let checked = CheckedSet::read(&db).await?;
    let in_use = checked
        .list(list)
        .with_context(|| format!("the list {list} is not in use: `bonafide lists status` shows the lists"))?;
    let digest = hex::encode(in_use.digest);
    let versions = store.versions(list)?;
    let to = match version {
        Some(version) => find(&versions, list, version)?,
        None => replaced_last(&versions, list, &digest)?,
    };
    anyhow::ensure!(
        to.digest != digest,
        "version {} of {list} is in use already",
        to.version
    );
    let failed = |problem: Problem| anyhow::anyhow!("{problem}");
    let act = InstallationAct::RollBackList(Rollback {
        list: list.to_owned(),
        from: in_use.version.clone(),
        version: to.version.clone(),
        digest: to.digest.clone(),
    });
    let needs_two = installation_acts::needs_two(&mut db.read().await?)
        .await
        .map_err(failed)?;
    if needs_two
        && !installation_acts::take_confirmed(&db, &act)
            .await
            .map_err(failed)?
    {
        installation_acts::propose(&db, &act).await.map_err(failed)?;
        return print_line(
            "Proposed. Two operators must confirm it in the console, under \"Lists and models\". Then run this command again.",
        );
    }
    store.roll_back(list, to)?;
    list_copies::store_copy(&objects, &store, list, &to.digest).await?;
    list_set::roll_back(&db, &store, list, &checked, COMMAND_LINE)
        .await
        .with_context(|| {
            format!(
                "{} of {list} is in this node's folder, but not in use: run this command again",
                to.version
            )
        })?;
    PastWallets::remember(config, jiff::Timestamp::now().as_millisecond())?;
    print_line(&format!("{list} {} replaces {}", to.version, in_use.version))
}

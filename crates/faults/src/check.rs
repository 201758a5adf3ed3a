//! The check after a run: everything acknowledged is there once, nothing else is, results of hosted sessions have
//! not changed, and the audit trails are whole. It reads through the API and the command line, on every node.
//! [`crate::objects`] checks the files. It never reads the database.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::bail;
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::installation::Installation;
use crate::journal::{Acknowledged, Ended, Group, Verified};

/// What an installation must contain.
pub(crate) struct Expected {
    /// What must be there: it was acknowledged before the state that is checked.
    pub(crate) before: Acknowledged,
    /// What may be there too: it was acknowledged later.
    pub(crate) after: Acknowledged,
    /// Whether every request was answered, so nothing else may be there.
    pub(crate) is_exact: bool,
}

/// The findings.
#[derive(Default)]
pub(crate) struct Report {
    /// A line for each violation.
    pub(crate) wrong: Vec<String>,
    /// What was acknowledged after the state that is checked and is not in it, by kind.
    pub(crate) lost: BTreeMap<&'static str, usize>,
    /// What was found as acknowledged, by kind.
    pub(crate) found: BTreeMap<&'static str, usize>,
}

impl Report {
    pub(crate) fn lost(&mut self, what: &'static str) {
        *self.lost.entry(what).or_default() += 1;
    }

    pub(crate) fn found(&mut self, what: &'static str) {
        *self.found.entry(what).or_default() += 1;
    }

    /// The counts as text.
    pub(crate) fn counts(counts: &BTreeMap<&'static str, usize>) -> String {
        let counts: Vec<String> = counts
            .iter()
            .map(|(what, count)| format!("{count} {what}"))
            .collect();
        match counts.is_empty() {
            true => "nothing".to_owned(),
            false => counts.join(", "),
        }
    }
}

impl Expected {
    /// Everything acknowledged must be there, and nothing else.
    pub(crate) fn exactly(acknowledged: &Acknowledged) -> Expected {
        Expected {
            before: acknowledged.clone(),
            after: acknowledged.clone(),
            is_exact: true,
        }
    }
}

/// Compares an installation with what it must contain. Counts are those of one node.
pub(crate) async fn check(installation: &Installation, expected: &Expected) -> anyhow::Result<Report> {
    let mut report = Report::default();
    for node in 0..installation.nodes.len() {
        let mut of_node = Report::default();
        groups(installation, node, expected, &mut of_node).await?;
        people(installation, node, expected, &mut of_node).await?;
        sessions(installation, node, expected, &mut of_node).await?;
        let wrong = of_node.wrong.drain(..);
        report
            .wrong
            .extend(wrong.map(|wrong| format!("node {node}: {wrong}")));
        (report.lost, report.found) = (of_node.lost, of_node.found);
    }
    if let Err(error) = installation.bonafide(&["audit", "verify"]).await {
        report.wrong.push(format!("the audit trail is broken: {error}"));
    }
    Ok(report)
}

/// Reads a path; `None` if it is not there.
async fn get(installation: &Installation, node: usize, path: &str) -> anyhow::Result<Option<Value>> {
    let request = installation
        .http
        .get(format!("{}{path}", installation.nodes[node].base()))
        .basic_auth(installation.demo("apiKey"), Some(installation.demo("secret")));
    let answer = request.send().await?;
    let (status, text) = (answer.status(), answer.text().await?);
    match status {
        StatusCode::NOT_FOUND => Ok(None),
        status if status.is_success() => Ok(Some(serde_json::from_str(&text)?)),
        status => bail!("{path}: {status} {text}"),
    }
}

/// Every Group that must be there is there once with an acknowledged description.
async fn groups(
    installation: &Installation,
    node: usize,
    expected: &Expected,
    report: &mut Report,
) -> anyhow::Result<()> {
    let body = get(installation, node, "/v2/public/groups")
        .await?
        .unwrap_or_default();
    let all = body["groups"].as_array().cloned().unwrap_or_default();
    compare_groups(&all, expected, installation.demo("groupId"), report);
    Ok(())
}

/// Compares the account's Groups with the expected ones. The account's `own` Group was there before.
fn compare_groups(all: &[Value], expected: &Expected, own: &str, report: &mut Report) {
    let mut there: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for group in all {
        let id = group["groupId"].as_str().unwrap_or_default();
        let description = group["description"].as_str().unwrap_or_default();
        there.entry(id).or_default().push(description);
    }
    there.remove(own);
    for (id, latest) in &expected.after.groups {
        let earliest = expected.before.groups.get(id).map(|group| group.version);
        match (there.remove(id.as_str()).as_deref(), earliest) {
            (None, Some(_)) => report.wrong.push(format!("lost: Group {id}")),
            (None, None) => report.lost("Groups"),
            (Some([description]), earliest) => match Group::version_of(description) {
                Some(version) if (earliest.unwrap_or(0)..=latest.version).contains(&version) => {
                    report.found("Groups");
                    if version < latest.version {
                        report.lost("latest changes of Groups");
                    }
                }
                // A change that was not acknowledged before everything ended.
                Some(version) if !expected.is_exact && version == latest.version + 1 => {
                    report.found("Groups");
                }
                _ => report.wrong.push(format!(
                    "Group {id} has {description} instead of {}",
                    latest.description()
                )),
            },
            (Some(others), _) => report.wrong.push(format!("doubled: Group {id}: {others:?}")),
        }
    }
    for id in there.into_keys() {
        match expected.is_exact {
            true => report
                .wrong
                .push(format!("doubled or never acknowledged: Group {id}")),
            false => report.found("Groups without an acknowledgement"),
        }
    }
}

/// The Groups in which each person was verified.
fn by_person(acknowledged: &Acknowledged) -> BTreeMap<Verified, BTreeSet<String>> {
    let mut people: BTreeMap<Verified, BTreeSet<String>> = BTreeMap::new();
    for (id, group) in &acknowledged.groups {
        if let Some(verified) = &group.verified {
            people.entry(verified.clone()).or_default().insert(id.clone());
        }
    }
    people
}

/// Every acknowledged verification is one registration with one attempt, and each person has one face.
async fn people(
    installation: &Installation,
    node: usize,
    expected: &Expected,
    report: &mut Report,
) -> anyhow::Result<()> {
    let before = by_person(&expected.before);
    for (person, may) in by_person(&expected.after) {
        let must = before.get(&person).cloned().unwrap_or_default();
        let Verified { user, facemap } = &person;
        let path = format!("/v2/reports/applicants/byExternalUserId/{user}");
        let Some(resolved) = get(installation, node, &path).await? else {
            match must.is_empty() {
                true => report.lost("people"),
                false => report.wrong.push(format!("lost: {user}")),
            }
            continue;
        };
        if resolved["facemapId"] != json!(facemap) {
            if must.is_empty() && !expected.is_exact {
                // The person's first face is lost, and a later verification has enrolled another.
                report.lost("faces");
                continue;
            }
            report.wrong.push(format!(
                "{user} has the face {} instead of {facemap}",
                resolved["facemapId"]
            ));
        }
        let path = format!("/v2/reports/applicants/{facemap}");
        let Some(found) = get(installation, node, &path).await? else {
            report.wrong.push(format!("the face of {user} is not there"));
            continue;
        };
        report.found("people");
        compare_person(&found, (&must, &may), expected.is_exact, user, report);
    }
    Ok(())
}

/// Compares a person's registrations with the Groups in which they must and may have been verified.
fn compare_person(
    person: &Value,
    (must, may): (&BTreeSet<String>, &BTreeSet<String>),
    is_exact: bool,
    user: &str,
    report: &mut Report,
) {
    let mut attempts: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
    for registration in person["registrations"].as_array().into_iter().flatten() {
        let group = registration["groupingId"].as_str().unwrap_or_default();
        let verifications = registration["verifications"].as_array().into_iter().flatten();
        let passed = verifications.map(|attempt| attempt["success"] == json!(true));
        attempts.entry(group).or_default().extend(passed);
    }
    for group in may {
        match attempts.remove(group.as_str()).as_deref() {
            Some([true]) => report.found("verifications"),
            None if must.contains(group) => report
                .wrong
                .push(format!("{user}: lost: the verification in Group {group}")),
            None => report.lost("verifications"),
            Some(others) => report.wrong.push(format!(
                "{user}: Group {group} has {} attempts: {others:?}",
                others.len()
            )),
        }
    }
    for (group, others) in attempts {
        match others.as_slice() {
            [true] if !is_exact => report.found("verifications without an acknowledgement"),
            _ => report.wrong.push(format!(
                "{user}: never acknowledged: {} attempts in Group {group}",
                others.len()
            )),
        }
    }
}

/// A result that was final is the same, and a session that nobody finished has expired.
async fn sessions(
    installation: &Installation,
    node: usize,
    expected: &Expected,
    report: &mut Report,
) -> anyhow::Result<()> {
    for (id, ended) in &expected.after.ended {
        let path = format!("/v2/sdk/session/verification-result/{id}");
        let poll = get(installation, node, &path).await?;
        let is_due = expected.before.ended.contains_key(id);
        match compare_session(ended, poll.as_ref(), is_due) {
            Ok(true) => report.found("results of hosted sessions"),
            Ok(false) => report.lost("results of hosted sessions"),
            Err(wrong) => report.wrong.push(format!("session {id}: {wrong}")),
        }
        if ended.poll["status"] == json!("failed") && is_due {
            let count = attempts_of(installation, node, &ended.user).await?;
            let attempts = ended.poll["metadata"]["attempts"].as_u64();
            if count != attempts {
                report.wrong.push(format!(
                    "session {id}: {count:?} attempts of {} instead of {attempts:?}",
                    ended.user
                ));
            }
        }
    }
    for (id, left) in &expected.before.left {
        let path = format!("/v2/sdk/session/verification-result/{id}");
        let poll = get(installation, node, &path).await?.unwrap_or_default();
        let status = poll["status"].as_str().unwrap_or("lost");
        match left.may_be(status) {
            true => report.found("unfinished hosted sessions"),
            false => report.wrong.push(format!(
                "session {id}, which nobody finished, is {status} after {} s",
                left.latest.elapsed().as_secs()
            )),
        }
    }
    Ok(())
}

/// Compares a session with its final result. `false` if that result came later than this state.
fn compare_session(ended: &Ended, poll: Option<&Value>, is_due: bool) -> Result<bool, String> {
    match poll {
        Some(poll) if *poll == ended.poll => Ok(true),
        Some(poll) if is_due || poll["status"] != json!("pending") => {
            Err(format!("it changed from {} to {poll}", ended.poll))
        }
        None if is_due => Err("it is lost".to_owned()),
        _ => Ok(false),
    }
}

/// The number of attempts of an applicant; `None` if there is no such applicant.
async fn attempts_of(installation: &Installation, node: usize, user: &str) -> anyhow::Result<Option<u64>> {
    let path = format!("/v2/reports/applicants/byExternalUserId/{user}");
    let Some(resolved) = get(installation, node, &path).await? else {
        return Ok(None);
    };
    let facemap = resolved["facemapId"].as_str().unwrap_or_default();
    let path = format!("/v2/reports/applicants/{facemap}");
    let person = get(installation, node, &path).await?.unwrap_or_default();
    let registrations = person["registrations"].as_array().into_iter().flatten();
    let attempts = registrations.filter_map(|one| one["verifications"].as_array());
    Ok(Some(attempts.map(|attempts| attempts.len() as u64).sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acknowledged(versions: &[(&str, u32)]) -> Acknowledged {
        let groups = versions.iter().map(|&(id, version)| {
            let verified = None;
            (id.to_owned(), Group { version, verified })
        });
        Acknowledged {
            groups: groups.collect(),
            ..Acknowledged::default()
        }
    }

    #[test]
    fn lost_changed_and_doubled_groups_are_found() {
        let group = |id: &str, description: &str| json!({"groupId": id, "description": description});
        let exact = Expected::exactly(&acknowledged(&[("a", 3), ("b", 3)]));
        for (there, wrong) in [
            (vec![group("own", ""), group("a", "v3"), group("b", "v3")], 0),
            (vec![group("own", ""), group("a", "v3")], 1),
            (vec![group("a", "v3"), group("b", "v2")], 1),
            (vec![group("a", "v3"), group("b", "v3"), group("b", "v3")], 1),
            (vec![group("a", "v3"), group("b", "v3"), group("c", "v0")], 1),
            (vec![], 2),
        ] {
            let mut report = Report::default();
            compare_groups(&there, &exact, "own", &mut report);
            assert_eq!(report.wrong.len(), wrong, "{there:?}: {:?}", report.wrong);
        }
    }

    #[test]
    fn an_earlier_state_has_what_was_acknowledged_before_it() {
        let group = |id: &str, description: &str| json!({"groupId": id, "description": description});
        let earlier = Expected {
            before: acknowledged(&[("a", 2)]),
            after: acknowledged(&[("a", 3), ("b", 1)]),
            is_exact: false,
        };
        for (there, wrong, lost) in [
            (vec![group("a", "v2")], 0, "1 Groups, 1 latest changes of Groups"),
            (vec![group("a", "v3"), group("b", "v1")], 0, "nothing"),
            (vec![group("a", "v1")], 1, "1 Groups"),
            (vec![group("b", "v1")], 1, "nothing"),
            (
                vec![group("a", "v3"), group("b", "v1"), group("c", "v0")],
                0,
                "nothing",
            ),
        ] {
            let mut report = Report::default();
            compare_groups(&there, &earlier, "own", &mut report);
            assert_eq!(report.wrong.len(), wrong, "{there:?}: {:?}", report.wrong);
            assert_eq!(Report::counts(&report.lost), lost, "{there:?}");
        }
    }

    #[test]
    fn lost_failed_and_doubled_verifications_are_found() {
        let registration = |group: &str, attempts: &[bool]| {
            let attempts: Vec<Value> = attempts.iter().map(|passed| json!({"success": passed})).collect();
            json!({"groupingId": group, "verifications": attempts})
        };
        let groups = BTreeSet::from(["a".to_owned(), "b".to_owned()]);
        for (registrations, wrong) in [
            (vec![registration("a", &[true]), registration("b", &[true])], 0),
            (vec![registration("a", &[true])], 1),
            (
                vec![registration("a", &[true, true]), registration("b", &[true])],
                1,
            ),
            (vec![registration("a", &[false]), registration("b", &[true])], 1),
            (
                vec![
                    registration("a", &[true]),
                    registration("b", &[true]),
                    registration("c", &[true]),
                ],
                1,
            ),
        ] {
            let mut report = Report::default();
            let person = json!({"registrations": registrations});
            compare_person(&person, (&groups, &groups), true, "user", &mut report);
            assert_eq!(report.wrong.len(), wrong, "{person}: {:?}", report.wrong);
        }
    }

    #[test]
    fn a_final_result_never_changes() {
        let ended = Ended {
            user: "user".into(),
            poll: json!({"status": "success", "result": "1"}),
        };
        let changed = json!({"status": "success", "result": "2"});
        let pending = json!({"status": "pending"});
        for (poll, is_due, expected) in [
            (Some(&ended.poll), true, Some(true)),
            (Some(&changed), true, None),
            (Some(&changed), false, None),
            (Some(&pending), true, None),
            (Some(&pending), false, Some(false)),
            (None, true, None),
            (None, false, Some(false)),
        ] {
            assert_eq!(compare_session(&ended, poll, is_due).ok(), expected, "{poll:?}");
        }
    }
}

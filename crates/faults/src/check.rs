//! The check after a run: everything acknowledged is there once, nothing else is, and the audit trails are
//! whole. It reads through the API and the command line, on every node.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::ensure;
use serde_json::{Value, json};

use crate::installation::Installation;
use crate::journal::{Group, Journal, Verified};

/// Compares the installation with the journal. Returns a line for each difference.
pub(crate) async fn check(installation: &Installation, journal: &Journal) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    for node in 0..installation.nodes.len() {
        groups(installation, node, journal, &mut found).await?;
        people(installation, node, journal, &mut found).await?;
    }
    if let Err(error) = installation.bonafide(&["audit", "verify"]).await {
        found.push(format!("the audit trail is broken: {error}"));
    }
    Ok(found)
}

async fn get(installation: &Installation, node: usize, path: &str) -> anyhow::Result<Value> {
    let request = installation
        .http
        .get(format!("{}{path}", installation.nodes[node].base()))
        .basic_auth(installation.demo("apiKey"), Some(installation.demo("secret")));
    let answer = request.send().await?;
    let (status, text) = (answer.status(), answer.text().await?);
    ensure!(status.is_success(), "{path}: {status} {text}");
    Ok(serde_json::from_str(&text)?)
}

/// Every acknowledged Group is there once with its last acknowledged description, and no other Group.
async fn groups(
    installation: &Installation,
    node: usize,
    journal: &Journal,
    found: &mut Vec<String>,
) -> anyhow::Result<()> {
    let body = get(installation, node, "/v2/public/groups").await?;
    let all = body["groups"].as_array().cloned().unwrap_or_default();
    let differences = compare_groups(&all, &journal.groups(), installation.demo("groupId"));
    found.extend(
        differences
            .into_iter()
            .map(|difference| format!("node {node}: {difference}")),
    );
    Ok(())
}

/// The differences between the account's Groups and the acknowledged ones. The account's `own` Group was
/// there before.
fn compare_groups(all: &[Value], acknowledged: &BTreeMap<String, Group>, own: &str) -> Vec<String> {
    let mut there: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for group in all {
        let id = group["groupId"].as_str().unwrap_or_default();
        there.entry(id).or_default().push(&group["description"]);
    }
    there.remove(own);
    let mut found = Vec::new();
    for (id, group) in acknowledged {
        match there.remove(id.as_str()).as_deref() {
            None => found.push(format!("lost: Group {id}")),
            Some([description]) if **description == json!(group.description) => {}
            Some(others) => found.push(format!(
                "Group {id} has {others:?} instead of {}",
                group.description
            )),
        }
    }
    let others = there
        .into_keys()
        .map(|id| format!("doubled or never acknowledged: Group {id}"));
    found.extend(others);
    found
}

/// Every acknowledged verification is one registration with one attempt, and each person has one face.
async fn people(
    installation: &Installation,
    node: usize,
    journal: &Journal,
    found: &mut Vec<String>,
) -> anyhow::Result<()> {
    let mut expected: BTreeMap<Verified, BTreeSet<String>> = BTreeMap::new();
    for (id, group) in journal.groups() {
        if let Some(verified) = group.verified {
            expected.entry(verified).or_default().insert(id);
        }
    }
    for (Verified { user, facemap }, groups) in &expected {
        let path = format!("/v2/reports/applicants/byExternalUserId/{user}");
        let resolved = get(installation, node, &path).await?;
        if resolved["facemapId"] != json!(facemap) {
            found.push(format!(
                "{user} has the face {} instead of {facemap}",
                resolved["facemapId"]
            ));
        }
        let person = get(installation, node, &format!("/v2/reports/applicants/{facemap}")).await?;
        let differences = compare_person(&person, groups).into_iter();
        found.extend(differences.map(|difference| format!("node {node}: {user}: {difference}")));
    }
    Ok(())
}

/// The differences between a person's registrations and the Groups in which they were verified.
fn compare_person(person: &Value, groups: &BTreeSet<String>) -> Vec<String> {
    let mut attempts: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
    for registration in person["registrations"].as_array().into_iter().flatten() {
        let group = registration["groupingId"].as_str().unwrap_or_default();
        let verifications = registration["verifications"].as_array().into_iter().flatten();
        let passed = verifications.map(|attempt| attempt["success"] == json!(true));
        attempts.entry(group).or_default().extend(passed);
    }
    let mut found = Vec::new();
    for group in groups {
        match attempts.remove(group.as_str()).as_deref() {
            Some([true]) => {}
            None => found.push(format!("lost: the verification in Group {group}")),
            Some(others) => found.push(format!("Group {group} has {} attempts: {others:?}", others.len())),
        }
    }
    let others = attempts
        .into_keys()
        .map(|group| format!("never acknowledged: a verification in Group {group}"));
    found.extend(others);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_changed_and_doubled_groups_are_found() {
        let group = |id: &str, description: &str| json!({"groupId": id, "description": description});
        let acknowledged = ["a", "b"].map(|id| {
            let description = "v3".to_owned();
            (
                id.to_owned(),
                Group {
                    description,
                    verified: None,
                },
            )
        });
        let acknowledged = BTreeMap::from(acknowledged);
        for (there, expected) in [
            (vec![group("own", ""), group("a", "v3"), group("b", "v3")], 0),
            (vec![group("own", ""), group("a", "v3")], 1),
            (vec![group("a", "v3"), group("b", "v2")], 1),
            (vec![group("a", "v3"), group("b", "v3"), group("b", "v3")], 1),
            (vec![group("a", "v3"), group("b", "v3"), group("c", "v0")], 1),
            (vec![], 2),
        ] {
            let found = compare_groups(&there, &acknowledged, "own");
            assert_eq!(found.len(), expected, "{there:?}: {found:?}");
        }
    }

    #[test]
    fn lost_failed_and_doubled_verifications_are_found() {
        let registration = |group: &str, attempts: &[bool]| {
            let attempts: Vec<Value> = attempts.iter().map(|passed| json!({"success": passed})).collect();
            json!({"groupingId": group, "verifications": attempts})
        };
        let groups = BTreeSet::from(["a".to_owned(), "b".to_owned()]);
        for (registrations, expected) in [
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
            let person = json!({"registrations": registrations});
            let found = compare_person(&person, &groups);
            assert_eq!(found.len(), expected, "{person}: {found:?}");
        }
    }
}

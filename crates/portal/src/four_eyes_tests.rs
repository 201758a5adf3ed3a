//! Classifies every form of the portal by the acts that it can perform. Where two people are required, no
//! person can approve an applicant alone. The test fails for a form that is not classified here.

use std::collections::BTreeSet;

use axum::http::Method;
use service::permissions::{Grantee, Role, may};
use verification::four_eyes::{Act, FourEyesScope, needs_second_person};

use crate::table;

/// The acts that a form or a command can perform. An empty list means that the form lets no further applicant
/// pass.
type Row = (&'static str, &'static [Act]);

const FORMS: &[Row] = &[
    // Decisions, and the records that they rely on.
    ("/portal/applicants/{logId}/approve", &[Act::Approve]),
    ("/portal/applicants/{logId}/decline", &[Act::Decline]),
    (
        "/portal/applicants/{logId}/reopen",
        &[Act::Reopen, Act::ReopenDeclined],
    ),
    ("/portal/applicants/{logId}/not-this-person", &[Act::SetAside]),
    // The second person's answers.
    ("/portal/applicants/{logId}/confirm", &[]),
    ("/portal/applicants/{logId}/reject", &[]),
    ("/portal/second/{proposalId}/confirm", &[]),
    ("/portal/second/{proposalId}/reject", &[]),
    // A disposition approves no applicant. An approval that relies on it needs two people.
    ("/portal/applicants/{logId}/disposition", &[]),
    ("/portal/applicants/{logId}/claim", &[]),
    ("/portal/applicants/{logId}/take-over", &[]),
    ("/portal/applicants/{logId}/release", &[]),
    ("/portal/applicants/{logId}/notes", &[]),
    // A link permits another attempt, which is checked like any other.
    ("/portal/applicants/{logId}/link", &[]),
    ("/portal/links", &[]),
    ("/portal/invitations/import", &[]),
    ("/portal/invitations/links", &[]),
    ("/portal/invitations/statuses", &[]),
    ("/portal/invitations/{id}/remind", &[]),
    ("/portal/invitations/{id}/revoke", &[]),
    ("/portal/queue/next", &[]),
    ("/portal/queue/views", &[]),
    ("/portal/queue/views/delete", &[]),
    ("/portal/queue/reasons", &[]),
    ("/portal/queue/reasons/delete", &[]),
    ("/portal/people", &[]),
    // A restored listing counts again, which makes screening stricter.
    ("/portal/people/{facemapId}/listings/restore", &[]),
    ("/portal/people/{facemapId}/merge", &[Act::MergePeople]),
    ("/portal/people/{facemapId}/split", &[Act::SplitPerson]),
    ("/portal/screening", &[]),
    ("/portal/screening/file", &[]),
    // "Other person" sets the listing aside. "Same person" changes no status. Several alerts are decided one by one.
    ("/portal/alerts/{id}/decide", &[Act::SetAside]),
    ("/portal/alerts/decide", &[Act::SetAside, Act::BulkDecision]),
    ("/portal/alerts/{id}/claim", &[]),
    ("/portal/alerts/{id}/release", &[]),
    // A reopened alert needs a decision again.
    ("/portal/alerts/{id}/reopen", &[]),
    // Wallet scores decide about no applicant.
    ("/portal/wallet-alerts/{id}/close", &[]),
    ("/portal/monitoring", &[]),
    ("/portal/monitoring-search", &[]),
    ("/portal/monitoring/{id}/again", &[]),
    // The configuration of checks.
    ("/portal/flows/new", &[Act::MakeFlow]),
    ("/portal/flows/{flowId}", &[Act::WeakenFlow]),
    ("/portal/flows/{flowId}/duplicate", &[Act::MakeFlow]),
    // A deleted Flow's attempts retain its requirements, and no applicant can pass through it.
    ("/portal/flows/{flowId}/delete", &[]),
    // These affect only the sandbox or change nothing.
    ("/portal/flows/{flowId}/try", &[]),
    ("/portal/flows/outlook", &[]),
    ("/portal/flows/preview", &[]),
    // A Group states which Flows belong together. Each Flow still applies its own checks.
    ("/portal/groups/new", &[]),
    ("/portal/groups/{groupId}", &[]),
    ("/portal/groups/{groupId}/delete", &[]),
    ("/portal/branding", &[Act::WeakenAccount]),
    ("/portal/branding/logo", &[]),
    ("/portal/privacy/retention", &[Act::WeakenFlow]),
    // Data-subject rights. An erased person who returns is checked again.
    ("/portal/privacy/erase", &[]),
    ("/portal/privacy/export", &[]),
    ("/portal/privacy/person", &[]),
    // The people who count as members.
    ("/portal/join/{token}", &[Act::CountMember]),
    ("/portal/join/{token}/accept", &[Act::CountMember]),
    ("/portal/staff/{id}/role", &[Act::CountMember]),
    ("/portal/staff/{id}/password", &[Act::CountMember]),
    // A member whose access is restored is the same person. An invitation counts only when a person accepts
    // it.
    ("/portal/staff/{id}/access", &[]),
    ("/portal/staff/invite", &[]),
    ("/portal/staff/invitations/{id}/revoke", &[]),
    // A member's own login.
    ("/portal/account/choose", &[]),
    ("/portal/account/email", &[]),
    ("/portal/account/name", &[]),
    ("/portal/account/password", &[]),
    ("/portal/account/recovery", &[]),
    // This switch can remove the account's requirement of a second factor for every member.
    ("/portal/account/second-factor", &[Act::WeakenAccount]),
    ("/portal/account/sessions/end-all", &[]),
    ("/portal/account/sessions/{id}/end", &[]),
    ("/portal/account/passkeys", &[]),
    ("/portal/account/passkeys/{id}/remove", &[]),
    ("/portal/account/totp", &[]),
    ("/portal/account/totp/off", &[]),
    ("/portal/forgot", &[]),
    ("/portal/mode", &[]),
    ("/portal/prove", &[]),
    ("/portal/sign-in", &[]),
    ("/portal/sign-in/passkey", &[]),
    ("/portal/sign-in/code", &[]),
    ("/portal/sign-out", &[]),
    ("/portal/sign-up", &[]),
    ("/portal/sign-up/{token}", &[]),
    // Keys and webhooks. A key changes Flows as the contract states, which does not affect pending attempts.
    ("/portal/keys", &[]),
    ("/portal/keys/{key}/permissions", &[]),
    ("/portal/keys/{key}/restrictions", &[]),
    ("/portal/keys/{key}/revoke", &[]),
    ("/portal/keys/{key}/rotate", &[]),
    ("/portal/webhooks/resend", &[]),
    ("/portal/webhooks/events/{eventId}", &[]),
    ("/portal/webhooks/{flowId}/secret", &[]),
    ("/portal/webhooks/{flowId}/test", &[]),
    ("/portal/application", &[]),
    ("/portal/audit/verify", &[]),
    // The installation: accounts, never applicants.
    ("/portal/operator/audit/verify", &[]),
    ("/portal/operator/jobs/{jobId}/run", &[]),
    ("/portal/operator/lists/reload", &[]),
    // The second operator's answers.
    ("/portal/operator/proposals/{proposalId}/confirm", &[]),
    ("/portal/operator/proposals/{proposalId}/reject", &[]),
    ("/portal/operator/merchants/{merchantId}/decide", &[]),
    ("/portal/operator/merchants/{merchantId}/limits", &[]),
    ("/portal/operator/operators/invite", &[]),
    ("/portal/operator/operators/{staffId}/access", &[]),
    ("/portal/operator/sign-ups/{id}/dismiss", &[]),
    ("/portal/operator/sign-ups/{id}/link", &[]),
];

const STATES: [FourEyesScope; 3] = [
    FourEyesScope {
        account: true,
        flow: false,
        any_flow: false,
    },
    FourEyesScope {
        account: true,
        flow: true,
        any_flow: true,
    },
    FourEyesScope {
        account: false,
        flow: true,
        any_flow: true,
    },
];

#[test]
fn no_role_passes_anybody_alone_by_any_form() {
    let forms: BTreeSet<&str> = table()
        .iter()
        .filter(|row| row.method == Method::POST)
        .map(|row| row.path)
        .collect();
    for path in &forms {
        let known = FORMS.iter().filter(|(known, _)| known == path).count();
        assert_eq!(known, 1, "{path}: say above which act it is");
    }
    for (path, _) in FORMS {
        assert!(forms.contains(path), "{path} is no form");
    }
    let mut cells = 0;
    for row in table().iter().filter(|row| row.method == Method::POST) {
        let (_, acts) = FORMS.iter().find(|(path, _)| *path == row.path).unwrap();
        for role in Role::ALL {
            for state in STATES {
                for act in acts.iter().filter(|act| act.lets_pass()) {
                    let alone = may(Some(role), false, row.action) && !needs_second_person(*act, state);
                    assert!(!alone, "{} {role:?} {act:?} {state:?}", row.path);
                    cells += 1;
                }
            }
        }
        if row.action.who() == Grantee::Operators {
            assert!(
                acts.is_empty(),
                "{}: operators decide about no applicant",
                row.path
            );
        }
    }
    assert!(cells > 150, "{cells}");
}

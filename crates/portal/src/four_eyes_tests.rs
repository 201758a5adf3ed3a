//! Classifies every form of the portal by the act that it may be. Where two people are required, no person
//! can let an applicant pass alone. A form that is not classified here fails the tests.

use std::collections::BTreeSet;

use axum::http::Method;
use service::permissions::{Role, Who, may};
use verification::four_eyes::{Act, State, needs_second};

use crate::table;

/// The acts that a form or a command may be; empty: it lets no applicant pass who would not have passed
/// before.
type Row = (&'static str, &'static [Act]);

const FORMS: &[Row] = &[
    // Decisions and their grounds.
    ("/portal/applicants/{logId}/approve", &[Act::Approve]),
    ("/portal/applicants/{logId}/decline", &[Act::Decline]),
    (
        "/portal/applicants/{logId}/reopen",
        &[Act::Reopen, Act::ReopenDeclined],
    ),
    ("/portal/applicants/{logId}/not-this-person", &[Act::SetAside]),
    // Answers of the second person.
    ("/portal/applicants/{logId}/confirm", &[]),
    ("/portal/applicants/{logId}/reject", &[]),
    ("/portal/second/{proposalId}/confirm", &[]),
    ("/portal/second/{proposalId}/reject", &[]),
    // A disposition approves nothing; an approval that relies on it needs two people.
    ("/portal/applicants/{logId}/disposition", &[]),
    ("/portal/applicants/{logId}/claim", &[]),
    ("/portal/applicants/{logId}/take-over", &[]),
    ("/portal/applicants/{logId}/release", &[]),
    ("/portal/applicants/{logId}/notes", &[]),
    // A link allows another try, which is judged like any other attempt.
    ("/portal/applicants/{logId}/link", &[]),
    ("/portal/links", &[]),
    ("/portal/queue/next", &[]),
    ("/portal/queue/views", &[]),
    ("/portal/queue/views/delete", &[]),
    ("/portal/queue/reasons", &[]),
    ("/portal/queue/reasons/delete", &[]),
    ("/portal/people", &[]),
    // A listing counts again: more is checked.
    ("/portal/people/{facemapId}/listings/restore", &[]),
    ("/portal/screening", &[]),
    // Wallet scores decide about no applicant.
    ("/portal/monitoring", &[]),
    ("/portal/monitoring-search", &[]),
    ("/portal/monitoring/{id}/again", &[]),
    // What is checked.
    ("/portal/flows/new", &[Act::MakeFlow]),
    ("/portal/flows/{flowId}", &[Act::WeakenFlow]),
    ("/portal/flows/{flowId}/duplicate", &[Act::MakeFlow]),
    // Its attempts keep its requirements, and no applicant passes through a deleted Flow.
    ("/portal/flows/{flowId}/delete", &[]),
    // In the sandbox only.
    ("/portal/flows/{flowId}/try", &[]),
    ("/portal/flows/outlook", &[]),
    ("/portal/flows/preview", &[]),
    // A Group says which Flows belong together; each Flow checks what it did.
    ("/portal/groups/new", &[]),
    ("/portal/groups/{groupId}", &[]),
    ("/portal/groups/{groupId}/delete", &[]),
    ("/portal/branding", &[Act::WeakenAccount]),
    ("/portal/branding/logo", &[]),
    ("/portal/privacy/retention", &[Act::WeakenFlow]),
    // A right of the person. A person who returns is checked again.
    ("/portal/privacy/erase", &[]),
    ("/portal/privacy/export", &[]),
    ("/portal/privacy/person", &[]),
    // Who counts as a person.
    ("/portal/join/{token}", &[Act::CountMember]),
    ("/portal/join/{token}/accept", &[Act::CountMember]),
    ("/portal/staff/{id}/role", &[Act::CountMember]),
    ("/portal/staff/{id}/password", &[Act::CountMember]),
    // A member who is let in again is the same person; an invitation counts when a person joins by it.
    ("/portal/staff/{id}/access", &[]),
    ("/portal/staff/invite", &[]),
    ("/portal/staff/invitations/{id}/revoke", &[]),
    // One's own login.
    ("/portal/account/choose", &[]),
    ("/portal/account/email", &[]),
    ("/portal/account/name", &[]),
    ("/portal/account/password", &[]),
    ("/portal/account/recovery", &[]),
    // An account may no longer require a second factor of every member.
    ("/portal/account/second-factor", &[Act::WeakenAccount]),
    ("/portal/account/sessions/end-all", &[]),
    ("/portal/account/sessions/{id}/end", &[]),
    ("/portal/account/totp", &[]),
    ("/portal/account/totp/off", &[]),
    ("/portal/forgot", &[]),
    ("/portal/mode", &[]),
    ("/portal/prove", &[]),
    ("/portal/sign-in", &[]),
    ("/portal/sign-in/code", &[]),
    ("/portal/sign-out", &[]),
    ("/portal/sign-up", &[]),
    ("/portal/sign-up/{token}", &[]),
    // Keys and webhooks: a key changes Flows as the contract says, without touching what waits.
    ("/portal/keys", &[]),
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
    // Answers of the second operator.
    ("/portal/operator/proposals/{proposalId}/confirm", &[]),
    ("/portal/operator/proposals/{proposalId}/reject", &[]),
    ("/portal/operator/merchants/{merchantId}/decide", &[]),
    ("/portal/operator/merchants/{merchantId}/limits", &[]),
    ("/portal/operator/operators/invite", &[]),
    ("/portal/operator/operators/{staffId}/access", &[]),
    ("/portal/operator/sign-ups/{id}/dismiss", &[]),
    ("/portal/operator/sign-ups/{id}/link", &[]),
];

const STATES: [State; 3] = [
    State {
        account: true,
        flow: false,
        any_flow: false,
    },
    State {
        account: true,
        flow: true,
        any_flow: true,
    },
    State {
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
                    let alone = may(Some(role), false, row.action) && !needs_second(*act, state);
                    assert!(!alone, "{} {role:?} {act:?} {state:?}", row.path);
                    cells += 1;
                }
            }
        }
        if row.action.who() == Who::Operators {
            assert!(
                acts.is_empty(),
                "{}: operators decide about no applicant",
                row.path
            );
        }
    }
    assert!(cells > 150, "{cells}");
}

//! Attempts by one person to let an applicant pass alone.

use serde_json::Value;

use super::{answer, proposal, waiting};
use crate::harness::{Server, on_both};
use crate::portal::review::{conclude, decide, listed, merchant, newest, open, status_of};
use crate::portal::{Browser, review};

fn hit(body: &Value) -> &str {
    body["kycResults"]["results"][0]["id"].as_str().unwrap()
}

on_both!(a_hit_needs_a_disposition_and_a_reason, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let ada = Browser::sign_up(&server, merchant(&demo), "reviewer").await;
    let body = listed(&server, &demo, "one").await;
    let (log_id, id) = (newest(&server).await, hit(&body));
    let number = log_id.to_string();
    let refused = decide(&ada, log_id, "approve", &[("reason", "looks fine")]).await;
    assert_eq!(refused.status, 409, "{}", refused.body);
    assert!(
        refused.body.contains("Some hits have no disposition"),
        "{}",
        refused.body
    );
    let refused = server.try_bonafide(&["review", "approve", &number, "--reason", "looks fine"]);
    assert!(
        !refused.status.success(),
        "the command line approves no hit without a word either"
    );
    assert_eq!(status_of(&server, &demo, "one").await, "pending");

    for (disposition, because, slug) in [
        ("", "why", "Choose whether the applicant"),
        ("maybe", "why", "Choose whether the applicant"),
        ("other_person", " ", "Give a reason"),
    ] {
        let form = [("hit", id), ("disposition", disposition), ("because", because)];
        let refused = decide(&ada, log_id, "disposition", &form).await;
        assert_eq!(refused.status, 400, "{disposition}");
        assert!(refused.body.contains(slug), "{}", refused.body);
    }
    let other = [
        ("hit", "nobody"),
        ("disposition", "other_person"),
        ("because", "why"),
    ];
    assert_eq!(decide(&ada, log_id, "disposition", &other).await.status, 404);
    let unclear = [
        ("hit", id),
        ("disposition", "unclear"),
        ("because", "no date of birth"),
    ];
    decide(&ada, log_id, "disposition", &unclear).await.redirect();
    assert_eq!(
        decide(&ada, log_id, "approve", &[]).await.status,
        409,
        "unclear is no ground to approve"
    );

    // A true match is never approved without a disposition, and the last disposition counts.
    let same = [
        ("hit", id),
        ("disposition", "same_person"),
        ("because", "same passport number"),
    ];
    let seen = review::version(&open(&ada, log_id).await);
    decide(&ada, log_id, "disposition", &same).await.redirect();
    let late = decide(&ada, log_id, "approve", &[("version", &seen), ("reason", "x")]).await;
    assert_eq!(late.status, 409, "another tab changed the disposition meanwhile");
    assert_eq!(decide(&ada, log_id, "approve", &[]).await.status, 400);
    let page = open(&ada, log_id).await;
    assert!(
        page.contains("same passport number") && page.contains("Robin Example"),
        "{page}"
    );
    let form = [
        ("version", review::version(&page)),
        ("reason", "a licence of the authority is on file".to_owned()),
    ];
    let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
    decide(&ada, log_id, "approve", &form).await.redirect();
    assert_eq!(status_of(&server, &demo, "one").await, "approved");

    // On the command line, dispositions are recorded with the approval in one transaction.
    let body = listed(&server, &demo, "two").await;
    let number = newest(&server).await.to_string();
    let value = format!("{}=other_person", hit(&body));
    let bare = server.try_bonafide(&["review", "approve", &number, "--disposition", &value]);
    assert_eq!(bare.status.code(), Some(2), "a disposition has a reason");
    let wrong = format!("{}=maybe", hit(&body));
    let wrong = server.try_bonafide(&[
        "review",
        "approve",
        &number,
        "--reason",
        "x",
        "--disposition",
        &wrong,
    ]);
    assert_eq!(wrong.status.code(), Some(2));
    server.bonafide(&[
        "review",
        "approve",
        &number,
        "--reason",
        "another birth date",
        "--disposition",
        &value,
    ]);
    assert_eq!(status_of(&server, &demo, "two").await, "approved");

    let disposed = "select count(*) from audit where action = 'verification.hit_disposed'";
    assert_eq!(server.count(disposed).await, 3);
    let told = "select count(*) from audit where action = 'verification.hit_disposed'
                and (detail like '%passport%' or detail like '%ofac%' or detail like '%demo%')";
    assert_eq!(
        server.count(told).await,
        0,
        "the trail holds neither hit nor reason"
    );
    assert_eq!(server.count("select count(*) from hit_dispositions").await, 3);
    server.bonafide(&[
        "erase",
        "--merchant",
        merchant(&demo),
        "--sandbox",
        "--external-user-id",
        "two",
    ]);
    assert_eq!(
        server.count("select count(*) from hit_dispositions").await,
        2,
        "erased with the person"
    );
});

on_both!(nobody_alone_sets_a_hit_aside, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let id = merchant(&demo).to_owned();
    let ada = Browser::sign_up(&server, &id, "compliance").await;
    let bob = Browser::sign_up(&server, &id, "compliance").await;
    let reviewer = Browser::sign_up(&server, &id, "reviewer").await;
    let auditor = Browser::sign_up(&server, &id, "auditor").await;
    let why = |body: &Value| [("hit", hit(body).to_owned()), ("why", "name".to_owned())];
    let aside = async |browser: &Browser, body: &Value| {
        let form = why(body);
        let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        decide(browser, newest(&server).await, "not-this-person", &form)
            .await
            .redirect()
    };
    let kyc = async |user: &str| listed(&server, &demo, user).await["kycResults"]["status"].clone();

    // One person is enough until the account requires two.
    let body = listed(&server, &demo, "before").await;
    assert!(aside(&ada, &body).await.contains("done=suppressed"));
    assert_eq!(kyc("before").await, "clear");
    server.bonafide(&["merchant", "set", &id, "fourEyes=true"]);
    assert_eq!(
        kyc("before").await,
        "match",
        "what one person set aside does not count for two"
    );

    let body = listed(&server, &demo, "after").await;
    assert!(aside(&ada, &body).await.contains("done=change_proposed"));
    assert_eq!(kyc("after").await, "match", "nothing is set aside yet");
    let page = waiting(&ada).await;
    let proposed = proposal(&page);
    assert!(
        page.contains("Set a hit aside") && page.contains("Withdraw") && !page.contains("/confirm"),
        "{page}"
    );
    assert_eq!(
        answer(&ada, &proposed, "confirm").await.status,
        403,
        "the proposer is one person"
    );
    assert_eq!(
        answer(&reviewer, &proposed, "confirm").await.status,
        403,
        "a reviewer sets nothing aside"
    );
    assert_eq!(answer(&auditor, &proposed, "confirm").await.status, 403);
    answer(&bob, &proposed, "confirm").await.redirect();
    assert_eq!(answer(&bob, &proposed, "confirm").await.status, 404, "it is done");
    assert_eq!(kyc("after").await, "clear");
    let both =
        "select count(*) from suppressions where confirmed_by is not null and confirmed_by <> staff_id";
    assert_eq!(server.count(both).await, 1);

    // Withdrawn and rejected proposals change nothing, and remain in the audit trail.
    let body = listed(&server, &demo, "third").await;
    aside(&ada, &body).await;
    answer(&ada, &proposal(&waiting(&ada).await), "reject")
        .await
        .redirect();
    aside(&ada, &body).await;
    answer(&bob, &proposal(&waiting(&bob).await), "reject")
        .await
        .redirect();
    assert_eq!(kyc("third").await, "match");
    for (action, rows) in [
        ("change.proposed", 3),
        ("change.withdrawn", 1),
        ("change.rejected", 1),
        ("change.confirmed", 1),
    ] {
        let found = match action {
            "change.proposed" => server.count("select count(*) from audit where action = 'change.proposed' and detail like '%set_aside%'").await,
            "change.withdrawn" => server.count("select count(*) from audit where action = 'change.withdrawn'").await,
            "change.rejected" => server.count("select count(*) from audit where action = 'change.rejected'").await,
            _ => server.count("select count(*) from audit where action = 'change.confirmed'").await,
        };
        assert_eq!(found, rows, "{action}");
    }
    // Erasing the person deletes pending proposals too.
    aside(&ada, &body).await;
    server.bonafide(&[
        "erase",
        "--merchant",
        &id,
        "--sandbox",
        "--external-user-id",
        "third",
    ]);
    assert_eq!(
        server
            .count("select count(*) from proposals where kind = 'set_aside'")
            .await,
        0
    );
});

on_both!(nobody_alone_decides_by_other_ways, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let id = merchant(&demo).to_owned();
    let ada = Browser::sign_up(&server, &id, "owner").await;
    let bob = Browser::sign_up(&server, &id, "compliance").await;
    server.bonafide(&["merchant", "set", &id, "fourEyes=true"]);

    // The command line proposes without being a person, so the first person who agrees becomes the proposer.
    let body = listed(&server, &demo, "line").await;
    let log_id = newest(&server).await;
    let value = format!("{}=other_person", hit(&body));
    let number = log_id.to_string();
    let said = server.bonafide(&[
        "review",
        "approve",
        &number,
        "--reason",
        "born elsewhere",
        "--disposition",
        &value,
    ]);
    assert!(said.contains("\"proposed\":true"), "{said}");
    assert_eq!(status_of(&server, &demo, "line").await, "pending");
    let again = server.try_bonafide(&["review", "approve", &number, "--reason", "born elsewhere"]);
    assert!(!again.status.success(), "the command line is never the second");
    assert!(
        decide(&ada, log_id, "confirm", &[])
            .await
            .redirect()
            .contains("done=adopted")
    );
    assert_eq!(status_of(&server, &demo, "line").await, "pending");
    assert_eq!(decide(&ada, log_id, "confirm", &[]).await.status, 403);
    // The second person confirms exactly the dispositions that the proposer saw.
    let form = [
        ("hit", hit(&body)),
        ("disposition", "unclear"),
        ("because", "born elsewhere"),
    ];
    let changed = decide(&ada, log_id, "disposition", &form).await;
    assert_eq!(changed.status, 409, "{}", changed.body);
    decide(&bob, log_id, "confirm", &[]).await.redirect();
    assert_eq!(status_of(&server, &demo, "line").await, "approved");

    // Two people decline and one reopens. The earlier approval does not return.
    listed(&server, &demo, "line").await;
    let declined = newest(&server).await;
    decide(&ada, declined, "decline", &[("reason", "forged")])
        .await
        .redirect();
    decide(&bob, declined, "confirm", &[]).await.redirect();
    assert_eq!(status_of(&server, &demo, "line").await, "declined");
    assert!(
        decide(&ada, declined, "reopen", &[])
            .await
            .redirect()
            .contains("done=proposed")
    );
    assert_eq!(status_of(&server, &demo, "line").await, "declined");
    let on_the_line = server.try_bonafide(&["review", "reopen", &declined.to_string()]);
    assert!(!on_the_line.status.success());
    assert_eq!(status_of(&server, &demo, "line").await, "declined");

    // Proposals of a member whose access was removed no longer count. Two simultaneous answers have one
    // effect.
    listed(&server, &demo, "shut").await;
    let log_id = newest(&server).await;
    conclude(&bob, log_id).await;
    decide(&bob, log_id, "approve", &[]).await.redirect();
    let bobs = "update memberships set disabled_at = 1 where role = 'compliance'";
    server.sql(bobs).await;
    let refused = decide(&ada, log_id, "confirm", &[]).await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    server
        .sql("update memberships set disabled_at = null where role = 'compliance'")
        .await;
    let (one, two) = tokio::join!(
        decide(&ada, log_id, "confirm", &[]),
        decide(&ada, log_id, "reject", &[])
    );
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 409]);
});

on_both!(a_second_login_is_no_second_person, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let id = merchant(&demo).to_owned();
    let ada = Browser::sign_up(&server, &id, "owner").await;
    let bob = Browser::sign_up(&server, &id, "reviewer").await;
    server.bonafide(&["merchant", "set", &id, "fourEyes=true"]);
    let propose = async |browser: &Browser, user: &str| {
        listed(&server, &demo, user).await;
        let log_id = newest(&server).await;
        conclude(browser, log_id).await;
        (log_id, decide(browser, log_id, "approve", &[]).await)
    };
    let (log_id, _) = propose(&ada, "one").await;

    // The owner invites a second login of their own, with the portal and with the command line.
    let page = ada
        .submit("/portal/staff/invite", &[("role", "compliance")])
        .await;
    let other_self = Browser::join_by(&server, &page, "Ada Again", "again@example.com").await;
    let line_self = Browser::sign_up(&server, &id, "compliance").await;
    for (who, me) in [
        ("the invited self", &other_self),
        ("one of the command line", &line_self),
    ] {
        let refused = decide(me, log_id, "confirm", &[]).await;
        assert_eq!(refused.status, 403, "{who}: {}", refused.body);
        let (_, refused) = propose(me, who).await;
        assert_eq!(
            refused.status, 403,
            "{who} proposes nothing either: {}",
            refused.body
        );
    }
    assert_eq!(status_of(&server, &demo, "one").await, "pending");
    // Neither the inviter nor the invited login can confirm it.
    let page = waiting(&ada).await;
    assert!(page.contains("Ada Again"), "{page}");
    let mine = proposal(&waiting(&bob).await);
    assert_eq!(answer(&ada, &mine, "confirm").await.status, 403);
    assert_eq!(answer(&other_self, &mine, "confirm").await.status, 403);
    assert_eq!(
        answer(&bob, &mine, "reject").await.status,
        400,
        "who is no person is shut out, not forgotten"
    );
    answer(&bob, &mine, "confirm").await.redirect();
    let late = decide(&other_self, log_id, "confirm", &[]).await;
    assert_eq!(
        late.status, 403,
        "who joined after a proposal does not confirm it: {}",
        late.body
    );
    let (_, proposed) = propose(&other_self, "two").await;
    assert_eq!(proposed.status, 303, "{}", proposed.body);
    // The person who typed the command may be the first to confirm, so a second confirmation is needed.
    let theirs = proposal(&waiting(&bob).await);
    answer(&bob, &theirs, "confirm").await.redirect();
    let (_, refused) = propose(&line_self, "three").await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    assert_eq!(answer(&bob, &theirs, "confirm").await.status, 403);
    answer(&ada, &theirs, "confirm").await.redirect();
    let (_, proposed) = propose(&line_self, "four").await;
    assert_eq!(proposed.status, 303, "{}", proposed.body);

    decide(&bob, log_id, "confirm", &[]).await.redirect();
    assert_eq!(status_of(&server, &demo, "one").await, "approved");
    // Another person set a colleague's password by link, so the colleague's confirmation no longer counts.
    let (log_id, _) = propose(&ada, "five").await;
    let bobs = server.bonafide(&["portal", "password-link", "--email", &email_of(&bob).await]);
    assert!(bobs.contains("/portal/join/"));
    let refused = decide(&bob, log_id, "confirm", &[]).await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    assert_eq!(status_of(&server, &demo, "five").await, "pending");
});

/// The address with which a member signs in.
async fn email_of(browser: &Browser) -> String {
    let page = browser.get("/portal/account").await.page();
    let at = page.find("@example.com").unwrap();
    let from = page[..at].rfind(|c: char| !c.is_ascii_alphanumeric()).unwrap() + 1;
    format!("{}@example.com", &page[from..at])
}

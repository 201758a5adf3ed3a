//! Members of staff, their sessions and one-time links, and the merchants' profiles.

use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use store::audit::{AuditCheck, Entry};
use store::invitations::{self, Invitation, InvitationToken, Purpose};
use store::sign_ups::{self, SignUp};
use store::staff::{self, NewStaff, StaffMember};
use store::staff_passkeys::{self, Credential};
use store::{Db, Error, Keyring, merchant_profiles, operator_audit};
use uuid::Uuid;

use crate::bench::{Bench, START, options};

const WEEK: i64 = 7 * 24 * 60 * 60 * 1_000;

pub(crate) async fn member(bench: &Bench, email: &str) -> StaffMember {
    let new = NewStaff {
        email,
        name: "Ada Lovelace",
        password_hash: "$argon2id$…",
        operator: false,
    };
    store::transaction!(bench.db, |tx| -> Result<StaffMember, Error> {
        staff::create(tx, &new).await
    })
    .unwrap()
}

async fn invite(bench: &Bench, purpose: Purpose<'_>) -> (Invitation, SecretString) {
    store::transaction!(bench.db, |tx| -> Result<(Invitation, SecretString), Error> {
        invitations::create(tx, &purpose, None, WEEK).await
    })
    .unwrap()
}

async fn take(db: &Db, token: &SecretString) -> InvitationToken {
    store::transaction!(db, |tx| -> Result<InvitationToken, Error> {
        invitations::redeem(tx, token.expose_secret()).await
    })
    .unwrap()
}

pub(crate) async fn members_are_found_by_address_and_sealed(bench: Bench) {
    let ada = member(&bench, " Ada@Example.COM ").await;
    assert_eq!((ada.email.as_str(), ada.created_at), ("Ada@Example.COM", START));
    let mut conn = bench.read().await;
    for email in ["ada@example.com", "ADA@EXAMPLE.COM "] {
        assert_eq!(
            staff::by_email(&mut conn, email).await.unwrap().as_ref(),
            Some(&ada)
        );
    }
    assert_eq!(staff::by_email(&mut conn, "ada@example.org").await.unwrap(), None);
    assert_eq!(staff::get(&mut conn, ada.id).await.unwrap(), Some(ada.clone()));
    drop(conn);
    let again = NewStaff {
        email: "ADA@example.com",
        name: "Another",
        password_hash: "",
        operator: true,
    };
    let taken = store::transaction!(bench.db, |tx| -> Result<StaffMember, Error> {
        staff::create(tx, &again).await
    });
    assert!(matches!(taken, Err(Error::Conflict)), "{taken:?}");
    // Sealed bytes open only in their own row.
    let eve = member(&bench, "eve@example.com").await;
    bench
        .sql(&format!(
            "update staff set name_sealed = (select name_sealed from staff where id = {0}) where id = {1}",
            literal(&bench, ada.id),
            literal(&bench, eve.id)
        ))
        .await;
    let moved = staff::get(&mut bench.read().await, eve.id).await;
    assert!(matches!(moved, Err(Error::Sealed)), "{moved:?}");
}

fn literal(bench: &Bench, id: Uuid) -> String {
    if bench.db.is_postgres() {
        format!("'{id}'")
    } else {
        format!("x'{}'", id.simple())
    }
}

pub(crate) async fn rotated_master_keys_rewrap_staff(bench: Bench) {
    let ada = member(&bench, "ada@example.com").await;
    let path = bench.folder.path().join("keyring.json");
    let keyring = Keyring::rotate(&path).unwrap();
    let db = Db::connect(&bench.url, Arc::new(keyring), &options())
        .await
        .unwrap();
    let count = store::transaction!(db, |tx| -> Result<u64, Error> { staff::rewrap_keys(tx).await });
    assert_eq!(count.unwrap(), 1);
    assert!(staff::get(&mut db.read().await.unwrap(), ada.id).await.is_ok());
    let old = staff::get(&mut bench.read().await, ada.id).await;
    assert!(
        matches!(old, Err(Error::Sealed)),
        "the new master key is needed now"
    );
}

pub(crate) async fn a_factor_that_is_set_up_during_a_rotation_stays(bench: Bench) {
    let ada = member(&bench, "ada@example.com").await.id;
    let keyring = Keyring::rotate(&bench.folder.path().join("keyring.json")).unwrap();
    let db = Db::connect(&bench.url, Arc::new(keyring), &options())
        .await
        .unwrap();
    let is_set = Arc::new(tokio::sync::Notify::new());
    let (server, set) = (bench.db.clone(), Arc::clone(&is_set));
    let sets_up = tokio::spawn(async move {
        store::transaction!(server, |tx| -> Result<(), Error> {
            staff::set_totp(tx, ada, b"secret", 1).await?;
            set.notify_one();
            tokio::time::sleep(Duration::from_millis(200)).await;
            Ok(())
        })
    });
    is_set.notified().await;
    let count = store::transaction!(db, |tx| -> Result<u64, Error> { staff::rewrap_keys(tx).await });
    assert_eq!(count.unwrap(), 1);
    sets_up.await.unwrap().unwrap();
    let secret = staff::totp(&mut db.read().await.unwrap(), ada).await.unwrap();
    assert_eq!(secret.unwrap().as_slice(), b"secret");
}

pub(crate) async fn codes_count_once(bench: Bench) {
    let ada = member(&bench, "ada@example.com").await;
    let id = ada.id;
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        staff::set_totp(tx, id, b"twenty secret bytes!", 100).await?;
        staff::set_recovery(tx, id, &["one".into(), "two".into()]).await
    })
    .unwrap();
    let secret = staff::totp(&mut bench.read().await, id).await.unwrap().unwrap();
    assert_eq!(secret.as_slice(), b"twenty secret bytes!");
    for (step, fresh) in [
        (99, false),
        (100, false),
        (101, true),
        (101, false),
        (103, true),
        (102, false),
    ] {
        let used = store::transaction!(bench.db, |tx| -> Result<bool, Error> {
            staff::use_totp_step(tx, id, step).await
        });
        assert_eq!(used.unwrap(), fresh, "{step}");
    }
    // Of ten simultaneous uses of one recovery code, one succeeds.
    let tasks: Vec<_> = (0..10)
        .map(|_| {
            let db = bench.db.clone();
            tokio::spawn(async move {
                store::transaction!(db, |tx| -> Result<bool, Error> {
                    staff::use_recovery(tx, id, "two").await
                })
                .unwrap()
            })
        })
        .collect();
    let mut successes = 0;
    for task in tasks {
        successes += u32::from(task.await.unwrap());
    }
    assert_eq!(successes, 1);
    let left = staff::count_recovery_codes(&mut bench.read().await, id)
        .await
        .unwrap();
    assert_eq!(left, 1);
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        staff::clear_totp(tx, id).await?;
        staff::set_recovery(tx, id, &[]).await
    })
    .unwrap();
    let mut conn = bench.read().await;
    assert_eq!(staff::totp(&mut conn, id).await.unwrap(), None);
    assert_eq!(staff::count_recovery_codes(&mut conn, id).await.unwrap(), 0);
}

pub(crate) async fn passkeys_are_sealed_and_answers_count_once(bench: Bench) {
    let (ada, bob) = (
        member(&bench, "ada@example.com").await.id,
        member(&bench, "bob@example.com").await.id,
    );
    let credential = Credential {
        name: "Ada's phone".into(),
        credential_id: vec![1, 2, 3],
        transports: 1,
        public_key: vec![4; 70],
    };
    let add = async |staff_id: Uuid| {
        store::transaction!(bench.db, |tx| -> Result<Uuid, Error> {
            staff_passkeys::add(tx, staff_id, "id.example.com", &credential, &[0; 7]).await
        })
    };
    let id = add(ada).await.unwrap();
    for staff_id in [ada, bob] {
        assert!(
            matches!(add(staff_id).await, Err(Error::Conflict)),
            "one credential, one passkey"
        );
    }
    assert_eq!(bench.count("select count(*) from staff_passkeys").await, 1);
    let mut conn = bench.read().await;
    assert!(
        staff::get(&mut conn, ada)
            .await
            .unwrap()
            .unwrap()
            .has_second_factor()
    );
    assert!(
        !staff::get(&mut conn, bob)
            .await
            .unwrap()
            .unwrap()
            .has_second_factor()
    );
    let passkey = staff_passkeys::by_credential(&mut conn, &[1, 2, 3])
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (passkey.id, passkey.staff_id, &passkey.credential),
        (id, ada, &credential)
    );
    assert_eq!(
        staff_passkeys::by_credential(&mut conn, &[1, 2]).await.unwrap(),
        None
    );

    // A ceremony's state is refused when it was changed, or made for another purpose.
    for (site, is_any) in [("id.example.com", true), ("example.com", false)] {
        let found = staff_passkeys::is_any_of_site(&mut conn, ada, site).await;
        assert_eq!(found.unwrap(), is_any, "{site}");
    }
    let text = staff_passkeys::ceremony_text(&conn, "use", b"state");
    let state = |purpose, text: &str| staff_passkeys::ceremony_state(&conn, purpose, text);
    assert_eq!(state("use", &text).as_deref(), Some(&b"state"[..]));
    assert_eq!(state("add", &text), None);
    for changed in [
        "",
        "AAAA",
        &text[4..],
        &format!("{text}AAAA"),
        &text.to_uppercase(),
    ] {
        assert_eq!(state("use", changed), None, "{changed}");
    }
    drop(conn);

    // Simultaneous uses: of the same answer, and of the same counter.
    let used = async |answer: &'static [u8], after: u8| {
        store::transaction!(bench.db, |tx| -> Result<bool, Error> {
            Ok(staff_passkeys::use_up(tx, answer, 600_000).await?
                && staff_passkeys::record_use(tx, &passkey, &[after; 7]).await?)
        })
        .unwrap()
    };
    assert!(used(b"one", 1).await);
    assert!(!used(b"one", 2).await, "the same answer");
    assert!(!used(b"two", 2).await, "from the state before");
    let mut conn = bench.read().await;
    let after = staff_passkeys::of_member(&mut conn, ada).await.unwrap().remove(0);
    assert_eq!((after.state, after.used_at.is_some()), (vec![1; 7], true));
    drop(conn);

    for (later, swept) in [(599_999, 0), (1, 2)] {
        bench.pass(Duration::from_millis(later));
        let count = store::transaction!(bench.db, |tx| -> Result<u64, Error> {
            staff_passkeys::sweep(tx).await
        });
        assert_eq!(count.unwrap(), swept, "{later}");
    }
    let remove = async |staff_id: Uuid| {
        store::transaction!(bench.db, |tx| -> Result<bool, Error> {
            staff_passkeys::remove(tx, staff_id, id).await
        })
        .unwrap()
    };
    assert!(!remove(bob).await && remove(ada).await && !remove(ada).await);
}

pub(crate) async fn two_owners_cannot_demote_each_other(bench: Bench) {
    let merchant = bench.merchant().await;
    let (ada, bob) = (
        member(&bench, "ada@example.com").await.id,
        member(&bench, "bob@example.com").await.id,
    );
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        staff::join(tx, merchant.id, ada, "owner").await?;
        staff::join(tx, merchant.id, bob, "owner").await
    })
    .unwrap();
    let demote = [ada, bob].map(|id| {
        let db = bench.db.clone();
        tokio::spawn(async move {
            store::transaction!(db, |tx| -> Result<bool, Error> {
                if staff::count_and_lock_role(tx, merchant.id, "owner").await? < 2 {
                    return Ok(false);
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
                staff::set_role(tx, merchant.id, id, "reviewer").await
            })
            .unwrap()
        })
    });
    let mut demoted = 0;
    for task in demote {
        demoted += u32::from(task.await.unwrap());
    }
    assert_eq!(demoted, 1);
    let sql = "select count(*) from memberships where role = 'owner'";
    assert_eq!(bench.count(sql).await, 1);
}

pub(crate) async fn who_is_shut_out_stays_out(bench: Bench) {
    let (here, other) = (bench.merchant().await.id, bench.merchant().await.id);
    let ada = member(&bench, "ada@example.com").await.id;
    let bob = member(&bench, "bob@example.com").await.id;
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        staff::join(tx, here, ada, "admin").await?;
        assert!(!staff::belongs_elsewhere(tx, here, ada).await?);
        staff::join(tx, other, ada, "admin").await?;
        staff::set_membership_disabled(tx, other, ada, true).await?;
        assert!(staff::belongs_elsewhere(tx, here, ada).await?, "shut out there");
        Ok(())
    })
    .unwrap();
    let again = store::transaction!(bench.db, |tx| -> Result<(), Error> {
        staff::join(tx, other, ada, "owner").await
    });
    assert!(matches!(again, Err(Error::Conflict)), "{again:?}");
    let membership = staff::get_membership(&mut bench.read().await, other, ada)
        .await
        .unwrap();
    let membership = membership.unwrap();
    assert_eq!(
        (membership.role.as_str(), membership.disabled_at),
        ("admin", Some(START))
    );

    // The member's links for this account are voided. Those of others and for another account stay.
    let purpose = |merchant_id| Purpose::Member {
        merchant_id,
        role: "reviewer",
        email: None,
    };
    let mut links = Vec::new();
    for (purpose, by, stays) in [
        (purpose(here), Some(ada), false),
        (Purpose::Password { staff_id: bob }, Some(ada), false),
        (purpose(other), Some(ada), true),
        (purpose(here), Some(bob), true),
        (purpose(here), None, true),
    ] {
        let made = store::transaction!(bench.db, |tx| -> Result<(Invitation, SecretString), Error> {
            invitations::create(tx, &purpose, by, WEEK).await
        });
        links.push((made.unwrap().1, stays));
    }
    let voided = store::transaction!(bench.db, |tx| -> Result<u64, Error> {
        invitations::void_made_by(tx, here, ada).await
    });
    assert_eq!(voided.unwrap(), 2);
    for (n, (token, stays)) in links.iter().enumerate() {
        let is_good = matches!(take(&bench.db, token).await, InvitationToken::Valid(_));
        assert_eq!(is_good, *stays, "{n}");
    }
}

pub(crate) async fn an_invitation_is_used_once(bench: Bench) {
    let merchant = bench.merchant().await;
    let purpose = Purpose::Member {
        merchant_id: merchant.id,
        role: "reviewer",
        email: Some("ada@example.com"),
    };
    let (made, token) = invite(&bench, purpose).await;
    let peeked = invitations::peek(&mut bench.read().await, token.expose_secret()).await;
    assert_eq!(peeked.unwrap(), InvitationToken::Valid(made.clone()));
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let (db, token) = (bench.db.clone(), token.clone());
            tokio::spawn(async move { take(&db, &token).await })
        })
        .collect();
    let mut winners = 0;
    for task in tasks {
        match task.await.unwrap() {
            InvitationToken::Valid(taken) => {
                assert_eq!(taken, made);
                winners += 1;
            }
            other => assert_eq!(other, InvitationToken::Used),
        }
    }
    assert_eq!(winners, 1);
    assert_eq!(
        take(&bench.db, &SecretString::from("guess")).await,
        InvitationToken::Invalid
    );

    let (late, token) = invite(&bench, purpose).await;
    let open = invitations::of_merchant(&mut bench.read().await, merchant.id)
        .await
        .unwrap();
    assert_eq!(open, [late]);
    bench.pass(Duration::from_millis(WEEK as u64));
    assert_eq!(take(&bench.db, &token).await, InvitationToken::Expired);

    let (revoked, token) = invite(&bench, purpose).await;
    let revoke = async |merchant_id, id| {
        store::transaction!(bench.db, |tx| -> Result<bool, Error> {
            invitations::revoke(tx, merchant_id, id).await
        })
        .unwrap()
    };
    let stranger = bench.merchant().await.id;
    assert!(!revoke(stranger, revoked.id).await, "another account's");
    assert!(revoke(merchant.id, revoked.id).await);
    assert_eq!(take(&bench.db, &token).await, InvitationToken::Invalid);
}

pub(crate) async fn a_new_password_link_voids_the_earlier(bench: Bench) {
    let ada = member(&bench, "ada@example.com").await;
    let (_, first) = invite(&bench, Purpose::Password { staff_id: ada.id }).await;
    let (_, second) = invite(&bench, Purpose::Password { staff_id: ada.id }).await;
    let (_, operator) = invite(&bench, Purpose::Operator).await;
    let (staff_id, email) = (ada.id, "new@example.com");
    let (_, former) = invite(&bench, Purpose::Email { staff_id, email }).await;
    let (_, address) = invite(&bench, Purpose::Email { staff_id, email }).await;
    let (_, third) = invite(&bench, Purpose::Password { staff_id }).await;
    assert_eq!(take(&bench.db, &second).await, InvitationToken::Invalid);
    let second = third;
    assert_eq!(take(&bench.db, &former).await, InvitationToken::Invalid);
    let peeked = invitations::peek(&mut bench.read().await, address.expose_secret()).await;
    assert!(
        matches!(peeked, Ok(InvitationToken::Valid(_))),
        "whoever asks for a new password voids no change of address"
    );
    assert_eq!(take(&bench.db, &first).await, InvitationToken::Invalid);
    let InvitationToken::Valid(taken) = take(&bench.db, &second).await else {
        panic!("the latest link works")
    };
    assert_eq!(taken.staff_id, Some(ada.id));
    let voided = store::transaction!(bench.db, |tx| -> Result<u64, Error> {
        invitations::void_own(tx, staff_id).await
    });
    assert_eq!(voided.unwrap(), 1, "of every kind, once something changed");
    assert_eq!(take(&bench.db, &address).await, InvitationToken::Invalid);
    let voided = store::transaction!(bench.db, |tx| -> Result<u64, Error> {
        invitations::void_operators(tx).await
    });
    assert_eq!(voided.unwrap(), 1);
    assert_eq!(take(&bench.db, &operator).await, InvitationToken::Invalid);
}

pub(crate) async fn a_profile_is_written_handed_in_and_decided(bench: Bench) {
    let merchant = bench.merchant().await.id;
    let read = async || {
        merchant_profiles::get(&mut bench.read().await, merchant)
            .await
            .unwrap()
    };
    assert_eq!(read().await, None);
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        assert!(!merchant_profiles::mark_submitted(tx, merchant).await?);
        merchant_profiles::save(tx, merchant, "{\"website\":\"a\"}").await?;
        merchant_profiles::save(tx, merchant, "{\"website\":\"b\"}").await?;
        assert!(merchant_profiles::mark_submitted(tx, merchant).await?);
        merchant_profiles::record_decision(tx, merchant, Some("no website")).await
    })
    .unwrap();
    let profile = read().await.unwrap();
    assert_eq!(profile.profile, "{\"website\":\"b\"}");
    assert_eq!(
        (
            profile.submitted_at,
            profile.decided_at,
            profile.reason.as_deref()
        ),
        (Some(START), Some(START), Some("no website"))
    );
    store::transaction!(bench.db, |tx| -> Result<bool, Error> {
        merchant_profiles::mark_submitted(tx, merchant).await
    })
    .unwrap();
    let profile = read().await.unwrap();
    assert_eq!(
        (profile.decided_at, profile.reason),
        (None, None),
        "handed in anew"
    );
    let other = bench.merchant().await.id;
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        merchant_profiles::record_decision(tx, other, None).await
    })
    .unwrap();
    let profile = merchant_profiles::get(&mut bench.read().await, other)
        .await
        .unwrap();
    assert_eq!(profile.unwrap().profile, "{}");
}

pub(crate) async fn the_operators_trail_is_a_chain_of_its_own(bench: Bench) {
    let entry = |action| Entry {
        actor: "staff:1",
        action,
        subject: "2",
        detail: "{}",
    };
    let mut conn = bench.read().await;
    let check = operator_audit::verify(&mut conn).await.unwrap();
    assert_eq!(check, AuditCheck::Intact { rows: 0 });
    for action in ["operator.invited", "lists.reloaded", "operator.dismissed"] {
        store::transaction!(bench.db, |tx| -> Result<(), Error> {
            operator_audit::write(tx, &entry(action)).await
        })
        .unwrap();
    }
    let mut conn = bench.read().await;
    let check = operator_audit::verify(&mut conn).await.unwrap();
    assert_eq!(check, AuditCheck::Intact { rows: 3 });
    let rows = operator_audit::list(&mut conn, None, 2).await.unwrap();
    let actions: Vec<&str> = rows.iter().map(|row| row.action.as_str()).collect();
    assert_eq!(actions, ["operator.dismissed", "lists.reloaded"]);
    let older = operator_audit::list(&mut conn, Some(rows[1].seq), 2)
        .await
        .unwrap();
    assert_eq!(older.len(), 1);
    // The chain and its head were emptied although there is an operator.
    let new = NewStaff {
        email: "olga@example.com",
        name: "Olga",
        password_hash: "$argon2id$…",
        operator: true,
    };
    store::transaction!(bench.db, |tx| -> Result<StaffMember, Error> {
        staff::create(tx, &new).await
    })
    .unwrap();
    bench.sql("delete from operator_audit").await;
    let broken = AuditCheck::Broken { seq: 1 };
    let check = operator_audit::verify(&mut bench.read().await).await.unwrap();
    assert_eq!(check, broken);
    bench
        .sql("update operator_audit_heads set seq = 0, hash = substr(hash, 1, 0)")
        .await;
    let check = operator_audit::verify(&mut bench.read().await).await.unwrap();
    assert_eq!(check, broken);
    bench.sql("delete from operator_audit_heads").await;
    let check = operator_audit::verify(&mut bench.read().await).await.unwrap();
    assert_eq!(check, broken);
}

pub(crate) async fn a_sign_up_waits_for_its_link(bench: Bench) {
    let ask = async |company: &str, most| {
        store::transaction!(bench.db, |tx| -> Result<SignUp, Error> {
            sign_ups::create(tx, "Ada@example.com", company, WEEK, most).await
        })
    };
    let asked = ask("Acme", 2).await.unwrap();
    let other = ask("Other", 2).await.unwrap();
    assert!(matches!(ask("Third", 2).await, Err(Error::LimitReached)));
    let waiting = sign_ups::list_unanswered(&mut bench.read().await, 10)
        .await
        .unwrap();
    assert_eq!(waiting, [asked.clone(), other.clone()]);
    let make = async |id| {
        store::transaction!(bench.db, |tx| -> Result<Option<SecretString>, Error> {
            sign_ups::make_link(tx, id, WEEK).await
        })
        .unwrap()
    };
    let token = make(asked.id).await.unwrap();
    assert!(make(asked.id).await.is_none(), "one link each");
    let find = async |token: &str| sign_ups::by_token(&mut bench.read().await, token).await.unwrap();
    assert_eq!(find(token.expose_secret()).await.unwrap().company, "Acme");
    assert!(find("nobody's").await.is_none());
    assert_eq!(
        sign_ups::list_unanswered(&mut bench.read().await, 10)
            .await
            .unwrap(),
        [other]
    );
    let delete = async |id| {
        store::transaction!(bench.db, |tx| -> Result<bool, Error> {
            sign_ups::delete(tx, id).await
        })
        .unwrap()
    };
    assert!(delete(asked.id).await && !delete(asked.id).await);
    assert!(find(token.expose_secret()).await.is_none());
}

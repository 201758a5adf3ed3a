//! The number of enrolled faces decides how near a face must be to be recognised
//! (`docs/decisions/0051-search-by-account-size.md`).

use std::sync::Arc;

use faces::{EMBEDDING_LEN, Embedding};
use serde_json::{Value, json};
use store::{Db, Error, Keyring, Options, Scope, people};
use uuid::Uuid;

use super::{codes, specimen, verify};
use crate::harness::{Server, on_both};
use crate::portal::Browser;

/// An embedding's units in a distance of 1.
const ONE: i16 = 16_384;

async fn db(server: &Server) -> Db {
    let keyring = Keyring::open(&server.dir.path().join("master.key")).unwrap();
    Db::connect(&server.database, Arc::new(keyring), &Options::default())
        .await
        .unwrap()
}

/// Moves the account's only face by this distance, as another photograph of the person would be.
async fn move_only_face(db: &Db, scope: Scope, distance: f32) -> Embedding {
    store::transaction!(db, |tx| -> Result<Embedding, Error> {
        let sequence = store::faces::lock(tx, scope).await?;
        let change = store::faces::list_after(tx, scope, sequence - 1, 1)
            .await?
            .remove(0);
        let face = Embedding::from_bytes(&change.embedding.unwrap()).unwrap();
        // All numbers together move by the distance: each of 256 by a sixteenth of it.
        let step = (f32::from(ONE) * distance / 16.0).round() as i16;
        let moved = Embedding::new(face.version(), face.values().map(|value| value + step)).unwrap();
        people::unbind_faces(tx, scope, change.facemap_id).await?;
        people::set_proven(tx, scope, change.facemap_id).await?;
        store::faces::insert(tx, scope, change.facemap_id, moved.version(), &moved.to_bytes()).await?;
        Ok(moved)
    })
    .unwrap()
}

/// Enrols strangers far from every face and from each other.
async fn enrol_strangers(db: &Db, scope: Scope, version: &str, count: u64) {
    store::transaction!(db, |tx| -> Result<(), Error> {
        store::faces::lock(tx, scope).await?;
        for stranger in 0..count {
            // A fixed sequence of signs for each stranger (SplitMix64).
            let mut state = stranger.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let values = [0_i16; EMBEDDING_LEN].map(|_| {
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                if (mixed >> 40) & 1 == 0 {
                    ONE / 16
                } else {
                    -ONE / 16
                }
            });
            let face = Embedding::new(version, values).unwrap();
            let person = people::create(tx, scope, true).await?.facemap_id;
            store::faces::insert(tx, scope, person, version, &face.to_bytes()).await?;
        }
        Ok(())
    })
    .unwrap();
}

on_both!(
    a_large_account_holds_a_face_that_a_small_one_recognises,
    |backend| {
        let (server, demo) = Server::demo(backend, &[]).await;
        let owner = Browser::sign_up(&server, demo["merchantId"].as_str().unwrap(), "owner").await;
        let scope = Scope {
            merchant_id: Uuid::parse_str(demo["merchantId"].as_str().unwrap()).unwrap(),
            sandbox: true,
        };
        let send = async |user: &str| -> Value {
            let form = specimen("pass-passport").form(&demo, &json!({"externalUserId": user}));
            verify(&server, &demo, form).await.1
        };
        assert_eq!(send("first").await["success"], true);
        let db = db(&server).await;
        let moved = move_only_face(&db, scope, 1.0).await;
        assert_eq!(codes(&send("second").await), [2307], "one face: the hit decides");

        enrol_strangers(&db, scope, moved.version(), 1_200).await;
        assert_eq!(
            codes(&send("first").await),
            [2307],
            "the label's own person is compared alone"
        );
        let people = server.count("select count(*) from people where proven").await;
        let held = send("third").await;
        assert_eq!(held["success"], false, "{held}");
        assert!(codes(&held).is_empty(), "held for review: {held}");
        assert_eq!(
            server.count("select count(*) from people where proven").await,
            people + 1,
            "nobody is joined"
        );
        let log_id = server.count("select max(log_id) from attempts").await;
        let page = owner.get(&format!("/portal/applicants/{log_id}")).await.page();
        assert!(page.contains("The account has 1201 enrolled faces."), "{page}");
        assert!(page.contains("id=\"similar\""), "the nearest person is shown");
    }
);

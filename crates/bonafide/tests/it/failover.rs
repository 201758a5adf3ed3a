//! The database falls back behind a running server: an asynchronous replica is promoted, or a backup is
//! restored to a point in time. The process's memory must not decide anything that the database no longer
//! contains.

use serde_json::{Value, json};

use crate::harness::{Server, on_both};
use crate::verify::{codes, specimen, verify};

on_both!(one_face_registers_once_after_the_database_fell_back, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    server.engines().await;
    let send = async |name: &str, user: &str| -> Value {
        let form = specimen(name).form(&demo, &json!({"externalUserId": user}));
        let (status, body) = verify(&server, &demo, form).await;
        assert_eq!(status, 200, "{name} as {user}: {body}");
        body
    };
    let duplicate = |body: &Value| (codes(body), body["success"].clone()) == (vec![2307], json!(false));

    server.remember_database().await;
    assert_eq!(send("pass-passport", "first").await["success"], true);
    // The server has now read the first change, so it knows the face.
    assert!(duplicate(&send("pass-passport", "first again").await));
    server.fall_back().await;

    // Another face gets the sequence number of the lost change.
    assert_eq!(send("pass-drivers", "second").await["success"], true);
    let again = send("pass-drivers", "second again").await;
    assert!(duplicate(&again), "one face has two registrations: {again}");
    // The face that the server remembers no longer belongs to any person.
    let forgotten = send("pass-passport", "first").await;
    assert_eq!(forgotten["success"], true, "{forgotten}");
    assert!(duplicate(&send("pass-passport", "third").await));
    assert_eq!(server.count("select count(*) from registrations").await, 2);

    // The database falls back without any new change, so the server's copy is ahead of it.
    server.fall_back().await;
    let forgotten = send("pass-passport", "first").await;
    assert_eq!(forgotten["success"], true, "{forgotten}");
    assert_eq!(server.count("select count(*) from registrations").await, 1);
});

//! The lists of the API: applicants, attempts, screenings, links and lists, as merchants read and search them.

use reqwest::Method;
use reqwest::multipart::Form;
use serde_json::{Value, json};

use crate::harness::{Key, Server, answer, on_both};

const ATTEMPTS: &str = "/v2/reports/attempts";
const APPLICANTS: &str = "/v2/reports/applicants";
const SCREENINGS: &str = "/v2/reports/screenings";
const LINKS: &str = "/v2/sdk/session/links";
const WALLETS: &str = "/v2/public/transaction-monitoring";

/// Submits a person's data without documents.
async fn submit(server: &Server, demo: &Value, (first, last): (&str, &str), user: &str) {
    let form = Form::new()
        .text("firstName", first.to_owned())
        .text("lastName", last.to_owned())
        .text("externalUserId", user.to_owned())
        .text("groupingId", demo["groupId"].as_str().unwrap().to_owned())
        .text("flowId", demo["flows"]["data-only"].as_str().unwrap().to_owned());
    let request = server
        .request(Method::POST, "/v2/idv/verify", &Key::of_demo(demo))
        .multipart(form);
    let (status, body) = answer(request.send().await.unwrap()).await;
    assert_eq!(status, 200, "{body}");
}

async fn list(server: &Server, key: &Key, path: &str, query: &str) -> Value {
    let (status, body) = server.get(&format!("{path}?{query}"), key).await;
    assert_eq!(status, 200, "{query}: {body}");
    body
}

/// A member of each entry of a list.
fn each(body: &Value, entries: &str, member: &str) -> Vec<Value> {
    let entries = body[entries].as_array().unwrap();
    entries.iter().map(|entry| entry[member].clone()).collect()
}

/// A member of each entry, over all pages of two.
async fn paged(
    server: &Server,
    key: &Key,
    (path, entries): (&str, &str),
    query: &str,
    member: &str,
) -> Vec<Value> {
    let mut found = Vec::new();
    let mut page = list(server, key, path, &format!("{query}&limit=2")).await;
    loop {
        assert!(page[entries].as_array().unwrap().len() <= 2);
        found.extend(each(&page, entries, member));
        let Some(next) = page["next"].as_str() else {
            return found;
        };
        page = list(server, key, path, &format!("{query}&limit=2&before={next}")).await;
    }
}

on_both!(applicants_and_attempts_are_listed_and_searched, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let key = &Key::of_demo(&demo);
    let grouped = json!({"flowIds": [demo["flows"]["data-only"]]});
    let path = format!("/v2/public/groups/{}", demo["groupId"].as_str().unwrap());
    assert_eq!(server.put(&path, key, grouped).await.0, 200);
    for (name, user) in [
        (("Ada", "Byron"), "u1"),
        (("Grace", "Hopper"), "u2"),
        (("Ada", "Quill"), "u3"),
        (("Ada", "SANDBOX-2702"), "u4"),
        (("Byron", "Ada"), "u5"),
    ] {
        submit(&server, &demo, name, user).await;
    }
    let logs = |numbers: &[i64]| numbers.iter().map(|number| json!(number)).collect::<Vec<_>>();
    let attempts = async |query: &str| paged(&server, key, (ATTEMPTS, "attempts"), query, "logId").await;
    assert_eq!(attempts("").await, logs(&[5, 4, 3, 2, 1]));
    let flow = demo["flows"]["data-only"].as_str().unwrap();
    let other = demo["flows"]["any-document"].as_str().unwrap();
    let group = demo["groupId"].as_str().unwrap();
    let whole = list(&server, key, ATTEMPTS, "externalUserId=u2").await;
    let second = &whole["attempts"][0];
    let person = second["facemapId"].as_str().unwrap();
    let today = &second["createdAt"].as_str().unwrap()[..10];
    for (query, numbers) in [
        (format!("flowId={flow}"), vec![5, 4, 3, 2, 1]),
        (format!("flowId={other}"), vec![]),
        (format!("groupId={group}"), vec![5, 4, 3, 2, 1]),
        (format!("groupId={flow}"), vec![]),
        ("externalUserId=u2".to_owned(), vec![2]),
        (format!("externalUserId=u2&flowId={other}"), vec![]),
        (
            format!("externalUserId=u2&facemapId={person}&flowId={flow}"),
            vec![2],
        ),
        (format!("externalUserId=u1&facemapId={person}"), vec![]),
        (format!("facemapId={person}"), vec![2]),
        (format!("sessionId={person}"), vec![]),
        ("code=2702".to_owned(), vec![4]),
        ("code=2101".to_owned(), vec![]),
        ("status=declined".to_owned(), vec![]),
        ("until=2001-01-01".to_owned(), vec![]),
        (
            format!("from={today}&until=2999-01-01T00:00:00%2B01:00"),
            vec![5, 4, 3, 2, 1],
        ),
        ("from=2999-01-01".to_owned(), vec![]),
    ] {
        assert_eq!(attempts(&query).await, logs(&numbers), "{query}");
    }
    for (member, value) in [
        ("success", json!(true)),
        ("status", json!("approved")),
        ("codes", json!([])),
        ("externalUserId", json!("u2")),
        ("flowId", json!(flow)),
        ("groupingId", json!(group)),
        ("documentTypes", json!([])),
        ("sessionId", Value::Null),
        ("decidedAt", Value::Null),
    ] {
        assert_eq!(second[member], value, "{member}: {second}");
    }

    let (status, one) = server.get(&format!("{ATTEMPTS}/2"), key).await;
    assert_eq!((status, &one["attempt"]), (200, second));
    assert_eq!(one["submission"]["lastName"], "Hopper", "{one}");
    assert_eq!(one["response"]["facemap_id"], json!(person), "{one}");
    assert_eq!(one["decisions"], json!([]));
    let hit = list(&server, key, SCREENINGS, "code=2702").await;
    assert_eq!(each(&hit, "screenings", "logId"), logs(&[4]));
    assert_eq!(hit["screenings"][0]["screening"]["status"], "match", "{hit}");
    assert_eq!(
        paged(&server, key, (SCREENINGS, "screenings"), "", "logId").await,
        logs(&[5, 4, 3, 2, 1])
    );

    let labels = |users: &[&str]| users.iter().map(|user| json!(user)).collect::<Vec<_>>();
    let applicants = async |query: &str| {
        let mut found = paged(&server, key, (APPLICANTS, "applicants"), query, "externalUserId").await;
        found.reverse();
        found
    };
    for (query, users) in [
        ("", vec!["u1", "u2", "u3", "u4", "u5"]),
        ("name=ada", vec!["u1", "u3", "u4", "u5"]),
        ("name=%C3%81DA+byron", vec!["u1", "u5"]),
        ("name=ada+ada", vec!["u1", "u3", "u4", "u5"]),
        ("name=ad", vec![]),
        ("status=approved&name=hopper", vec!["u2"]),
        ("from=2999-01-01", vec![]),
        ("until=2999-01-01", vec!["u1", "u2", "u3", "u4", "u5"]),
    ] {
        assert_eq!(applicants(query).await, labels(&users), "{query}");
    }
    assert_eq!(applicants(&format!("groupId={group}")).await.len(), 5);
    assert_eq!(applicants(&format!("groupId={flow}")).await.len(), 0);

    // Nobody else sees them, and a mistyped filter never answers everything.
    let stranger = &server.merchant(true);
    for key in [&stranger.sandbox, &stranger.live] {
        for (path, entries) in [
            (ATTEMPTS, "attempts"),
            (APPLICANTS, "applicants"),
            (SCREENINGS, "screenings"),
        ] {
            assert_eq!(list(&server, key, path, "").await[entries], json!([]), "{path}");
        }
        assert_eq!(server.get(&format!("{ATTEMPTS}/2"), key).await.0, 404);
    }
    for id in ["0", "6", "-1", "x", "99999999999999999999"] {
        assert_eq!(server.get(&format!("{ATTEMPTS}/{id}"), key).await.0, 404, "{id}");
    }
    let (status, refused) = server
        .get(
            &format!("{ATTEMPTS}?status=x&code=7&flowId=1&groupId=1&facemapId=1&sessionId=1&from=x&until=1&limit=0&before=5&page=2"),
            key,
        )
        .await;
    let faults = [
        "status",
        "code",
        "flowId",
        "groupId",
        "facemapId",
        "sessionId",
        "from",
        "until",
        "limit",
        "before",
        "page",
    ];
    assert_eq!(status, 400);
    for field in faults {
        assert!(
            refused.to_string().contains(&format!("\"{field} - ")),
            "{field}: {refused}"
        );
    }
    for query in [
        "externalUserId=u1&sessionId=1",
        "name=",
        "name=.",
        "limit=1&limit=2",
    ] {
        let path = if query.starts_with("name") {
            APPLICANTS
        } else {
            ATTEMPTS
        };
        assert_eq!(
            server.get(&format!("{path}?{query}"), key).await.0,
            400,
            "{query}"
        );
    }
});

on_both!(links_are_listed_and_revoked, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let key = &Key::of_demo(&demo);
    // The demo's start made one too.
    let known = list(&server, key, LINKS, "").await["links"]
        .as_array()
        .unwrap()
        .len();
    let flow = demo["flows"]["any-document"].as_str().unwrap();
    let create = async |user: &str| {
        let body = json!({"userId": user, "groupId": demo["groupId"], "flowId": flow});
        let response = server
            .request(Method::POST, "/v2/sdk/session/web-sdk-link", key)
            .json(&body);
        let response = response.send().await.unwrap();
        let id = response.headers()["x-link-id"].to_str().unwrap().to_owned();
        let (_, body) = answer(response).await;
        let token = body["url"]
            .as_str()
            .unwrap()
            .split_once("token=")
            .unwrap()
            .1
            .to_owned();
        (id, token)
    };
    let exchange = async |token: &str| {
        let url = format!("{}/v2/sdk/session/exchange", server.base);
        let request = server.http.post(url).json(&json!({"token": token}));
        answer(request.send().await.unwrap()).await
    };
    let (opened, token) = create("opened").await;
    assert_eq!(exchange(&token).await.0, 200);
    let (late, _) = create("late").await;
    server
        .sql("update link_tokens set created_at = created_at - 900000, expires_at = expires_at - 900000 where used_at is null")
        .await;
    let (stolen, token) = create("stolen").await;
    let (kept, _) = create("kept").await;
    let revoke =
        async |id: &str, key: &Key| server.post(&format!("{LINKS}/{id}/revoke"), key, json!({})).await;
    let stranger = &server.merchant(true).sandbox;
    for id in ["x", "00000000-0000-0000-0000-000000000000"] {
        assert_eq!(revoke(id, key).await.0, 404, "{id}");
    }
    assert_eq!(revoke(&stolen, stranger).await.0, 404);
    let (status, revoked) = revoke(&stolen, key).await;
    assert_eq!((status, &revoked["state"]), (200, &json!("revoked")), "{revoked}");
    assert_eq!(revoke(&stolen, key).await, (200, revoked), "again");
    assert_eq!(exchange(&token).await.0, 410);
    for (id, word) in [(&opened, "link_used"), (&late, "link_expired")] {
        let (status, body) = revoke(id, key).await;
        assert_eq!((status, &body["error"]), (409, &json!(word)), "{body}");
    }
    let found = async |query: &str| {
        let page = list(&server, key, LINKS, query).await;
        each(&page, "links", "linkId")
    };
    for (query, ids) in [
        ("state=open", vec![&kept]),
        ("state=used", vec![&opened]),
        ("state=revoked", vec![&stolen]),
        ("userId=late&state=expired", vec![&late]),
        ("userId=kept", vec![&kept]),
        ("userId=nobody", vec![]),
    ] {
        assert_eq!(
            found(query).await,
            ids.into_iter().map(|id| json!(id)).collect::<Vec<_>>(),
            "{query}"
        );
    }
    let all = paged(
        &server,
        key,
        (LINKS, "links"),
        &format!("flowId={flow}"),
        "linkId",
    )
    .await;
    assert_eq!(all.len(), known + 4);
    assert_eq!(
        all[..2]
            .iter()
            .filter(|id| [json!(stolen), json!(kept)].contains(id))
            .count(),
        2
    );
    assert_eq!(list(&server, stranger, LINKS, "").await["links"], json!([]));
    let (status, refused) = server
        .get(&format!("{LINKS}?state=x&flowId=1&limit=0&before=1&page=2"), key)
        .await;
    assert_eq!(status, 400);
    for field in ["state", "flowId", "limit", "before", "page"] {
        assert!(
            refused.to_string().contains(&format!("\"{field} - ")),
            "{field}: {refused}"
        );
    }
    // The audit trail names each revocation once.
    let rows = "select count(*) from audit where action = 'link.revoked'";
    assert_eq!(server.count(rows).await, 1);
});

on_both!(screenings_of_wallets_and_lists_are_read, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let key = &Key::of_demo(&demo);
    let screen = async |query: &str, currency: &str, label: &str| {
        let body = json!({"type": "address", "query": query, "currency": currency, "label": label});
        server.post(WALLETS, key, body).await
    };
    let known = "0x626f6e61666964652073616e64626f7820303435";
    let (status, scored) = screen(known, "eth", "Order 1").await;
    assert_eq!(status, 200, "{scored}");
    // A failure names the id under which it is stored, and why nothing was found.
    let mut ids = vec![scored["queryId"].clone()];
    for (query, expected, reason) in [
        (
            "0x626f6e61666964652073616e64626f7820343034",
            404,
            json!("unknown"),
        ),
        ("0x626f6e61666964652073616e64626f7820353032", 502, Value::Null),
        ("0x626f6e61666964652073616e64626f7820353033", 503, Value::Null),
        ("0x626f6e61666964652073616e64626f7820353034", 504, Value::Null),
        (
            "0x00000000000000000000000000000000000000aa",
            404,
            json!("no_source"),
        ),
    ] {
        let (status, body) = screen(query, "eth", "Order 2").await;
        assert_eq!((status, &body["reason"]), (expected, &reason), "{query}: {body}");
        assert!(body["queryId"].is_string(), "{body}");
        ids.insert(0, body["queryId"].clone());
    }
    let found = async |query: &str| {
        paged(
            &server,
            key,
            (&format!("{WALLETS}/screenings"), "screenings"),
            query,
            "queryId",
        )
        .await
    };
    assert_eq!(found("").await, ids);
    assert_eq!(found(&format!("query={known}")).await, ids[5..]);
    assert_eq!(found("label=Order+1").await, ids[5..]);
    assert_eq!(found("currency=btc").await, Vec::<Value>::new());
    let read = async |id: &Value, key: &Key| {
        server
            .get(&format!("{WALLETS}/{}", id.as_str().unwrap()), key)
            .await
    };
    let (status, one) = read(&ids[5], key).await;
    assert_eq!((status, &one["response"]), (200, &scored));
    assert_eq!(one["screening"]["score"], json!(45.0), "{one}");
    let (_, failed) = read(&ids[4], key).await;
    assert_eq!(
        (&failed["screening"]["status"], &failed["response"]),
        (&json!(404), &Value::Null),
        "{failed}"
    );
    let stranger = &server.merchant(true).sandbox;
    assert_eq!(read(&ids[5], stranger).await.0, 404);
    assert_eq!(read(&json!("x"), key).await.0, 404);
    let path = format!("{WALLETS}/screenings?currency=x&limit=0&before=1&page=2");
    let (status, refused) = server.get(&path, key).await;
    assert_eq!(status, 400);
    for field in ["currency", "limit", "before", "page"] {
        assert!(
            refused.to_string().contains(&format!("\"{field} - ")),
            "{field}: {refused}"
        );
    }

    let lists = list(&server, key, "/v2/reports/lists", "").await;
    let [invented] = lists["lists"].as_array().unwrap().as_slice() else {
        panic!("{lists}");
    };
    for (member, value) in [("counts", json!(true)), ("problem", Value::Null)] {
        assert_eq!(invented[member], value, "{member}: {invented}");
    }
    assert!(invented["entities"].as_u64().unwrap() > 0 && invented["digest"].as_str().unwrap().len() == 64);
    // Live keys never see the sandbox's list.
    let live = &server.merchant(true).live;
    assert_eq!(
        list(&server, live, "/v2/reports/lists", "").await["lists"],
        json!([])
    );
    assert_eq!(
        list(&server, key, "/v2/reports/screening-alerts", "state=open").await,
        json!({"alerts": [], "next": null})
    );
    assert_eq!(
        server.get("/v2/reports/screening-alerts?state=x", key).await.0,
        400
    );
});

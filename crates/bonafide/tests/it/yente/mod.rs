//! yente's API, with the requests of yente's own tests on an invented list of the same shape.

mod access;
mod matching;
mod searching;

use serde_json::{Value, json};

use crate::harness::{Backend, Key, Merchant, Server, wait_until};

/// A list with many sources, as OpenSanctions publishes it.
fn collection() -> Vec<Value> {
    let mut entities = vec![
        json!({
            "id": "Q7747", "schema": "Person", "caption": "Valdemar Putrov", "datasets": ["eu_fsf", "gb_hmt_sanctions"],
            "properties": {
                "name": ["Valdemar Putrov", "Вальдемар Путров"], "alias": ["V. V. Putrov"], "birthDate": ["1952-10-07"],
                "nationality": ["ru"], "topics": ["sanction", "role.pep"], "programId": ["EU-UKR"], "gender": ["male"],
                "birthPlace": ["Leningrad"], "passportNumber": ["40 78 505424"],
            },
        }),
        json!({
            "id": "pep-1", "schema": "Person", "caption": "Angela Merkelin", "datasets": ["de_bundestag"],
            "properties": {"name": ["Angela Merkelin"], "country": ["de"], "topics": ["role.pep"]},
        }),
        json!({
            "id": "co-1", "schema": "Company", "caption": "Quorzle Shipping LLC", "datasets": ["eu_fsf"],
            "properties": {
                "name": ["Quorzle Shipping LLC"], "jurisdiction": ["ru"], "innCode": ["7707083893"],
                "topics": ["sanction"],
            },
        }),
        json!({
            "id": "ship-1", "schema": "Vessel", "caption": "Zephyr Quorzle", "datasets": ["eu_fsf"],
            "properties": {"name": ["Zephyr Quorzle"], "imoNumber": ["9074729"], "flag": ["pa"], "topics": ["mare.shadow"]},
        }),
        json!({
            "id": "plane-1", "schema": "Airplane", "caption": "EP-QUZ", "datasets": ["us_ofac_sdn"],
            "properties": {"name": ["EP-QUZ"], "serialNumber": ["55123"], "topics": ["sanction"]},
        }),
        json!({
            "id": "wallet-1", "schema": "CryptoWallet", "caption": "0x09", "datasets": ["us_ofac_sdn"],
            "properties": {"publicKey": ["0x098B716B8Aaf21512996dC57EB0615e2383E2f96"], "topics": ["sanction"]},
        }),
    ];
    entities.extend((0..12).map(|i| {
        json!({
            "id": format!("rot-{i:02}"), "schema": "Person", "caption": format!("Boris Rotenbaum {i}"),
            "datasets": ["gb_hmt_sanctions"],
            "properties": {"name": [format!("Boris Romanovich Rotenbaum {}", (b'A' + i) as char)], "nationality": ["ru"]},
        })
    }));
    entities
}

fn import(server: &Server, file: &str, entities: &[Value]) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(file);
    let lines: String = entities.iter().map(|entity| format!("{entity}\n")).collect();
    std::fs::write(&path, lines).unwrap();
    server.bonafide(&["lists", "import", path.to_str().unwrap()]);
}

/// A server with the list `collection`, and an account.
async fn start(backend: Backend) -> (Server, Merchant) {
    let server = Server::start(backend, &[]).await;
    import(&server, "collection.entities.ftm.json", &collection());
    let merchant = server.merchant(true);
    wait_until(
        async || server.get("/v2/yente/catalog", &merchant.live).await.0 == 200,
        "the list is loaded",
    )
    .await;
    (server, merchant)
}

fn person() -> Value {
    json!({"schema": "Person", "properties": {"name": ["Valdemar Putrov"], "birthDate": ["1952"], "country": "Russia"}})
}

async fn matched(server: &Server, key: &Key, parameters: &str, query: Value) -> Value {
    let path = format!("/v2/yente/match/default?{parameters}");
    let (status, body) = server.post(&path, key, json!({"queries": {"q": query}})).await;
    assert_eq!(status, 200, "{parameters}: {body}");
    body["responses"]["q"].clone()
}

fn ids(results: &Value) -> Vec<&str> {
    results
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["id"].as_str().unwrap())
        .collect()
}

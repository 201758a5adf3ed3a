//! `/metrics` of a real server (`node::metric_table`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use service::metric_table::{Kind, METRICS};

use crate::harness::{Server, on_both};
use crate::verify::{person, specimen, verify};

const TOKEN: &str = "for-figures";

/// The samples, and the HELP texts and kinds of a scrape.
async fn scrape(
    server: &Server,
) -> (
    BTreeMap<String, f64>,
    BTreeMap<String, String>,
    BTreeMap<String, String>,
) {
    let request = server
        .http
        .get(format!("{}/metrics", server.base))
        .bearer_auth(TOKEN);
    let text = request.send().await.unwrap().text().await.unwrap();
    let (mut samples, mut help, mut kinds) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some((name, meaning)) = line.strip_prefix("# HELP ").and_then(|line| line.split_once(' ')) {
            help.insert(name.to_owned(), meaning.to_owned());
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|line| line.split_once(' '))
        {
            kinds.insert(name.to_owned(), kind.to_owned());
        } else {
            let (name, value) = line.rsplit_once(' ').unwrap();
            samples.insert(name.to_owned(), value.parse().unwrap());
        }
    }
    (samples, help, kinds)
}

on_both!(a_scrape_states_what_happened, |backend| {
    let (server, demo) = Server::demo(backend, &["--metrics-token", TOKEN]).await;
    let passing = specimen("pass-passport").form(&demo, &json!({}));
    assert_eq!(verify(&server, &demo, passing).await.1["success"], json!(true));
    let listed = json!({"firstName": "Zoltar", "lastName": "Quenthabar"});
    assert_eq!(verify(&server, &demo, person(&demo, listed)).await.0, 200);
    let (samples, help, kinds) = scrape(&server).await;

    for (sample, expected) in [
        (
            "bonafide_attempts_total{status=\"approved\",mode=\"sandbox\"}",
            1.0,
        ),
        (
            "bonafide_attempts_total{status=\"pending\",mode=\"sandbox\"}",
            1.0,
        ),
        ("bonafide_verifications_total", 2.0),
        ("bonafide_verify_stage_seconds_count{stage=\"screening\"}", 2.0),
        ("bonafide_verify_stage_seconds_count{stage=\"recording\"}", 2.0),
        (
            "bonafide_verify_stage_seconds_bucket{stage=\"recording\",le=\"+Inf\"}",
            2.0,
        ),
        (
            "bonafide_http_request_seconds_bucket{method=\"POST\",route=\"/v2/idv/verify\",le=\"+Inf\"}",
            2.0,
        ),
        (
            concat!("bonafide_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"}"),
            1.0,
        ),
        // Nothing of this happened yet, but its first time will be seen as an increase.
        ("bonafide_over_capacity_total", 0.0),
        ("bonafide_webhook_deliveries_total{result=\"given_up\"}", 0.0),
        ("bonafide_engine_worker_crashes_total", 0.0),
        ("bonafide_ready{part=\"sanctions\"}", 1.0),
        ("bonafide_webhook_events_waiting", 0.0),
        ("bonafide_letters_waiting", 0.0),
    ] {
        assert_eq!(samples.get(sample), Some(&expected), "{sample}: {samples:#?}");
    }
    for begun in [
        "bonafide_engine_workers",
        "bonafide_engine_worker_starts_total",
        "bonafide_database_connections{state=\"most\"}",
        "bonafide_capacity_workers{pool=\"verifications\"}",
        "process_resident_memory_bytes",
        "process_open_fds",
    ] {
        assert!(
            samples.get(begun).is_some_and(|value| *value > 0.0),
            "{begun}: {samples:#?}"
        );
    }
    let codes: Vec<_> = samples
        .keys()
        .filter(|name| name.starts_with("bonafide_attempt_codes_total"))
        .collect();
    assert!(!codes.is_empty(), "{samples:#?}");

    let known: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
    for (name, kind) in &kinds {
        assert!(help.contains_key(name), "{name} has no HELP");
        assert_ne!(kind, "summary", "{name} cannot be added across nodes");
        assert!(
            name.starts_with("process_") || known.contains(name.as_str()),
            "{name}"
        );
    }
    for metric in METRICS {
        let expected = match metric.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Seconds(_) => "histogram",
        };
        if let Some(kind) = kinds.get(metric.name) {
            assert_eq!(kind, expected, "{}", metric.name);
            assert_eq!(help[metric.name], metric.help);
        }
    }
});

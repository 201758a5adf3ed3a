//! The funnel of the hosted page, and why sessions drop off.

use std::collections::BTreeMap;
use std::time::Duration;

use store::session_events::{
    self, DropOff, Event, EventSource, FunnelFilter, FunnelStep, Split, StoredEvent,
};
use store::{Error, admissions};
use uuid::Uuid;

use crate::bench::{Bench, START};
use crate::hosted::{DESKTOP, PHONE, append, event, session};

/// A step whose median, if any, covers every session that completed it.
fn step(step: &str, [reached, completed, dropped, retried]: [i64; 4], median_ms: Option<i64>) -> FunnelStep {
    FunnelStep {
        step: step.into(),
        part: None,
        reached,
        completed,
        dropped,
        retried,
        median_ms,
        timed: median_ms.map_or(0, |_| completed),
    }
}

pub(crate) async fn events_make_a_funnel(bench: Bench) {
    let scope = bench.scope().await;
    let (first, second) = (session(&bench, scope).await, session(&bench, scope).await);
    // One batch with the time of each event.
    let told = [
        event("open", "reached", 0),
        event("open", "completed", 1_000),
        event("front", "reached", 1_000),
        event("front", "retried", 2_000),
        event("front", "completed", 5_000),
    ];
    assert_eq!(append(&bench, scope, &first, PHONE, &told).await, 5);
    let told = [
        event("open", "reached", 0),
        event("open", "completed", 3_000),
        event("front", "reached", 3_000),
    ];
    append(&bench, scope, &second, PHONE, &told).await;
    let funnel = async |filter| {
        session_events::funnel(&mut bench.read().await, scope, filter)
            .await
            .unwrap()
    };
    let whole = FunnelFilter::default();
    let under_way = [
        step("front", [2, 1, 0, 1], Some(4_000)),
        step("open", [2, 2, 0, 0], Some(2_000)),
    ];
    assert_eq!(funnel(whole).await, under_way, "nobody has given up yet");

    // The first session has an attempt but no further event. The second one expires without an attempt.
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        admissions::admit(tx, scope, first.id).await?;
        admissions::use_attempt(tx, scope, first.id).await.map(|_| ())
    })
    .unwrap();
    bench.pass(Duration::from_secs(600));
    let over = [
        step("front", [2, 1, 1, 1], Some(4_000)),
        step("open", [2, 2, 0, 0], Some(2_000)),
    ];
    for filter in [
        whole,
        FunnelFilter {
            flow_id: Some(first.link.flow_id),
            since: START,
            until: Some(START + 1),
            device: Some("phone"),
            country: Some("DE"),
            language: Some("fr"),
            ..whole
        },
    ] {
        assert_eq!(funnel(filter).await, over);
    }
    for filter in [
        FunnelFilter {
            flow_id: Some(Uuid::from_u128(9)),
            ..whole
        },
        FunnelFilter {
            since: START + 1,
            ..whole
        },
        FunnelFilter {
            until: Some(START),
            ..whole
        },
        FunnelFilter {
            device: Some("desktop"),
            ..whole
        },
        FunnelFilter {
            country: Some("FR"),
            ..whole
        },
        FunnelFilter {
            language: Some("de"),
            ..whole
        },
    ] {
        assert_eq!(funnel(filter).await, [], "{filter:?}");
    }

    let many = vec![event("open", "reached", 0); 20];
    assert_eq!(
        append(&bench, scope, &first, PHONE, &many).await,
        5,
        "a session has so many at most"
    );
    assert_eq!(append(&bench, scope, &first, PHONE, &many).await, 0);
}

pub(crate) async fn a_funnel_outlives_reloads_and_devices(bench: Bench) {
    let scope = bench.scope().await;
    let made = session(&bench, scope).await;
    let pass = |seconds| bench.pass(Duration::from_secs(seconds));
    let tell = async |source, events: &[Event<'_>]| append(&bench, scope, &made, source, events).await;
    tell(
        DESKTOP,
        &[
            event("open", "reached", 50_000),
            event("open", "completed", 60_000),
        ],
    )
    .await;
    tell(DESKTOP, &[event("device", "reached", 60_100)]).await;
    pass(30);
    // The phone's page has a new clock.
    tell(
        PHONE,
        &[
            event("device", "completed", 900),
            event("front", "reached", 1_000),
        ],
    )
    .await;
    pass(20);
    tell(
        PHONE,
        &[
            event("front", "completed", 21_000),
            event("selfie", "reached", 21_000),
        ],
    )
    .await;
    pass(10);
    // A reloaded page also has a new clock. The picture is taken again.
    tell(
        PHONE,
        &[event("front", "retried", 300), event("front", "reached", 400)],
    )
    .await;
    pass(5);
    // A page that is open when the session expires reports that.
    tell(PHONE, &[event("outcome", "dropped", 5_400)]).await;
    let funnel = async |filter| {
        session_events::funnel(&mut bench.read().await, scope, filter)
            .await
            .unwrap()
    };
    let whole = FunnelFilter::default();
    pass(600);
    let expected = [
        step("device", [1, 1, 0, 0], Some(29_900)),
        // The session ended in this step after completing it.
        step("front", [1, 1, 1, 1], Some(20_000)),
        step("open", [1, 1, 0, 0], Some(10_000)),
        step("selfie", [1, 0, 0, 0], None),
    ];
    assert_eq!(funnel(whole).await, expected);

    let of = |part: &str, step: FunnelStep| FunnelStep {
        part: Some(part.into()),
        ..step
    };
    let by_device = funnel(FunnelFilter {
        split: Split::Device,
        ..whole
    });
    let expected = [
        of("desktop", step("device", [1, 0, 0, 0], None)),
        of("phone", step("device", [1, 1, 0, 0], None)),
        of("phone", step("front", [1, 1, 1, 1], Some(20_000))),
        of("desktop", step("open", [1, 1, 0, 0], Some(10_000))),
        of("phone", step("selfie", [1, 0, 0, 0], None)),
    ];
    assert_eq!(by_device.await, expected);
    let desktop = FunnelFilter {
        device: Some("desktop"),
        ..whole
    };
    let dropped: i64 = funnel(desktop).await.iter().map(|step| step.dropped).sum();
    assert_eq!(dropped, 0, "it went on elsewhere");
    for (split, part) in [(Split::Country, "DE"), (Split::Language, "fr")] {
        let parts: Vec<_> = funnel(FunnelFilter { split, ..whole })
            .await
            .into_iter()
            .map(|step| (step.step, step.part))
            .collect();
        assert!(parts.contains(&("front".into(), Some(part.into()))), "{parts:?}");
        assert!(parts.contains(&("open".into(), None)), "{parts:?}");
    }
}

pub(crate) async fn a_retry_is_not_a_drop_off(bench: Bench) {
    let scope = bench.scope().await;
    let made = session(&bench, scope).await;
    let tell = async |events: &[Event<'_>]| append(&bench, scope, &made, PHONE, events).await;
    tell(&[
        event("front", "reached", 1_000),
        event("front", "completed", 2_000),
    ])
    .await;
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        admissions::admit(tx, scope, made.id).await?;
        admissions::use_attempt(tx, scope, made.id).await.map(|_| ())
    })
    .unwrap();
    bench.pass(Duration::from_secs(4));
    tell(&[
        event("outcome", "failed", 5_000),
        event("outcome", "retried", 6_000),
        event("front", "reached", 6_000),
    ])
    .await;
    bench.pass(Duration::from_secs(600));
    let funnel = session_events::funnel(&mut bench.read().await, scope, FunnelFilter::default())
        .await
        .unwrap();
    let expected = [
        step("front", [1, 1, 0, 0], Some(1_000)),
        step("outcome", [1, 0, 0, 1], None),
    ];
    assert_eq!(funnel, expected);
}

pub(crate) async fn a_median_is_the_middle_duration(bench: Bench) {
    let scope = bench.scope().await;
    let funnel = async || {
        session_events::funnel(&mut bench.read().await, scope, FunnelFilter::default())
            .await
            .unwrap()
    };
    // Durations in the order in which their sessions come, and the median after each.
    for (number, (took, median)) in [(9_000, 9_000), (1_000, 5_000), (2_001, 2_001), (100_000, 5_500)]
        .into_iter()
        .enumerate()
    {
        let made = session(&bench, scope).await;
        let events = [event("front", "reached", 0), event("front", "completed", took)];
        append(&bench, scope, &made, PHONE, &events).await;
        // Sessions without a duration do not count: not completed, or completed before the step was reached.
        let made = session(&bench, scope).await;
        append(&bench, scope, &made, PHONE, &[event("front", "reached", 0)]).await;
        let made = session(&bench, scope).await;
        let events = [event("front", "completed", 0), event("front", "reached", 1)];
        append(&bench, scope, &made, PHONE, &events).await;
        let sessions = i64::try_from(number).unwrap() + 1;
        let expected = FunnelStep {
            timed: sessions,
            ..step("front", [3 * sessions, 2 * sessions, 0, 0], Some(median))
        };
        assert_eq!(funnel().await, [expected]);
    }
}

pub(crate) async fn a_drop_off_has_its_last_open_problem_as_reason(bench: Bench) {
    let scope = bench.scope().await;
    let told = |step, kind, detail| Event {
        detail,
        ..event(step, kind, 0)
    };
    let reached = |step| told(step, "reached", None);
    let glare = told("camera", "retried", Some("glare"));
    let completed = told("front", "completed", None);
    let left = told("outcome", "dropped", None);
    let cases: [(EventSource<'static>, Vec<Event<'_>>, &str, &str); 11] = [
        (PHONE, vec![reached("open")], "open", "no_problem"),
        (
            PHONE,
            vec![reached("camera"), glare.clone(), left],
            "camera",
            "glare",
        ),
        // A later step that was only reached does not settle the problem; a completed one does.
        (PHONE, vec![glare.clone(), reached("front")], "front", "glare"),
        (
            PHONE,
            vec![glare.clone(), completed.clone()],
            "front",
            "no_problem",
        ),
        (
            PHONE,
            vec![glare.clone(), completed, reached("back")],
            "back",
            "no_problem",
        ),
        (
            PHONE,
            vec![glare.clone(), told("camera", "denied", Some("permission_denied"))],
            "camera",
            "permission_denied",
        ),
        (
            PHONE,
            vec![told("review", "retried", Some("2509"))],
            "review",
            "2509",
        ),
        (
            PHONE,
            vec![glare.clone(), told("review", "retried", None)],
            "review",
            "unknown",
        ),
        (
            PHONE,
            vec![told("consent", "denied", None)],
            "consent",
            "consent_refused",
        ),
        (PHONE, vec![told("consent", "failed", None)], "consent", "unknown"),
        (DESKTOP, vec![told("device", "denied", None)], "device", "unknown"),
    ];
    for (source, events, ..) in &cases {
        let made = session(&bench, scope).await;
        append(&bench, scope, &made, *source, events).await;
    }
    // The problem was on the computer, the end on the phone.
    let both = session(&bench, scope).await;
    append(
        &bench,
        scope,
        &both,
        DESKTOP,
        &[told("camera", "failed", Some("no_camera"))],
    )
    .await;
    append(&bench, scope, &both, PHONE, &[reached("device")]).await;
    // A session with an attempt does not count, and neither does one without events.
    let tried = session(&bench, scope).await;
    append(&bench, scope, &tried, PHONE, &[glare]).await;
    store::transaction!(bench.db, |tx| -> Result<(), Error> {
        admissions::admit(tx, scope, tried.id).await?;
        admissions::use_attempt(tx, scope, tried.id).await.map(|_| ())
    })
    .unwrap();
    session(&bench, scope).await;

    let drop_offs = async |filter| {
        session_events::drop_offs(&mut bench.read().await, scope, filter)
            .await
            .unwrap()
    };
    let whole = FunnelFilter::default();
    assert_eq!(drop_offs(whole).await, [], "the sessions are still open");
    bench.pass(Duration::from_secs(600));

    let mut expected = BTreeMap::from([(("device", "no_camera"), 1)]);
    for (_, _, step, reason) in &cases {
        *expected.entry((*step, *reason)).or_insert(0) += 1;
    }
    let mut expected: Vec<_> = expected
        .into_iter()
        .map(|((step, reason), sessions)| DropOff {
            step: step.into(),
            reason: reason.into(),
            sessions,
        })
        .collect();
    // Both databases sort these words alike.
    expected.sort_by(|a, b| (b.sessions, &a.step, &a.reason).cmp(&(a.sessions, &b.step, &b.reason)));
    assert_eq!(drop_offs(whole).await, expected);

    // The reasons add up to the sessions that the funnel counts as dropped, under every filter.
    let filters = [
        (whole, 12),
        (
            FunnelFilter {
                device: Some("phone"),
                ..whole
            },
            11,
        ),
        (
            FunnelFilter {
                device: Some("desktop"),
                ..whole
            },
            1,
        ),
        (
            FunnelFilter {
                language: Some("fr"),
                ..whole
            },
            11,
        ),
        (
            FunnelFilter {
                country: Some("DE"),
                ..whole
            },
            11,
        ),
        (
            FunnelFilter {
                country: Some("FR"),
                ..whole
            },
            0,
        ),
        (
            FunnelFilter {
                flow_id: Some(both.link.flow_id),
                ..whole
            },
            12,
        ),
        (
            FunnelFilter {
                flow_id: Some(Uuid::from_u128(9)),
                ..whole
            },
            0,
        ),
        (
            FunnelFilter {
                since: START + 1,
                ..whole
            },
            0,
        ),
        (
            FunnelFilter {
                until: Some(START),
                ..whole
            },
            0,
        ),
    ];
    for (filter, sessions) in filters {
        let mut by_step = BTreeMap::new();
        for drop_off in drop_offs(filter).await {
            *by_step.entry(drop_off.step).or_insert(0) += drop_off.sessions;
        }
        let mut funnel = session_events::funnel(&mut bench.read().await, scope, filter)
            .await
            .unwrap();
        funnel.retain(|step| step.dropped > 0);
        let dropped: BTreeMap<_, _> = funnel.into_iter().map(|step| (step.step, step.dropped)).collect();
        assert_eq!(by_step, dropped, "{filter:?}");
        assert_eq!(dropped.values().sum::<i64>(), sessions, "{filter:?}");
    }
}

pub(crate) async fn stored_events_have_what_is_known_of_the_visitor(bench: Bench) {
    let scope = bench.scope().await;
    let made = session(&bench, scope).await;
    let source = EventSource {
        language: Some("de"),
        ..PHONE
    };
    append(&bench, scope, &made, source, &[event("open", "reached", 7)]).await;
    let stored = session_events::of_session(&mut bench.read().await, scope, made.id)
        .await
        .unwrap();
    let expected = StoredEvent {
        step: "open".into(),
        kind: "reached".into(),
        ms: 7,
        detail: None,
        device: "phone".into(),
        country: Some("DE".into()),
        language: Some("de".into()),
    };
    assert_eq!(stored, [expected]);
}

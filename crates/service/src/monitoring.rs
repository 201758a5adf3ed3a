//! Transaction monitoring: the use case of a screening request. `chain::query` defines valid queries,
//! `chain::screen` the score, and `store::monitoring` has the SQL.

mod profiles;
mod replay;
mod replay_error;
mod stored_screenings;

use std::sync::Arc;

use chain::currency::Currency;
use chain::picture::Picture;
use chain::profile::Profile;
use chain::query::{Query, QueryError, QueryTarget, Report};
use chain::sandbox::{self, Failure};
use chain::screen::{Request, Subject};
use chain::source::SourceError;
use serde_json::{Map, Value, json};
use store::Scope;
use store::idempotency::ResponseSubject;
use store::monitoring::{self, NewScreening};
use tracing::Instrument;
use uuid::Uuid;
use verification::risk_assessment::TraceCoverage;

pub use self::profiles::{ReadProfileError, SetProfileError, profile, set_profile};
pub use self::replay::{Change, Decision, Replay, replay_screening};
pub use self::replay_error::ReplayError;
pub use self::stored_screenings::{AddressLabel, Evidence, assess, page};
pub use self::stored_screenings::{Page, ScreeningFilter, find, list, picture};
use super::labels::{self, AccountLabels, LabelsUnavailable};
use super::{App, Shared, wallet_comparison};
use crate::caller::Caller;
use crate::idempotency::{Answer, Claim};
use crate::problem::{Kind, Problem};
use chain_sources::sources::{ChainAnswer, NothingFound};

/// Reads a request's body.
pub fn read(body: &Map<String, Value>) -> Result<Query, Problem> {
    Query::parse(body, &Currency::ALL).map_err(|error| match error {
        QueryError::Invalid(errors) => Problem::validation(errors),
        unsupported @ QueryError::UnsupportedCurrency { .. } => Problem::invalid(unsupported.to_string()),
    })
}

/// Screens an address or a transaction, and stores the query with its response or its failure under an id.
/// Once begun, it finishes and is stored even if the client hangs up.
///
/// # Errors
/// Why there is no score.
pub async fn screen(
    app: &Shared,
    caller: &Caller,
    id: Uuid,
    query: Query,
    claim: Claim,
) -> Result<Answer, NoScore> {
    let (shared, caller) = (Arc::clone(app), caller.clone());
    let work = async move {
        let answer = screen_and_record(&shared, &caller, id, query, &claim).await?;
        Ok(claim.settle(Ok(answer))?)
    };
    app.recordings
        .spawn(work.in_current_span())
        .await
        .map_err(|_| Problem::internal("a screening panicked; the log says where"))?
}

async fn screen_and_record(
    app: &App,
    caller: &Caller,
    id: Uuid,
    query: Query,
    claim: &Claim,
) -> Result<Answer, NoScore> {
    // A failed screening without labels compared its address with no list, and a simulated one is about none.
    let (wallets, outcome) = match simulated_failure(caller.scope, &query) {
        Some(failure) => (None, Err(SourceError::from(failure).into())),
        None => match load_labels(app, caller).await {
            Ok(labels) => (
                Some(labels.listed_wallets_version()),
                screen_query(app, caller, query.clone(), labels).await,
            ),
            Err(none) => (None, Err(none)),
        },
    };
    match outcome {
        Ok(found) => {
            let answered = &found.answered;
            let mut body = answer_body(id, &query, answered);
            if let (Report::Detailed, Some(name)) = (query.report, &found.own_name) {
                body["organizationLabelName"] = name.as_str().into();
            }
            let answer = Answer::json(http::StatusCode::OK, &body)?;
            let text = body.to_string();
            let evidence = found.evidence.as_ref().map(serde_json::to_string).transpose();
            let evidence = evidence.map_err(Problem::internal)?;
            let coverage = found
                .evidence
                .as_ref()
                .and_then(|evidence| TraceCoverage::of(&evidence.exposures));
            let failure = answered.own().and_then(|screen| screen.failed.as_ref());
            let new = NewScreening {
                score: Some(answered.score()),
                response: &text,
                evidence: evidence.as_deref(),
                failure: failure.map(word),
                coverage: coverage.map(|(coverage, bound)| (coverage.as_str(), bound)),
                ..new_screening(id, &query, 200)
            };
            store::transaction!(app.db, |tx| -> Result<(), Problem> {
                monitoring::insert(tx, caller.scope, &new).await?;
                let describes = ResponseSubject::Label(&query.label);
                claim.complete(tx, &answer, describes).await?;
                wallet_comparison::notice_screening(tx, caller.scope, wallets.as_deref()).await
            })?;
            Ok(answer)
        }
        Err(none) => {
            let new = NewScreening {
                failure: Some(none.why),
                ..new_screening(id, &query, none.status)
            };
            // A run compares no screening that failed otherwise.
            let wallets = wallets.filter(|_| none.status == 404);
            store::transaction!(app.db, |tx| -> Result<(), Problem> {
                monitoring::insert(tx, caller.scope, &new).await?;
                wallet_comparison::notice_screening(tx, caller.scope, wallets.as_deref()).await
            })?;
            Err(NoScore {
                problem: none.problem.with_query_id(id),
                ..none
            })
        }
    }
}

/// Why there is no score: a word for the store and text keys, and the client's response.
pub struct NoScore {
    status: u16,
    /// The reason's word, such as `unreachable`.
    pub why: &'static str,
    /// The client's response.
    pub problem: Problem,
}

impl From<Problem> for NoScore {
    fn from(problem: Problem) -> Self {
        NoScore {
            status: 500,
            why: "failed",
            problem,
        }
    }
}

impl From<NoScore> for Problem {
    fn from(none: NoScore) -> Self {
        none.problem
    }
}

impl From<LabelsUnavailable> for NoScore {
    fn from(error: LabelsUnavailable) -> Self {
        NoScore {
            status: 503,
            why: error.word(),
            problem: error.into(),
        }
    }
}

impl From<SourceError> for NoScore {
    fn from(error: SourceError) -> Self {
        let status = status(&error);
        let problem = match status {
            404 => not_found(NothingFound::Unknown),
            504 => Problem::new(
                Kind::GatewayTimeout,
                "The risk provider timed out; please try again shortly",
            ),
            502 => Problem::new(
                Kind::BadGateway,
                "The risk provider answered with an error; please try again shortly",
            ),
            _ => Problem::unavailable("The risk provider is unreachable; please try again shortly"),
        };
        NoScore {
            status,
            why: word(&error),
            problem: problem.because(error),
        }
    }
}

/// Why a source gave no answer, as a word for the store and text keys.
fn word(error: &SourceError) -> &'static str {
    match error {
        SourceError::NotFound => "not_found",
        SourceError::TimedOut => "timed_out",
        SourceError::Budget => "budget",
        SourceError::Nonsense(_) => "nonsense",
        SourceError::Unreachable(_) => "unreachable",
        SourceError::Unsupported(_) => "unsupported",
    }
}

/// The status for a source that gave no answer.
pub fn status(error: &SourceError) -> u16 {
    match error {
        SourceError::NotFound => 404,
        SourceError::TimedOut | SourceError::Budget => 504,
        SourceError::Nonsense(_) => 502,
        SourceError::Unreachable(_) | SourceError::Unsupported(_) => 503,
    }
}

/// 404 of a screening; its message states why nothing was found.
fn not_found(why: NothingFound) -> Problem {
    let text = match why {
        NothingFound::NoSource => {
            "Address or transaction not found: no label names it, and this server has no source of the chain's history. Its operator can add one"
        }
        NothingFound::EmptyGraph => {
            "Address or transaction not found or not yet processed: no label names it, and the graph of this chain has not received a block yet"
        }
        NothingFound::Unknown => {
            "Address or transaction not found or not yet processed: no label names it, and no source of the chain has seen it"
        }
    };
    Problem::not_found(text).named(why.as_str())
}

/// The failure that a demo query of the sandbox requests.
fn simulated_failure(scope: Scope, query: &Query) -> Option<Failure> {
    scope.sandbox.then(|| sandbox::failure(&query.bytes())).flatten()
}

/// The outcome of a screening.
struct ScreeningOutcome {
    answered: ChainAnswer,
    /// The name that the account's address book gives the address.
    own_name: Option<String>,
    /// `None` for a vendor's score, because a vendor does not report the flow of money.
    evidence: Option<Evidence>,
}

async fn load_labels(app: &App, caller: &Caller) -> Result<AccountLabels, NoScore> {
    let confirmed = app.lists.confirm(&app.db).await;
    confirmed.map_err(LabelsUnavailable::from)?;
    Ok(labels::of_caller(app, caller)?)
}

/// A labelled address always gets a score. An address without a label and unknown to every source is not
/// found (`docs/decisions/0018-transaction-monitoring.md`).
async fn screen_query(
    app: &App,
    caller: &Caller,
    query: Query,
    labels: AccountLabels,
) -> Result<ScreeningOutcome, NoScore> {
    let busy = |problem| NoScore {
        status: 503,
        why: "busy",
        problem,
    };
    let profile = newest_profile(app, caller).await?;
    let (chains, currency) = (Arc::clone(&app.chains), query.currency);
    // Tracing reads files or queries other servers, and blocks.
    let permit = app.screenings.permit().await.map_err(busy)?;
    let screened = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let mut request = Request::new(query.currency, query.subject());
        request.options = profile.options();
        let answered = chains.screen(&labels, &profile, &request)?;
        // The response states that nothing was traced. The fault of the source concerns only the operator.
        if let Some(failed) = answered.own().and_then(|screen| screen.failed.as_ref())
            && *failed != SourceError::NotFound
        {
            tracing::warn!(chain = %request.chain, error = %failed, "labels alone answered for a source that did not");
        }
        let own_name = match request.subject {
            Subject::Address(address) => labels.book_name(request.chain, address, request.at),
            Subject::Transaction(_) => None,
        };
        let evidence = answered.own().map(|screen| {
            let picture = Picture::of(&query.text, screen, &profile);
            Evidence::of(&request, &labels, screen, picture)
        });
        Ok::<_, SourceError>((answered, own_name, evidence))
    });
    match screened.await {
        Ok(screened) => {
            let (answered, own_name, evidence) = screened.map_err(|error| match error {
                SourceError::NotFound => NoScore {
                    problem: not_found(app.chains.why_nothing(currency)),
                    ..NoScore::from(SourceError::NotFound)
                },
                error => error.into(),
            })?;
            Ok(ScreeningOutcome {
                answered,
                own_name,
                evidence: evidence.transpose()?,
            })
        }
        Err(error) => Err(Problem::internal(error).into()),
    }
}

async fn newest_profile(app: &App, caller: &Caller) -> Result<Profile, Problem> {
    let conn = &mut app.db.read().await?;
    let kept = profile(conn, caller.scope.merchant_id, None).await?;
    Ok(kept.unwrap_or_else(Profile::built_in))
}

/// The response's body.
pub fn answer_body(id: Uuid, query: &Query, answered: &ChainAnswer) -> Value {
    let mut body = json!({
        "queryId": id,
        "type": query.kind(),
        "query": query.text,
        "currency": query.currency,
        "score": answered.score(),
        "label": query.label,
    });
    if query.report == Report::Detailed
        && let Some(body) = body.as_object_mut()
    {
        body.extend(answered.detail());
    }
    body
}

/// A screening to be stored, without a response.
fn new_screening(id: Uuid, query: &Query, status: u16) -> NewScreening<'_> {
    NewScreening {
        id,
        kind: query.kind(),
        currency: query.currency.code(),
        query: &query.text,
        canonical: match &query.screened {
            QueryTarget::Address(address) => &address.canonical,
            QueryTarget::Transaction(hash) => &hash.canonical,
        },
        label: &query.label,
        status,
        score: None,
        response: "",
        evidence: None,
        failure: None,
        coverage: None,
    }
}

//! The hosted page's side of a session: what a link leads to, before anything is used up.

use store::merchants::Merchant;
use store::sessions::{self, Link, LinkToken};
use store::{Conn, Scope};
use verification::flow::{Configuration, Flow, PERSONAL_FIELDS};

use super::branding::{self, Branding};
use super::{App, flows};
use crate::error::Problem;

/// What a link leads to.
#[derive(Clone, Debug)]
pub struct Preview {
    /// Who asks.
    pub branding: Branding,
    /// Whether it is only a test.
    pub sandbox: bool,
    /// What is asked for, where no country's override says otherwise.
    pub configuration: Configuration,
    /// About how long it takes.
    pub minutes: u32,
    /// Until when the link can be used (ms).
    pub expires_at: i64,
}

/// What a one-time token is worth.
pub enum Look {
    /// It can be used.
    Good(Box<Preview>),
    /// Nobody's.
    Invalid,
    /// It was used.
    Used,
    /// Too late.
    Expired,
}

/// Looks at a link's token and uses nothing up.
pub async fn look(app: &App, token: &str) -> Result<Look, Problem> {
    let mut conn = app.db.read().await?;
    match sessions::peek_link(&mut conn, token).await? {
        LinkToken::Good {
            merchant,
            scope,
            link,
            expires_at,
        } => preview(&mut conn, &merchant, scope, &link, expires_at).await,
        LinkToken::Used => Ok(Look::Used),
        LinkToken::Expired => Ok(Look::Expired),
        LinkToken::Invalid => Ok(Look::Invalid),
    }
}

async fn preview(
    conn: &mut Conn,
    merchant: &Merchant,
    scope: Scope,
    link: &Link,
    expires_at: i64,
) -> Result<Look, Problem> {
    // The Flow may have been deleted since the link was made.
    let Some(stored) = store::flows::get(conn, scope, link.flow_id).await? else {
        return Ok(Look::Invalid);
    };
    let flow = flows::parse(&stored.into())?;
    Ok(Look::Good(Box::new(Preview {
        branding: branding::branding(merchant),
        sandbox: scope.sandbox,
        minutes: minutes(&flow),
        configuration: flow.defaults,
        expires_at,
    })))
}

/// The personal fields that a configuration asks for, besides the names that are always asked.
pub fn personal_fields(configuration: &Configuration) -> Vec<&'static str> {
    PERSONAL_FIELDS
        .into_iter()
        .chain(["ssn"])
        .filter(|field| configuration.asks(field))
        .collect()
}

/// About how long an applicant takes: a minute for the details, one more for many of them, one for a document with a selfie.
fn minutes(flow: &Flow) -> u32 {
    let many = personal_fields(&flow.defaults).len() > 4;
    1 + u32::from(many) + u32::from(!flow.defaults.document_types.is_empty())
}

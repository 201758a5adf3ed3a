//! Collects the routes of all areas with their actions. `routes` adds the guard, and the portal's `router`
//! adds the layers.

use super::routes::{Routes, Row};
use super::{
    accounts, alerts, api_log, applicant_invitations, audit, branding, dashboard, flows, groups, insight,
    invitation_import, keys, links, monitoring, operator, privacy, review, screening, screening_file, second,
    wallet_alerts, webhooks,
};

/// All routes, area by area.
pub(super) fn all() -> Routes {
    const AREAS: &[fn(Routes) -> Routes] = &[
        accounts::routes,
        alerts::routes,
        api_log::routes,
        applicant_invitations::routes,
        audit::routes,
        branding::routes,
        dashboard::routes,
        flows::routes,
        groups::routes,
        insight::routes,
        invitation_import::routes,
        keys::routes,
        links::routes,
        monitoring::routes,
        operator::routes,
        privacy::routes,
        review::routes,
        screening::routes,
        screening_file::routes,
        second::routes,
        wallet_alerts::routes,
        webhooks::routes,
    ];
    AREAS.iter().fold(Routes::default(), |routes, area| area(routes))
}

/// Every route with its action, for tests that check all of them.
pub fn table() -> Vec<Row> {
    all().rows().to_vec()
}

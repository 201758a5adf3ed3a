//! "Alerts": listings that were found to resemble people after they were approved. This module reads and renders
//! alerts, and passes decisions to `service::alerts`. It screens nobody, and it never changes an applicant's status.

mod bulk;
mod bulk_form;
mod detail;
mod export;
mod list;
mod parts;

use service::permissions::Action;

use self::parts::HERE;
use super::routes::Routes;

/// Adds this area's routes.
pub fn routes(routes: Routes) -> Routes {
    routes
        .get(HERE, Action::ViewQueue, list::page)
        .post("/portal/alerts/decide", Action::Decide, bulk::decide)
        .get("/portal/alerts.csv", Action::ExportCsv, export::export)
        .get("/portal/alerts/{id}", Action::ViewApplicant, detail::page)
        .post("/portal/alerts/{id}/decide", Action::Decide, detail::decide)
        .post("/portal/alerts/{id}/claim", Action::Decide, detail::claim)
        .post("/portal/alerts/{id}/release", Action::Decide, detail::release)
        .post("/portal/alerts/{id}/reopen", Action::Reopen, detail::reopen)
}

//! Review: the queue, the applicant page, decisions, and the search for people. Handlers are thin: the use
//! cases are in `service::{reviews, applicant_view, suppressions, people, merging, splitting, pictures}`.

pub mod applicant;
pub mod checks;
pub mod decide;
pub mod fields;
pub mod files;
pub mod forms;
pub mod hits;
pub mod merging;
pub mod people;
pub mod queue;
pub mod reasons;
pub mod splitting;
pub mod timeline;

use service::permissions::Action;

use super::routes::Routes;

/// Adds this area's routes.
pub fn routes(routes: Routes) -> Routes {
    decide::routes(routes)
        .get("/portal/queue", Action::ViewQueue, queue::page)
        .post("/portal/queue/next", Action::Decide, queue::next)
        .post("/portal/queue/views", Action::ViewQueue, queue::keep_view)
        .post(
            "/portal/queue/views/delete",
            Action::ViewQueue,
            queue::forget_view,
        )
        .get("/portal/queue/reasons", Action::ManageReasons, reasons::page)
        .post("/portal/queue/reasons", Action::ManageReasons, reasons::add)
        .post(
            "/portal/queue/reasons/delete",
            Action::ManageReasons,
            reasons::remove,
        )
        .get(
            "/portal/applicants/{logId}",
            Action::ViewApplicant,
            applicant::page,
        )
        .get(
            "/portal/applicants/{logId}/files/{name}",
            Action::ViewApplicant,
            files::file,
        )
        .get("/portal/people", Action::ViewApplicant, people::page)
        .post("/portal/people", Action::ViewApplicant, people::search)
        .get(
            "/portal/people/{facemapId}",
            Action::ViewApplicant,
            people::person,
        )
        .get(
            "/portal/people/{facemapId}/merge",
            Action::MergePeople,
            merging::page,
        )
        .post(
            "/portal/people/{facemapId}/merge",
            Action::MergePeople,
            merging::merge,
        )
        .get(
            "/portal/people/{facemapId}/split",
            Action::MergePeople,
            splitting::page,
        )
        .post(
            "/portal/people/{facemapId}/split",
            Action::MergePeople,
            splitting::split,
        )
        .post(
            "/portal/people/{facemapId}/listings/restore",
            Action::Suppress,
            people::restore_listing,
        )
}

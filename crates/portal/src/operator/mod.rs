//! The operator console: processes, merchants and their applications, lists and models, jobs and deliveries,
//! operators, and the operators' audit trail. It never shows data of an applicant.

mod audit;
mod health;
mod jobs;
mod lists;
mod merchants;
mod params;
mod people;

use service::permissions::Action;

use super::routes::Routes;

/// Adds this area's routes.
pub fn routes(routes: Routes) -> Routes {
    use Action::{ManageOperators, Operate};
    routes
        .get("/portal/operator", Operate, health::health)
        .get("/portal/operator/merchants", Operate, merchants::list)
        .get(
            "/portal/operator/merchants/{merchantId}",
            Operate,
            merchants::merchant,
        )
        .post(
            "/portal/operator/merchants/{merchantId}/decide",
            Operate,
            merchants::decide,
        )
        .post(
            "/portal/operator/merchants/{merchantId}/limits",
            Operate,
            merchants::limits,
        )
        .get("/portal/operator/sign-ups", Operate, people::sign_ups)
        .post("/portal/operator/sign-ups/{id}/link", Operate, people::answer)
        .post("/portal/operator/sign-ups/{id}/dismiss", Operate, people::dismiss)
        .get("/portal/operator/lists", Operate, lists::lists)
        .post("/portal/operator/lists/reload", Operate, lists::reload)
        .post(
            "/portal/operator/proposals/{proposalId}/confirm",
            Operate,
            lists::confirm,
        )
        .post(
            "/portal/operator/proposals/{proposalId}/reject",
            Operate,
            lists::reject,
        )
        .get("/portal/operator/jobs", Operate, jobs::jobs)
        .post("/portal/operator/jobs/{jobId}/run", Operate, jobs::run_job)
        .get("/portal/operator/operators", Operate, people::operators)
        .post(
            "/portal/operator/operators/invite",
            ManageOperators,
            people::invite,
        )
        .post(
            "/portal/operator/operators/{staffId}/access",
            ManageOperators,
            people::set_access,
        )
        .get("/portal/operator/audit", Operate, audit::list)
        .post("/portal/operator/audit/verify", Operate, audit::verify)
}

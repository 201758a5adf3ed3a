//! The pages for signing in and up, invitations, a member's own login, a merchant's staff, and its
//! application for live access.

mod account;
mod application;
mod forms;
mod join;
mod letters;
mod passkeys;
mod sign_in;
mod sign_up;
mod staff;

use service::permissions::Action;

use super::routes::{MODE, Routes};

/// Adds this area's routes.
pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get("/portal/sign-in", Action::Public, sign_in::page)
        .post("/portal/sign-in", Action::Public, sign_in::submit)
        .get("/portal/sign-in/code", Action::Public, sign_in::code_page)
        .post("/portal/sign-in/code", Action::Public, sign_in::code)
        .post("/portal/sign-in/passkey", Action::Public, passkeys::sign_in)
        .get("/portal/passkey/options", Action::Public, passkeys::options)
        .post("/portal/sign-out", Action::SignedIn, sign_in::sign_out)
        .get("/portal/prove", Action::SignedIn, sign_in::prove_page)
        .post("/portal/prove", Action::SignedIn, sign_in::prove)
        .get("/portal/join/{token}", Action::Public, join::page)
        .post("/portal/join/{token}", Action::Public, join::submit)
        .post("/portal/join/{token}/accept", Action::SignedIn, join::accept)
        .get("/portal/sign-up", Action::Public, sign_up::page)
        .post("/portal/sign-up", Action::Public, sign_up::ask)
        .get("/portal/sign-up/{token}", Action::Public, sign_up::open_page)
        .post("/portal/sign-up/{token}", Action::Public, sign_up::open)
        .get("/portal/forgot", Action::Public, join::forgot_page)
        .post("/portal/forgot", Action::Public, join::forgot)
        .get("/portal/account", Action::SignedIn, account::page)
        .post("/portal/account/name", Action::SignedIn, account::rename)
        .post("/portal/account/email", Action::SignedIn, account::change_email)
        .post(
            "/portal/account/password",
            Action::SignedIn,
            account::change_password,
        )
        .get(
            "/portal/account/passkeys/new",
            Action::ManagePasskeys,
            passkeys::new_page,
        )
        .post("/portal/account/passkeys", Action::ManagePasskeys, passkeys::add)
        .post(
            "/portal/account/passkeys/{id}/remove",
            Action::ManagePasskeys,
            passkeys::remove,
        )
        .get("/portal/account/totp", Action::SignedIn, account::totp_page)
        .post("/portal/account/totp", Action::SignedIn, account::totp_on)
        .post("/portal/account/totp/off", Action::SignedIn, account::totp_off)
        .post(
            "/portal/account/second-factor",
            Action::RequireSecondFactor,
            account::require_second_factor,
        )
        .get(
            "/portal/account/recovery",
            Action::SignedIn,
            account::recovery_page,
        )
        .post(
            "/portal/account/recovery",
            Action::SignedIn,
            account::renew_recovery,
        )
        .post(
            "/portal/account/sessions/end-all",
            Action::SignedIn,
            account::end_all,
        )
        .post(
            "/portal/account/sessions/{id}/end",
            Action::SignedIn,
            account::end_one,
        )
        .post("/portal/account/choose", Action::SignedIn, account::choose)
        .post(MODE, Action::ViewDashboard, account::mode)
        .get("/portal/staff", Action::ManageStaff, staff::page)
        .post("/portal/staff/invite", Action::ManageStaff, staff::invite)
        .post("/portal/staff/{id}/role", Action::ManageStaff, staff::set_role)
        .post(
            "/portal/staff/{id}/access",
            Action::ManageStaff,
            staff::set_access,
        )
        .post(
            "/portal/staff/{id}/password",
            Action::ManageStaff,
            staff::password_link,
        )
        .post(
            "/portal/staff/invitations/{id}/revoke",
            Action::ManageStaff,
            staff::revoke,
        )
        .get("/portal/application", Action::Apply, application::page)
        .post("/portal/application", Action::Apply, application::submit)
}

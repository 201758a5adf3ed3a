//! Dashboard, figures, API log, audit trail, and the desks for names and wallets.

mod calls;
mod figures;
mod names;
mod wallets;

/// The address of the first link on a page that starts with this text.
fn link(page: &str, begins: &str) -> String {
    let at = page.find(&format!("href=\"{begins}")).expect(page) + 6;
    page[at..].split('"').next().unwrap().to_owned()
}

//! Settings of the whole account: the hosted page's branding, the origins that may embed it, blocked
//! countries, and name screening. `service::merchants` validates settings; `service::theme` computes the
//! contrast.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{Multipart, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum_extra::extract::Form;
use http_server::error::Rejection;
use reference::Country;
use sanctions::Profile;
use service::merchants::{ChangeOutcome, MerchantSettings};
use service::permissions::Action;
use service::problem::{Kind, Problem};
use service::refused_origins::{self, RefusedOrigin, RefusedUse};
use service::theme::{Accent, DARK_SURFACE, LIGHT_SURFACE, Rgb, accent, contrast};
use service::{App, Shared, branding, merchants};

use super::flows::form::FormFields;
use super::list_boxes::{ListBox, list_boxes};
use super::page::{Page, done, html};
use super::proposal::redirect_after_proposal;
use super::routes::Routes;
use super::session::Member;

/// Adds this area's routes.
pub fn routes(routes: Routes) -> Routes {
    routes
        .get("/portal/branding", Action::ManageCompany, show)
        .post("/portal/branding", Action::ManageCompany, save)
        .post("/portal/branding/logo", Action::ManageCompany, logo)
}

/// The brand colour as the hosted page uses it on one of its surfaces.
struct Swatch {
    key: &'static str,
    surface: Rgb,
    accent: Accent,
    /// Contrast ratio of the adjusted accent colour with the surface; `set` is that of the unadjusted colour.
    contrast: String,
    set: String,
    is_kept: bool,
}

#[derive(Template)]
#[template(path = "portal/branding.html")]
struct BrandingPage {
    page: Page,
    account: String,
    logo: Option<String>,
    texts: BTreeMap<&'static str, String>,
    blocked: Vec<String>,
    lists: Vec<ListBox>,
    countries: Vec<&'static Country>,
    swatches: Vec<Swatch>,
    /// The origins that the hosted page refused lately and that are still not allowed.
    refused: Vec<RefusedOrigin>,
    faults: BTreeMap<String, String>,
}

impl BrandingPage {
    fn text(&self, key: &str) -> &str {
        self.texts.get(key).map_or("", String::as_str)
    }

    fn fault(&self, key: &str) -> &str {
        self.faults.get(key).map_or("", String::as_str)
    }

    /// The page again, with each error (`FIELD - reason`) next to its field.
    fn refuse(mut self, refusals: &[String]) -> Result<Response, Problem> {
        for refused in refusals {
            let end = refused
                .find(|c: char| !c.is_ascii_alphanumeric())
                .unwrap_or(refused.len());
            let (field, reason) = refused.split_at(end);
            let reason = reason.trim_start_matches([' ', '-', ':']);
            let text = self.page.t1("branding.fault", "reason", reason);
            let said = self.faults.entry(field.to_owned()).or_default();
            if !said.is_empty() {
                said.push(' ');
            }
            said.push_str(&text);
        }
        Ok((StatusCode::BAD_REQUEST, html(self)?).into_response())
    }

    /// The errors as links: the field's anchor in the page, its name, and the error.
    fn wrong(&self) -> Vec<(&'static str, String, &str)> {
        let named = FIELDS.iter().filter_map(|(field, place, name)| {
            let fault = self.faults.get(*field)?;
            Some((*place, self.page.t(name), fault.as_str()))
        });
        named.collect()
    }

    /// The sentence that states how the colour is used on a surface.
    fn said(&self, swatch: &Swatch) -> String {
        let key = match swatch.is_kept {
            true => "branding.swatch.kept",
            false => "branding.swatch.made",
        };
        let values = [("set", swatch.set.as_str()), ("ratio", &swatch.contrast)];
        self.page.tf(key, &values)
    }

    /// What an origin was refused.
    fn refused_use(&self, refused: &RefusedOrigin) -> String {
        self.page.t(match refused.refused {
            RefusedUse::Embedding => "branding.refused.embedding",
            RefusedUse::Return => "branding.refused.return",
        })
    }

    /// The profiles that an account can have.
    fn profiles(&self) -> [&'static str; Profile::ALL.len()] {
        Profile::ALL.map(Profile::as_str)
    }

    fn blocks(&self, country: &Country) -> bool {
        self.blocked.iter().any(|code| code == country.alpha2)
    }
}

/// Each field with its anchor in the page and the text key of its name.
const FIELDS: [(&str, &str, &str); 11] = [
    ("brandLogo", "f-logo", "branding.logo"),
    ("brandName", "f-brandName", "branding.name"),
    ("brandColor", "f-brandColor", "branding.color"),
    ("privacyUrl", "f-privacyUrl", "branding.privacyUrl"),
    ("contact", "f-contact", "branding.contact"),
    ("websiteUrl", "f-websiteUrl", "branding.websiteUrl"),
    ("signInUrl", "f-signInUrl", "branding.signInUrl"),
    ("allowedOrigins", "f-origins", "branding.origins"),
    ("blockedCountries", "geo", "branding.blocked"),
    ("screeningThreshold", "f-threshold", "branding.threshold"),
    ("screeningProfile", "f-profile", "branding.profile"),
];

/// The settings that are plain texts.
const TEXTS: [&str; 8] = [
    "brandName",
    "brandColor",
    "privacyUrl",
    "contact",
    "websiteUrl",
    "signInUrl",
    "screeningThreshold",
    "screeningProfile",
];

async fn page_of(app: &App, member: &Member, page: Page) -> Result<BrandingPage, Problem> {
    let merchant = member.merchant()?;
    let refused = refused_origins::recent(&mut app.db.read().await?, merchant.id).await?;
    let MerchantSettings {
        screening_threshold,
        screening_profile,
        screening_lists,
        blocked_countries,
        allowed_origins,
        brand_name,
        brand_color,
        privacy_url,
        contact,
        website_url,
        sign_in_url,
        ..
    } = merchants::settings(merchant)?;
    let swatches = brand_color.as_deref().and_then(Rgb::parse).map(swatches);
    let mut countries: Vec<_> = reference::countries().iter().collect();
    countries.sort_unstable_by_key(|country| country.name);
    Ok(BrandingPage {
        page,
        account: merchant.name.clone(),
        logo: branding::branding(merchant)?.logo_url,
        texts: BTreeMap::from([
            ("brandName", brand_name.unwrap_or_default()),
            ("brandColor", brand_color.unwrap_or_default()),
            ("privacyUrl", privacy_url.unwrap_or_default()),
            ("contact", contact.unwrap_or_default()),
            ("websiteUrl", website_url.unwrap_or_default()),
            ("signInUrl", sign_in_url.unwrap_or_default()),
            ("allowedOrigins", allowed_origins.join("\n")),
            (
                "screeningThreshold",
                screening_threshold.map(|n| n.to_string()).unwrap_or_default(),
            ),
            (
                "screeningProfile",
                screening_profile.unwrap_or_default().as_str().to_owned(),
            ),
        ]),
        blocked: blocked_countries.iter().map(|code| code.to_uppercase()).collect(),
        lists: list_boxes(app, &screening_lists),
        countries,
        swatches: swatches.into_iter().flatten().collect(),
        refused: refused
            .into_iter()
            .filter(|one| !allowed_origins.contains(&one.origin))
            .collect(),
        faults: BTreeMap::new(),
    })
}

fn swatches(colour: Rgb) -> [Swatch; 2] {
    [("light", LIGHT_SURFACE), ("dark", DARK_SURFACE)].map(|(key, surface)| {
        let made = accent(colour, surface);
        Swatch {
            key,
            surface,
            accent: made,
            contrast: format!("{:.1}", contrast(made.accent, surface)),
            set: format!("{:.1}", contrast(colour, surface)),
            is_kept: made.accent == colour,
        }
    })
}

async fn show(State(app): State<Shared>, member: Member, page: Page) -> Result<Response, Rejection> {
    Ok(html(page_of(&app, &member, page).await?)?)
}

async fn save(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    Form(pairs): Form<Vec<(String, String)>>,
) -> Result<Response, Rejection> {
    let sent = FormFields(pairs);
    let many = |name: &str| {
        let all: Vec<&str> = sent.all(name).collect();
        format!("{name}={}", all.join(","))
    };
    let mut changes: Vec<String> = TEXTS
        .iter()
        // A page of an older server has no field for a newer setting, and must not change it.
        .filter(|name| sent.all(name).next().is_some())
        .map(|name| format!("{name}={}", sent.one(name)))
        .collect();
    let origins: Vec<&str> = sent.one("allowedOrigins").split_whitespace().collect();
    changes.push(format!("allowedOrigins={}", origins.join(",")));
    changes.push(many("blockedCountries"));
    changes.push(many("screeningLists"));
    let threshold = sent.one("screeningThreshold");
    let refused = if !threshold.is_empty() && threshold.parse::<f64>().is_err() {
        // A threshold that is not a number cannot be parsed as a setting. The other settings are validated
        // without it.
        changes.retain(|change| !change.starts_with("screeningThreshold="));
        let others = merchants::with_settings(member.merchant()?, &changes).err();
        let mut faults = vec!["screeningThreshold must be between 0 and 1".to_owned()];
        faults.extend(others.unwrap_or_default());
        faults
    } else {
        match merchants::change_settings(&app, &member.caller()?, &changes).await {
            Ok(ChangeOutcome::Done) => return Ok(done("/portal/branding", "saved")),
            Ok(ChangeOutcome::Proposed) => {
                let confirms = (Action::ManageCompany, "change_proposed");
                return Ok(redirect_after_proposal(&app, &member, "/portal/branding", confirms).await?);
            }
            Err(problem) if problem.kind() == Kind::Invalid => problem.errors().to_vec(),
            Err(problem) => return Err(problem.into()),
        }
    };
    let mut form = page_of(&app, &member, page).await?;
    for name in TEXTS.iter().chain(&["allowedOrigins"]) {
        if sent.all(name).next().is_none() {
            continue;
        }
        form.texts.insert(name, sent.one(name).to_owned());
    }
    form.blocked = sent.all("blockedCountries").map(str::to_owned).collect();
    for list in &mut form.lists {
        list.is_chosen = sent.all("screeningLists").any(|each| each == list.name);
    }
    Ok(form.refuse(&refused)?)
}

/// Replaces the logo with the image in the field `logo`, or removes it if the field is empty.
async fn logo(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    mut parts: Multipart,
) -> Result<Response, Rejection> {
    let unreadable = |_| Problem::invalid("The form could not be read. Reload the page and try again");
    let mut file = Vec::new();
    while let Some(part) = parts.next_field().await.map_err(unreadable)? {
        if part.name() == Some("logo") {
            file = part.bytes().await.map_err(unreadable)?.to_vec();
        }
    }
    let file = Some(file).filter(|file| !file.is_empty());
    match branding::put_logo(&app, &member.caller()?, file).await {
        Ok(()) => Ok(done("/portal/branding", "saved")),
        Err(problem) if problem.kind() == Kind::Invalid => {
            let form = page_of(&app, &member, page).await?;
            Ok(form.refuse(problem.errors())?)
        }
        Err(problem) => Err(problem.into()),
    }
}

//! Converts between a Flow's body, in the shape of PUT (with `settings`), and the Flow editor's form.
//!
//! It validates nothing: the body passes the same rules as one sent to the API. Members that the form does
//! not know remain unchanged.

use reference::{Country, DocumentType, UTOPIA, country};
use serde_json::{Map, Value, json};
use service::permissions::Action;
use store::flows::{Flow, FlowContent};

/// A JSON object.
pub type Object = Map<String, Value>;

/// How the selfie is taken, the strongest first. If none is set, an ordinary photo is accepted.
const BIOMETRICS: [&str; 2] = ["liveness", "liveSelfie"];
/// How documents are submitted, the strongest first.
const UPLOADS: [&str; 2] = ["documentCapture", "documentFileUpload"];
/// Fields with three values. If one is absent, the back's need is looked up for each country.
const BACKS: [&str; 2] = ["driversBack", "idCardBack"];
/// The choice in an override that inherits the default.
pub const INHERIT: &str = "inherit";

/// Switches for the person's details.
pub const PERSON: [&str; 6] = ["middleName", "dob", "nationality", "phone", "email", "ssn"];
/// Switches for the person's address.
pub const ADDRESS: [&str; 6] = ["street", "street2", "city", "state", "postcode", "country"];

/// Settings that are on if they are absent.
const ON_BY_DEFAULT: [&str; 2] = ["ongoingScreening", "renewInvitations"];

/// Settings that not every editor of Flows may change, and the action that permits each.
const RESERVED: [(&str, Action); 9] = [
    ("reviewPolicy", Action::ManageRules),
    ("detailsFirst", Action::ManageRules),
    ("fourEyes", Action::ManageRules),
    ("fraudSigns", Action::ManageRules),
    ("ongoingScreening", Action::ManageRules),
    ("screeningLists", Action::ManageRules),
    ("matchThreshold", Action::ManageRules),
    ("reviewBand", Action::ManageRules),
    ("retentionDays", Action::ManageRetention),
];

/// The form's fields as the browser sent them, in order.
#[derive(Debug, Default)]
pub struct FormFields(pub Vec<(String, String)>);

impl FormFields {
    /// The first value of a field, trimmed; empty if it is absent.
    pub fn one(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default().trim()
    }

    /// Every value of a field.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    fn is_on(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }
}

/// A stored Flow as a body.
pub fn body_of(flow: &FlowContent) -> Object {
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let body = json!({
        "name": flow.name,
        "defaultFields": json(&flow.default_fields),
        "defaultDocumentTypes": json(&flow.default_document_types),
        "countryOverrides": json(&flow.country_overrides),
        "geoBlockedCountries": json(&flow.geo_blocked_countries),
        "webhookUrl": flow.webhook_url.as_deref().unwrap_or_default(),
        "minAge": flow.min_age,
        "maxAge": flow.max_age,
        "settings": json(&flow.settings),
    });
    object(Some(&body))
}

/// A new Flow's body: it accepts any document, by camera or as a file, and compares it with the submitted
/// data.
pub fn new_body() -> Object {
    let body = json!({
        "name": "",
        "defaultFields": {"dob": true, "documentFileUpload": true, "ocrMatch": true},
        "defaultDocumentTypes": DocumentType::ALL.map(DocumentType::as_str),
        "countryOverrides": [], "geoBlockedCountries": [], "webhookUrl": "", "minAge": null, "maxAge": null, "settings": {},
    });
    object(Some(&body))
}

/// Applies the form to `base`, the body that the form was rendered from. `may` states which actions the
/// sender may do: settings reserved for other roles remain as stored.
pub fn merge(base: &Object, sent: &FormFields, may: impl Fn(Action) -> bool) -> Object {
    let mut body = base.clone();
    let types: Vec<&str> = sent.all("type").collect();
    let mut fields = object(base.get("defaultFields"));
    for key in PERSON.iter().chain(&ADDRESS).chain(&["ocrMatch"]) {
        set_switch(&mut fields, key, sent.is_on(&format!("field.{key}")));
    }
    set_choice(&mut fields, &BIOMETRICS, sent.one("biometric"));
    set_choice(&mut fields, &UPLOADS, sent.one("upload"));
    if types.is_empty() {
        // A Flow without documents cannot have a selfie, and the form has no switch for `selfie`.
        fields.remove("selfie");
    }
    for key in BACKS {
        set_three_valued(&mut fields, key, sent.one(key));
    }
    let overrides = sent
        .all("override")
        .filter(|alpha3| sent.one("do") != format!("remove.{alpha3}"))
        .map(|alpha3| element(base, &fields, alpha3, sent));
    let mut overrides: Vec<Value> = overrides.collect();
    let added = sent.one("addCountry");
    if sent.one("do") == "add"
        && let Some(country) = country_of(added)
        && !overrides
            .iter()
            .any(|element| of_country(element, country.alpha3))
    {
        overrides.push(new_element(country));
    }
    let geo = sent.all("geo").filter_map(country).map(|country| {
        let known = items(base.get("geoBlockedCountries"));
        let known = known
            .iter()
            .find(|element| code(element, "countryAlpha2") == country.alpha2);
        known
            .cloned()
            .unwrap_or_else(|| json!({"countryAlpha2": country.alpha2, "countryName": country.name}))
    });
    body.insert("geoBlockedCountries".into(), geo.collect());
    body.insert("name".into(), sent.one("name").into());
    body.insert("defaultFields".into(), fields.into());
    body.insert("defaultDocumentTypes".into(), types.into());
    body.insert("countryOverrides".into(), overrides.into());
    body.insert("webhookUrl".into(), sent.one("webhookUrl").into());
    for age in ["minAge", "maxAge"] {
        body.insert(age.into(), number(sent.one(age)));
    }
    body.insert("settings".into(), settings(base, sent, may).into());
    body
}

fn settings(base: &Object, sent: &FormFields, may: impl Fn(Action) -> bool) -> Object {
    let stored = object(base.get("settings"));
    let mut settings = stored.clone();
    for key in [
        "matchThreshold",
        "reviewBand",
        "attemptsPerLink",
        "invitationHours",
        "reminderHours",
        "retentionDays",
    ] {
        set(&mut settings, key, number(sent.one(key)));
    }
    let policy = sent.one("reviewPolicy");
    if settings.contains_key("reviewPolicy") || !["", "on_match"].contains(&policy) {
        settings.insert("reviewPolicy".into(), policy.into());
    }
    let fraud = sent.one("fraudSigns");
    if settings.contains_key("fraudSigns") || !["", "off"].contains(&fraud) {
        settings.insert("fraudSigns".into(), fraud.into());
    }
    for key in ON_BY_DEFAULT {
        match sent.one(key) {
            "off" => set(&mut settings, key, false.into()),
            "on" if settings.contains_key(key) => set(&mut settings, key, true.into()),
            _ => {}
        }
    }
    let lists = chosen_lists(&stored, sent);
    if !lists.is_empty() || settings.contains_key("screeningLists") {
        settings.insert("screeningLists".into(), lists.into());
    }
    for key in ["hideSanctionsDetail", "detailsFirst", "fourEyes"] {
        set_switch(&mut settings, key, sent.is_on(key));
    }
    for (key, action) in RESERVED {
        if !may(action) {
            set(&mut settings, key, stored.get(key).cloned().unwrap_or_default());
        }
    }
    settings
}

/// The names of the chosen sanctions lists: the stored ones in their order, then the others.
fn chosen_lists(stored: &Object, sent: &FormFields) -> Vec<String> {
    let mut names = texts(stored.get("screeningLists"));
    names.retain(|name| sent.all("screeningLists").any(|chosen| chosen == name));
    for chosen in sent.all("screeningLists") {
        if !names.iter().any(|name| name == chosen) {
            names.push(chosen.to_owned());
        }
    }
    names
}

/// A country's override after the form was applied. Members that the form does not show remain unchanged.
fn element(base: &Object, defaults: &Object, alpha3: &str, sent: &FormFields) -> Value {
    let known = items(base.get("countryOverrides"));
    let known = known.into_iter().find(|element| of_country(element, alpha3));
    let element = known.or_else(|| country_of(alpha3).map(new_element));
    // An unknown country code goes into the body, so that validation reports it with the other errors.
    let mut element = object(
        element
            .or_else(|| Some(json!({"countryAlpha3": alpha3})))
            .as_ref(),
    );
    let own = |name: &str| format!("override.{alpha3}.{name}");
    set_switch(&mut element, "restricted", sent.is_on(&own("restricted")));
    let mut fields = object(element.get("defaultFields"));
    for key in PERSON.iter().chain(&ADDRESS).chain(&["ocrMatch"]).chain(&BACKS) {
        set_three_valued(&mut fields, key, sent.one(&own(key)));
    }
    step_over(&mut fields, defaults, &BIOMETRICS, sent.one(&own("biometric")));
    step_over(&mut fields, defaults, &UPLOADS, sent.one(&own("upload")));
    if fields.is_empty() {
        element.remove("defaultFields");
    } else {
        element.insert("defaultFields".into(), fields.into());
    }
    if sent.one(&own("types")) == "own" {
        let types: Vec<&str> = sent.all(&own("type")).collect();
        element.insert("defaultDocumentTypes".into(), types.into());
    } else {
        element.remove("defaultDocumentTypes");
    }
    element.into()
}

fn new_element(country: &Country) -> Value {
    json!({"countryAlpha2": country.alpha2, "countryAlpha3": country.alpha3, "countryName": country.name})
}

fn country_of(code: &str) -> Option<&'static Country> {
    country(code).or_else(|| (code == UTOPIA.alpha3).then_some(&UTOPIA))
}

fn of_country(element: &Value, alpha3: &str) -> bool {
    code(element, "countryAlpha3") == alpha3
        || country_of(alpha3).is_some_and(|country| code(element, "countryAlpha2") == country.alpha2)
}

fn code(element: &Value, key: &str) -> String {
    element[key].as_str().unwrap_or_default().to_uppercase()
}

fn object(value: Option<&Value>) -> Object {
    value.and_then(Value::as_object).cloned().unwrap_or_default()
}

fn items(value: Option<&Value>) -> Vec<Value> {
    value.and_then(Value::as_array).cloned().unwrap_or_default()
}

/// The texts in a list.
fn texts(value: Option<&Value>) -> Vec<String> {
    let items = items(value);
    items
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// Sets a switch. Absent means off, so switching off an absent member adds nothing.
fn set_switch(members: &mut Object, key: &str, on: bool) {
    if on || members.contains_key(key) {
        members.insert(key.into(), on.into());
    }
}

/// Sets a member to `true` or `false`, or removes it.
fn set_three_valued(members: &mut Object, key: &str, choice: &str) {
    let value = match choice {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => Value::Null,
    };
    set(members, key, value);
}

/// Sets a member; null removes it.
fn set(members: &mut Object, key: &str, value: Value) {
    if value.is_null() {
        members.remove(key);
    } else {
        members.insert(key.into(), value);
    }
}

/// Parses a typed number. Other text remains a string, so that validation reports it and the form shows it
/// again.
fn number(text: &str) -> Value {
    match text.parse::<serde_json::Number>() {
        Ok(number) => Value::Number(number),
        Err(_) if text.is_empty() => Value::Null,
        Err(_) => text.into(),
    }
}

fn is_true(members: &Object, key: &str) -> bool {
    members.get(key) == Some(&Value::Bool(true))
}

/// The strongest member of `ladder` that is true; empty if none is.
fn strongest(members: &Object, ladder: &[&'static str]) -> &'static str {
    ladder
        .iter()
        .copied()
        .find(|key| is_true(members, key))
        .unwrap_or_default()
}

/// Makes `choice` the strongest member. A Flow for which it already is remains unchanged.
fn set_choice(members: &mut Object, ladder: &[&'static str], choice: &str) {
    if strongest(members, ladder) != choice {
        for key in ladder {
            set_switch(members, key, *key == choice);
        }
    }
}

/// Does the same for a country. It sets every step, because absent ones inherit the default.
fn step_over(own: &mut Object, defaults: &Object, ladder: &[&'static str], choice: &str) {
    if choice == choice_over(own, defaults, ladder) {
        return;
    }
    for key in ladder {
        if choice == INHERIT {
            own.remove(*key);
        } else {
            own.insert((*key).into(), (*key == choice).into());
        }
    }
}

fn choice_over(own: &Object, defaults: &Object, ladder: &[&'static str]) -> &'static str {
    if !ladder.iter().any(|key| own.contains_key(*key)) {
        return INHERIT;
    }
    let mut merged = defaults.clone();
    merged.extend(own.clone());
    strongest(&merged, ladder)
}

/// The editor's form as the template renders it.
pub struct FlowForm {
    body: Object,
    fields: Object,
    /// One for each country with an override.
    pub overrides: Vec<OverrideForm>,
}

/// A country's override in the form.
pub struct OverrideForm {
    /// The country.
    pub country: &'static Country,
    element: Object,
    own: Object,
    defaults: Object,
}

impl FlowForm {
    /// Builds the form from a body.
    pub fn new(body: Object) -> Self {
        let fields = object(body.get("defaultFields"));
        let elements = items(body.get("countryOverrides"));
        let overrides = elements.iter().filter_map(|element| {
            let code = [code(element, "countryAlpha3"), code(element, "countryAlpha2")];
            let utopia = code.contains(&UTOPIA.alpha2.to_owned());
            let country = code.iter().find_map(|code| country_of(code));
            Some(OverrideForm {
                country: country.or_else(|| utopia.then_some(&UTOPIA))?,
                own: object(element.get("defaultFields")),
                element: object(Some(element)),
                defaults: fields.clone(),
            })
        });
        Self {
            overrides: overrides.collect(),
            fields,
            body,
        }
    }

    /// A text, or a number as it was typed. `settings.KEY` names a member of `settings`.
    pub fn text(&self, key: &str) -> String {
        let value = match key.strip_prefix("settings.") {
            Some(key) => self.body.get("settings").and_then(|settings| settings.get(key)),
            None => self.body.get(key),
        };
        match value {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        }
    }

    /// Whether a switch of `defaultFields` is on.
    pub fn is_on(&self, key: &str) -> bool {
        is_true(&self.fields, key)
    }

    /// Whether a setting is on.
    pub fn setting_is_on(&self, key: &str) -> bool {
        self.text(&format!("settings.{key}")) == "true"
    }

    /// `never`, `on_match` or `always`.
    pub fn policy(&self) -> String {
        Some(self.text("settings.reviewPolicy"))
            .filter(|policy| !policy.is_empty())
            .unwrap_or_else(|| "on_match".into())
    }

    /// `off`, `show` or `review`.
    pub fn fraud_signs(&self) -> String {
        Some(self.text("settings.fraudSigns"))
            .filter(|choice| !choice.is_empty())
            .unwrap_or_else(|| "off".into())
    }

    /// Whether approved people are screened again when a list changes.
    pub fn is_ongoing(&self) -> bool {
        self.text("settings.ongoingScreening") != "false"
    }

    /// Whether applicants can request a new link in place of an expired invitation.
    pub fn renews_invitations(&self) -> bool {
        self.text("settings.renewInvitations") != "false"
    }

    /// The names of the chosen sanctions lists.
    pub fn screening_lists(&self) -> Vec<String> {
        texts(
            self.body
                .get("settings")
                .and_then(|all| all.get("screeningLists")),
        )
    }

    /// `liveness`, `liveSelfie`, or empty for an ordinary photo.
    pub fn biometric(&self) -> &'static str {
        strongest(&self.fields, &BIOMETRICS)
    }

    /// `documentCapture`, `documentFileUpload`, or empty for neither.
    pub fn upload(&self) -> &'static str {
        strongest(&self.fields, &UPLOADS)
    }

    /// Whether a back is needed: `true`, `false`, or empty if it is looked up for each country.
    pub fn back(&self, key: &str) -> &'static str {
        three_valued(&self.fields, key)
    }

    /// Whether a document type is accepted.
    pub fn accepts(&self, document_type: &str) -> bool {
        has(self.body.get("defaultDocumentTypes"), document_type)
    }

    /// Whether visitors from a country are blocked.
    pub fn blocks(&self, country: &Country) -> bool {
        items(self.body.get("geoBlockedCountries"))
            .iter()
            .any(|element| code(element, "countryAlpha2") == country.alpha2)
    }

    /// How many countries are blocked.
    pub fn blocked(&self) -> usize {
        items(self.body.get("geoBlockedCountries")).len()
    }

    /// The names of members of `defaultFields` that the form does not show. Saving leaves them unchanged.
    pub fn unknown(&self) -> String {
        let known = |key: &String| verification::flow::KNOWN_FIELDS.contains(&key.as_str());
        let unknown: Vec<&str> = self
            .fields
            .keys()
            .filter(|key| !known(key))
            .map(String::as_str)
            .collect();
        unknown.join(", ")
    }
}

impl OverrideForm {
    /// Whether the country is restricted: its applicants and documents are not accepted.
    pub fn restricted(&self) -> bool {
        is_true(&self.element, "restricted")
    }

    /// A member of the country's own fields: `true`, `false`, or empty if it is inherited.
    pub fn field(&self, key: &str) -> &'static str {
        three_valued(&self.own, key)
    }

    /// As [`FlowForm::biometric`], or [`INHERIT`].
    pub fn biometric(&self) -> &'static str {
        choice_over(&self.own, &self.defaults, &BIOMETRICS)
    }

    /// As [`FlowForm::upload`], or [`INHERIT`].
    pub fn upload(&self) -> &'static str {
        choice_over(&self.own, &self.defaults, &UPLOADS)
    }

    /// Whether the country has its own document types.
    pub fn has_types(&self) -> bool {
        self.element.contains_key("defaultDocumentTypes")
    }

    /// Whether the country's own document types include this one.
    pub fn accepts(&self, document_type: &str) -> bool {
        has(self.element.get("defaultDocumentTypes"), document_type)
    }

    /// The number of members that differ from the defaults.
    pub fn changes(&self) -> usize {
        self.own.len() + usize::from(self.has_types())
    }
}

fn three_valued(members: &Object, key: &str) -> &'static str {
    match members.get(key) {
        Some(Value::Bool(true)) => "true",
        Some(Value::Bool(false)) => "false",
        _ => "",
    }
}

fn has(list: Option<&Value>, text: &str) -> bool {
    items(list).iter().any(|item| item.as_str() == Some(text))
}

impl From<Flow> for FlowForm {
    fn from(flow: Flow) -> Self {
        Self::new(body_of(&flow.into()))
    }
}

#[cfg(test)]
mod tests;

//! Reads OFAC's advanced XML (<https://sanctionslist.ofac.treas.gov>) as a stream. The file begins with
//! reference tables, then come locations, documents and parties, and last the entries that link parties to
//! programmes.

use std::io::BufRead;

use rustc_hash::{FxHashMap, FxHashSet};

use super::input::Tally;
use super::list::{ImportError, List};
use super::xml::{Step, Walker};
use crate::countries;
use crate::entity::{Entity, Gender, Identifier, IdentifierKind, PartialDate, Schema, push_unique};

/// Dataset name of the list of specially designated nationals.
pub(super) const SDN: &str = "us_ofac_sdn";
/// Dataset name of OFAC's other lists.
pub(super) const NON_SDN: &str = "us_ofac_cons";

type Id = u32;

/// Reference tables by id, which the rest of the file uses.
#[derive(Default)]
struct Tables {
    countries: FxHashMap<Id, String>,
    features: FxHashMap<Id, String>,
    documents: FxHashMap<Id, String>,
    name_parts: FxHashMap<Id, String>,
    party_kinds: FxHashMap<Id, Schema>,
    details: FxHashMap<Id, String>,
    lists: FxHashMap<Id, String>,
    /// Country of each location, as alpha-2 code.
    locations: FxHashMap<Id, String>,
    /// Identification numbers, by identity.
    numbers: FxHashMap<Id, Vec<Identifier>>,
}

/// A written name: its parts with the group that states each part's kind.
#[derive(Default)]
struct WrittenName {
    primary: bool,
    weak: bool,
    parts: Vec<(Id, String)>,
}

/// The party that is being read.
#[derive(Default)]
struct Party {
    entity: Entity,
    names: Vec<WrittenName>,
    /// Name part group → type of name part.
    groups: FxHashMap<Id, Id>,
    identities: Vec<Id>,
    feature: Id,
    dates: Dates,
    profile: Id,
}

/// A period with its first and last day, each as year, month, day.
#[derive(Default)]
struct Dates {
    approximate: bool,
    first: Option<[u16; 3]>,
    last: [u16; 3],
    current: [u16; 3],
}

pub(super) fn read(name: &str, input: impl BufRead, tally: &mut Tally) -> Result<List, ImportError> {
    let mut list = List {
        name: SDN.into(),
        ..List::default()
    };
    let mut walker = Walker::new(input);
    let mut tables = Tables::default();
    let mut path: Vec<String> = Vec::new();
    let mut party: Option<Party> = None;
    let mut state = ReaderState::default();
    loop {
        match walker.step().map_err(|reason| tally.damaged(name, reason))? {
            Step::End => break,
            Step::Open => {
                if walker.name == "DistinctParty" {
                    tally.rows += 1;
                    let mut fresh = Party::default();
                    fresh.entity.id = format!("ofac-{}", walker.attribute("FixedRef").unwrap_or(""));
                    fresh.entity.topics = vec!["sanction".into()];
                    party = Some(fresh);
                }
                match &mut party {
                    Some(party) => party.open(&walker, &tables),
                    None => state.open(&walker, &mut tables),
                }
                path.push(walker.name.clone());
            }
            Step::Close => {
                path.pop();
                let parent = path.last().map_or("", String::as_str);
                match &mut party {
                    Some(open) => open.close(parent, &walker, &tables),
                    None => state.close(parent, &walker, &mut tables, &mut list.version),
                }
                if let Some(done) = party.take_if(|_| walker.name == "DistinctParty") {
                    let profile = done.profile;
                    match done.finish(&mut tables) {
                        Ok(entity) => {
                            state.by_profile.insert(profile, list.entities.len());
                            list.entities.push(entity);
                        }
                        Err(reason) => tally.reject(tally.rows, reason),
                    }
                }
                if walker.name == "SanctionsEntry" {
                    state.finish_entry(&mut list.entities);
                }
            }
        }
    }
    let non_sdn = state
        .lists
        .iter()
        .all(|id| tables.lists.get(id).is_some_and(|l| !l.contains("SDN List")));
    if non_sdn && !state.lists.is_empty() {
        list.name = NON_SDN.into();
    }
    for entity in &mut list.entities {
        entity.datasets = vec![list.name.clone()];
    }
    Ok(list)
}

/// The state of reading outside of parties.
#[derive(Default)]
struct ReaderState {
    /// The id of the element whose text follows.
    id: Id,
    /// The current location. The next field is identity and type of the current document.
    location: Id,
    document: (Id, Id),
    /// Profile of the current entry; the fields below are its measure and programmes.
    profile: Id,
    is_program: bool,
    programs: Vec<String>,
    lists: FxHashSet<Id>,
    issued: [u16; 3],
    by_profile: FxHashMap<Id, usize>,
}

fn id<R: BufRead>(walker: &Walker<R>, attribute: &str) -> Id {
    walker
        .attribute(attribute)
        .and_then(|v| v.parse().ok())
        .unwrap_or(0)
}

impl ReaderState {
    fn open<R: BufRead>(&mut self, walker: &Walker<R>, tables: &mut Tables) {
        match walker.name.as_str() {
            "Country" => {
                self.id = id(walker, "ID");
                if let Some(code) = walker.attribute("ISO2").filter(|c| c.len() == 2) {
                    tables.countries.insert(self.id, code.to_ascii_lowercase());
                }
            }
            "PartySubType" | "FeatureType" | "IDRegDocType" | "NamePartType" | "DetailReference" | "List" => {
                self.id = id(walker, "ID");
                if walker.name == "PartySubType" {
                    let schema = match id(walker, "PartyTypeID") {
                        1 => Schema::Person,
                        2 | 5 => Schema::Organization,
                        4 => Schema::Vessel,
                        _ => Schema::Thing,
                    };
                    tables.party_kinds.insert(self.id, schema);
                }
            }
            "Location" => self.location = id(walker, "ID"),
            "LocationCountry" => {
                if let Some(code) = tables.countries.get(&id(walker, "CountryID")) {
                    tables.locations.insert(self.location, code.clone());
                }
            }
            "IDRegDocument" => self.document = (id(walker, "IdentityID"), id(walker, "IDRegDocTypeID")),
            "SanctionsEntry" => {
                self.profile = id(walker, "ProfileID");
                self.lists.insert(id(walker, "ListID"));
            }
            "SanctionsMeasure" => self.is_program = id(walker, "SanctionsTypeID") == 1,
            _ => {}
        }
    }

    fn close<R: BufRead>(
        &mut self,
        parent: &str,
        walker: &Walker<R>,
        tables: &mut Tables,
        version: &mut String,
    ) {
        let text = walker.text.as_str();
        match (parent, walker.name.as_str()) {
            ("DateOfIssue", "Year") => self.issued[0] = text.parse().unwrap_or(0),
            ("DateOfIssue", "Month") => self.issued[1] = text.parse().unwrap_or(0),
            ("DateOfIssue", "Day") => self.issued[2] = text.parse().unwrap_or(0),
            (_, "DateOfIssue") if self.issued[0] > 0 => {
                let [y, m, d] = self.issued;
                *version = format!("{y:04}-{m:02}-{d:02}");
            }
            (_, "Country") if !tables.countries.contains_key(&self.id) => {
                if let Some(code) = countries::code(text) {
                    tables.countries.insert(self.id, code);
                }
            }
            (_, "PartySubType") if text == "Aircraft" => {
                tables.party_kinds.insert(self.id, Schema::Airplane);
            }
            (_, "FeatureType") => insert(&mut tables.features, self.id, text),
            (_, "IDRegDocType") => insert(&mut tables.documents, self.id, text),
            (_, "NamePartType") => insert(&mut tables.name_parts, self.id, text),
            (_, "DetailReference") => insert(&mut tables.details, self.id, text),
            ("ListValues", "List") => insert(&mut tables.lists, self.id, text),
            ("IDRegDocument", "IDRegistrationNo") if !text.is_empty() => {
                let (identity, kind) = self.document;
                let kind = tables.documents.get(&kind).map_or("", String::as_str);
                tables
                    .numbers
                    .entry(identity)
                    .or_default()
                    .push(identifier(kind, text));
            }
            ("SanctionsMeasure", "Comment") if self.is_program => push_unique(&mut self.programs, text),
            _ => {}
        }
    }

    fn finish_entry(&mut self, entities: &mut [Entity]) {
        let programs = std::mem::take(&mut self.programs);
        if let Some(entity) = self
            .by_profile
            .get(&self.profile)
            .and_then(|i| entities.get_mut(*i))
        {
            programs.iter().for_each(|p| push_unique(&mut entity.programs, p));
        }
    }
}

fn insert(table: &mut FxHashMap<Id, String>, id: Id, text: &str) {
    table.insert(id, text.to_owned());
}

/// An identifier from the kind that OFAC states. Ship numbers begin with `IMO`.
pub(super) fn identifier(kind: &str, value: &str) -> Identifier {
    match value.strip_prefix("IMO ") {
        Some(imo) => Identifier {
            kind: IdentifierKind::Imo,
            value: imo.trim().to_owned(),
        },
        None => Identifier {
            kind: IdentifierKind::parse(kind),
            value: value.to_owned(),
        },
    }
}

impl Party {
    fn open<R: BufRead>(&mut self, walker: &Walker<R>, tables: &Tables) {
        match walker.name.as_str() {
            "Profile" => {
                self.profile = id(walker, "ID");
                let kind = tables.party_kinds.get(&id(walker, "PartySubTypeID"));
                self.entity.schema = kind.copied().unwrap_or(Schema::Thing);
            }
            "Identity" => self.identities.push(id(walker, "ID")),
            "Alias" => {
                let yes = |attribute| walker.attribute(attribute) == Some("true");
                // The documented names that follow inherit these marks.
                self.names.push(WrittenName {
                    primary: yes("Primary"),
                    weak: yes("LowQuality"),
                    parts: Vec::new(),
                });
            }
            "DocumentedName" => {
                if let Some(last) = self.names.last().filter(|n| !n.parts.is_empty()) {
                    let next = WrittenName {
                        primary: last.primary,
                        weak: last.weak,
                        parts: Vec::new(),
                    };
                    self.names.push(next);
                }
            }
            "NamePartValue" => {
                let group = id(walker, "NamePartGroupID");
                if let Some(name) = self.names.last_mut() {
                    name.parts.push((group, String::new()));
                }
            }
            "NamePartGroup" => {
                self.groups.insert(id(walker, "ID"), id(walker, "NamePartTypeID"));
            }
            "Feature" => self.feature = id(walker, "FeatureTypeID"),
            "DatePeriod" => self.dates = Dates::default(),
            "Start" | "End" => {
                self.dates.approximate |= walker.attribute("Approximate") == Some("true");
            }
            "VersionLocation" => {
                let place = tables.locations.get(&id(walker, "LocationID"));
                let feature = tables.features.get(&self.feature).map_or("", String::as_str);
                if let Some(country) = place {
                    let nationality =
                        feature.starts_with("Nationality") || feature.starts_with("Citizenship");
                    let entity = &mut self.entity;
                    let values = if nationality {
                        &mut entity.nationalities
                    } else {
                        &mut entity.countries
                    };
                    // A place of birth does not connect the subject to a country.
                    if feature != "Place of Birth" {
                        push_unique(values, country);
                    }
                }
            }
            "VersionDetail" => {
                let detail = tables.details.get(&id(walker, "DetailReferenceID"));
                let feature = tables.features.get(&self.feature).map_or("", String::as_str);
                match detail {
                    Some(detail) if feature == "Gender" => self.entity.gender = Gender::parse(detail),
                    Some(detail) => self.remark(feature, detail),
                    None => {}
                }
            }
            _ => {}
        }
    }

    fn close<R: BufRead>(&mut self, parent: &str, walker: &Walker<R>, tables: &Tables) {
        let text = walker.text.as_str();
        match (parent, walker.name.as_str()) {
            (_, "NamePartValue") => {
                if let Some((_, value)) = self.names.last_mut().and_then(|n| n.parts.last_mut()) {
                    text.clone_into(value);
                }
            }
            ("From" | "To", "Year") => self.dates.current[0] = text.parse().unwrap_or(0),
            ("From" | "To", "Month") => self.dates.current[1] = text.parse().unwrap_or(0),
            ("From" | "To", "Day") => self.dates.current[2] = text.parse().unwrap_or(0),
            ("Start" | "End", "From" | "To") => {
                let date = self.dates.current;
                self.dates.first.get_or_insert(date);
                self.dates.last = date;
            }
            (_, "DatePeriod")
                if tables
                    .features
                    .get(&self.feature)
                    .is_some_and(|f| f == "Birthdate") =>
            {
                self.entity.birth_dates.extend(self.dates.read());
            }
            (_, "VersionDetail") if !text.is_empty() => {
                let feature = tables.features.get(&self.feature).map_or("", String::as_str);
                if feature.starts_with("Digital Currency Address") {
                    push_unique(&mut self.entity.wallets, text);
                } else if identifies(feature) {
                    self.entity.identifiers.push(identifier(feature, text));
                } else {
                    self.remark(feature, text);
                }
            }
            ("DistinctParty", "Comment") => push_unique(&mut self.entity.remarks, text),
            _ => {}
        }
    }

    /// Adds a remark such as `Title: General`.
    fn remark(&mut self, feature: &str, text: &str) {
        let feature = feature.trim_end_matches([' ', '-', ':']);
        push_unique(&mut self.entity.remarks, &format!("{feature}: {text}"));
    }

    fn finish(mut self, tables: &mut Tables) -> Result<Entity, &'static str> {
        for name in std::mem::take(&mut self.names) {
            let kind = |group: &Id| {
                let kind = self.groups.get(group).and_then(|k| tables.name_parts.get(k));
                kind.map_or("", String::as_str)
            };
            let join = |family: bool| {
                let is_family = |group| matches!(kind(group), "Last Name" | "Maiden Name" | "Matronymic");
                let parts = name.parts.iter().filter(|(g, _)| is_family(g) == family);
                parts.map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" ")
            };
            let (family, given) = (join(true), join(false));
            let full = match (family.is_empty(), given.is_empty()) {
                (false, false) => format!("{family}, {given}"),
                _ => format!("{family}{given}"),
            };
            let entity = &mut self.entity;
            let values = match (name.weak, name.primary) {
                (true, _) => &mut entity.weak_aliases,
                (_, true) => &mut entity.names,
                _ => &mut entity.aliases,
            };
            push_unique(values, &full);
        }
        for identity in &self.identities {
            self.entity
                .identifiers
                .extend(tables.numbers.remove(identity).unwrap_or_default());
        }
        if self.entity.id == "ofac-" {
            return Err("no FixedRef");
        }
        if self.entity.names.is_empty() && self.entity.aliases.is_empty() {
            return Err("no name");
        }
        Ok(self.entity)
    }
}

/// Whether a feature is a number that identifies its holder.
fn identifies(feature: &str) -> bool {
    [
        "SWIFT/BIC",
        "BIK (RU)",
        "ISIN",
        "D-U-N-S",
        "Transponder",
        "Tail Number",
        "(MSN)",
        "Construction Number",
    ]
    .iter()
    .any(|n| feature.contains(n))
}

impl Dates {
    fn read(&self) -> Option<PartialDate> {
        let [y, m, d] = self.first?;
        let [last_y, last_m, last_d] = self.last;
        let whole_years = (m, d) == (1, 1) && (last_m, last_d) == (12, 31);
        if (y, m, d) == (last_y, last_m, last_d) {
            PartialDate::new(y, u8::try_from(m).ok()?, u8::try_from(d).ok()?)
        } else if y == last_y && m == last_m {
            PartialDate::new(y, u8::try_from(m).ok()?, 0)
        } else if y == last_y && whole_years && self.approximate {
            PartialDate::about(y)
        } else {
            PartialDate::span(y, last_y)
        }
    }
}

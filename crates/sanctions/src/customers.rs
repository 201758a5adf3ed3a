//! Customers in a CSV file: reads each row as a query, by the names of the columns. It searches nothing and guesses no
//! value: a row that cannot be read is an error with its line, never a customer without hits.

use std::cell::Cell;
use std::io::{BufRead, Chain, Cursor, Read};
use std::rc::Rc;

use crate::countries;
use crate::entity::{Entity, Gender, IdentifierKind, Schema};
use crate::query::{Query, QueryError, QueryIdentifier};
use crate::subject::{canonical_identifier, canonical_wallet};

/// Maximum number of bytes of a row.
const MAX_ROW: usize = 1 << 20;
/// Separators of columns. The one that the header has most often counts.
const SEPARATORS: [u8; 4] = *b",;\t|";

/// Why a file of customers cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CustomerFileError {
    /// The file is empty.
    #[error("the file has no rows: the first one must name the columns, such as id,name,dob,country")]
    Empty,
    /// No column has names.
    #[error(
        "no column has names: the first row must name a column name, first_name or last_name. Its columns are {0}"
    )]
    NoNames(String),
    /// The lines end as no current program writes them.
    #[error("the lines of the file end with a carriage return only: save it again as \"CSV UTF-8\"")]
    LineEnds,
    /// Two columns would be the same field.
    #[error("the columns {0} and {1} are the same field: rename one of them")]
    Twice(String, String),
    /// The header or a row is not text in UTF-8.
    #[error("the first row is not UTF-8: save the file as \"CSV UTF-8\"")]
    NotUtf8,
    /// A row is too long, for example because a quotation mark is not closed.
    #[error("the row from line {0} on is longer than 1 MiB: close its quotation mark")]
    TooLong(u64),
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    Read(#[from] std::io::Error),
}

/// A field of a customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Id,
    Schema,
    Name,
    FirstName,
    MiddleName,
    LastName,
    Aliases,
    Dob,
    Country,
    Nationality,
    Gender,
    Wallet,
    Number(IdentifierKind),
}

impl Field {
    /// The field of a column's name. Case, spaces and punctuation do not count.
    fn of(column: &str) -> Option<Field> {
        let key: String = column
            .chars()
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .collect();
        Some(match key.as_str() {
            "id" | "customerid" | "customernumber" | "reference" | "externaluserid" | "userid" => Field::Id,
            "schema" | "type" | "kind" | "customertype" => Field::Schema,
            "name" | "fullname" | "customername" | "company" | "companyname" | "legalname" | "entityname"
            | "organisation" | "organization" => Field::Name,
            "firstname" | "givenname" | "givennames" | "forename" | "forenames" => Field::FirstName,
            "middlename" | "middlenames" | "secondname" => Field::MiddleName,
            "lastname" | "surname" | "familyname" => Field::LastName,
            "alias" | "aliases" | "othernames" | "aka" => Field::Aliases,
            "dob" | "dateofbirth" | "birthdate" | "birthday" => Field::Dob,
            "country" | "countryofresidence" | "residence" | "countrycode" => Field::Country,
            "nationality" | "citizenship" => Field::Nationality,
            "gender" | "sex" => Field::Gender,
            "wallet" | "walletaddress" | "cryptoaddress" => Field::Wallet,
            other => Field::Number(number_of(other)?),
        })
    }

    fn is_name(self) -> bool {
        matches!(self, Field::Name | Field::FirstName | Field::LastName)
    }
}

/// The kind of number of a column. The words are whole, because a column such as "Company" has names.
fn number_of(key: &str) -> Option<IdentifierKind> {
    Some(match key {
        "passport" | "passportnumber" | "passportno" => IdentifierKind::Passport,
        "idnumber" | "idcard" | "idcardnumber" | "nationalid" | "nationalidnumber" => {
            IdentifierKind::NationalId
        }
        "taxnumber" | "taxid" | "tin" | "vat" | "vatnumber" | "vatid" | "fiscalcode" => IdentifierKind::Tax,
        "registrationnumber"
        | "registrationno"
        | "companynumber"
        | "companyregistrationnumber"
        | "registrynumber" => IdentifierKind::Registration,
        "lei" | "leicode" => IdentifierKind::Lei,
        "isin" | "isincode" => IdentifierKind::Isin,
        "bic" | "swift" | "swiftbic" | "bankcode" => IdentifierKind::Bic,
        "imo" | "imonumber" => IdentifierKind::Imo,
        "inn" | "inncode" => IdentifierKind::Inn,
        "ogrn" | "ogrncode" => IdentifierKind::Ogrn,
        "identifier" | "number" | "documentnumber" => IdentifierKind::Other,
        _ => return None,
    })
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct Customer {
    /// The line on which the row begins, from 1.
    pub line: u64,
    /// The caller's id; empty without one.
    pub id: String,
    /// The name to display; empty if the row has none.
    pub name: String,
    /// The query, or why the row cannot be screened.
    pub query: Result<Query, String>,
    /// The columns whose value the search does not use because it cannot be read. A listing that differs in it is not
    /// ruled out, and one that agrees scores a little less.
    pub unused: Vec<String>,
}

/// Reads customers one by one.
pub struct CustomerReader<R> {
    rows: csv::Reader<Limited<R>>,
    row: csv::ByteRecord,
    /// Bytes since the last row, shared with the input.
    bytes: Rc<Cell<usize>>,
    columns: Vec<(String, Option<Field>)>,
    separator: u8,
}

/// An input that fails if a row is too long.
struct Limited<R> {
    input: R,
    bytes: Rc<Cell<usize>>,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.bytes.set(self.bytes.get() + read);
        match self.bytes.get() > MAX_ROW + (1 << 16) {
            true => Err(std::io::ErrorKind::FileTooLarge.into()),
            false => Ok(read),
        }
    }
}

/// The header that was read ahead, the rest of the file, and the end of its last line.
type Whole<R> = Chain<Chain<Cursor<Vec<u8>>, R>, &'static [u8]>;

impl<R: BufRead> CustomerReader<Whole<R>> {
    /// Reads the header.
    ///
    /// # Errors
    /// When there is none, or none of its columns has something to search.
    pub fn new(mut input: R) -> Result<Self, CustomerFileError> {
        let mut first = Vec::new();
        // The header is read ahead to find the separator.
        (&mut input).take(MAX_ROW as u64).read_until(b'\n', &mut first)?;
        if first.len() == MAX_ROW {
            return Err(CustomerFileError::TooLong(1));
        }
        let text = first
            .strip_prefix("\u{feff}".as_bytes())
            .unwrap_or(&first)
            .to_vec();
        if text.trim_ascii_end().contains(&b'\r') {
            return Err(CustomerFileError::LineEnds);
        }
        let count = |separator: &u8| text.iter().filter(|byte| *byte == separator).count();
        let separator = SEPARATORS.into_iter().rev().max_by_key(count).unwrap_or(b',');
        let bytes = Rc::<Cell<usize>>::default();
        let input = Limited {
            input: Cursor::new(text).chain(input).chain(&b"\n"[..]),
            bytes: Rc::clone(&bytes),
        };
        let mut rows = csv::ReaderBuilder::new()
            .delimiter(separator)
            // A carriage return before it is trimmed with the cell.
            .terminator(csv::Terminator::Any(b'\n'))
            .has_headers(false)
            .flexible(true)
            .from_reader(input);
        let mut row = csv::ByteRecord::new();
        if !rows.read_byte_record(&mut row).map_err(|error| fault(error, 1))? {
            return Err(CustomerFileError::Empty);
        }
        let names = row.iter().map(|name| std::str::from_utf8(name).map(str::trim));
        let names: Vec<&str> = names
            .collect::<Result<_, _>>()
            .map_err(|_| CustomerFileError::NotUtf8)?;
        let columns: Vec<(String, Option<Field>)> =
            names.iter().map(|name| (short(name), Field::of(name))).collect();
        for (at, (name, field)) in columns.iter().enumerate() {
            let is_single = !matches!(field, None | Some(Field::Number(_)));
            let earlier = columns
                .iter()
                .take(at)
                .find(|(_, other)| is_single && other == field);
            if let Some((earlier, _)) = earlier {
                return Err(CustomerFileError::Twice(earlier.clone(), name.clone()));
            }
        }
        if !columns.iter().any(|(_, field)| field.is_some_and(Field::is_name)) {
            let names: Vec<String> = columns.into_iter().map(|(name, _)| name).take(20).collect();
            return Err(CustomerFileError::NoNames(names.join(", ")));
        }
        Ok(CustomerReader {
            rows,
            row,
            bytes,
            columns,
            separator,
        })
    }
}

impl<R: Read> CustomerReader<R> {
    /// The columns whose names mean nothing here. They are not read.
    pub fn ignored_columns(&self) -> impl Iterator<Item = &str> {
        let ignored = self.columns.iter().filter(|(_, field)| field.is_none());
        ignored.map(|(name, _)| name.as_str())
    }

    fn customer(&self, line: u64) -> Customer {
        let mut customer = Customer {
            line,
            id: String::new(),
            name: String::new(),
            query: Ok(Query::default()),
            unused: Vec::new(),
        };
        let mut cells = Vec::with_capacity(self.row.len());
        for cell in &self.row {
            match std::str::from_utf8(cell) {
                // A file in UTF-16 has them in every cell.
                Ok(text) if !text.contains('\0') => cells.push(text.trim()),
                _ => {
                    customer.query = Err("is not UTF-8: save the file as \"CSV UTF-8\"".to_owned());
                    return customer;
                }
            }
        }
        let cell = |wanted: Field| {
            let place = self
                .columns
                .iter()
                .position(|(_, field)| *field == Some(wanted))?;
            cells.get(place).copied().filter(|text| !text.is_empty())
        };
        customer.id = cell(Field::Id).map(short).unwrap_or_default();
        let given: Vec<&str> = [Field::FirstName, Field::MiddleName]
            .into_iter()
            .filter_map(cell)
            .collect();
        let parts = given
            .iter()
            .copied()
            .chain(cell(Field::LastName))
            .collect::<Vec<_>>();
        customer.name = cell(Field::Name).map_or_else(|| short(&parts.join(" ")), short);
        if cells.len() != self.columns.len() {
            let columns = self.columns.len();
            customer.query = Err(format!("has {} fields below a header of {columns}", cells.len()));
            return customer;
        }
        if self.is_torn() {
            let text = "has a cell of several lines: write it on one line, or close its quotation mark";
            customer.query = Err(text.to_owned());
            return customer;
        }
        let some = |text: Option<&str>| text.map(str::to_owned);
        let mut query = Query {
            name: some(cell(Field::Name)),
            first_name: (!given.is_empty()).then(|| given.join(" ")),
            last_name: some(cell(Field::LastName)),
            wallet: some(cell(Field::Wallet)),
            ..Query::default()
        };
        let aliases = cell(Field::Aliases).into_iter().flat_map(|text| text.split(';'));
        query.aliases = aliases
            .map(|alias| alias.trim().to_owned())
            .filter(|alias| !alias.is_empty())
            .collect();
        let mut unused = |field: Field, text: Option<&str>, is_read: bool| {
            if text.is_some() && !is_read {
                let column = self.columns.iter().find(|(_, known)| *known == Some(field));
                customer.unused.extend(column.map(|(name, _)| name.clone()));
            }
            some(text.filter(|_| is_read))
        };
        let country = |text: Option<&str>| text.is_some_and(|text| countries::code(text).is_some());
        let (dob, residence) = (cell(Field::Dob), cell(Field::Country));
        query.dob = some(dob);
        query.country = unused(Field::Country, residence, country(residence));
        let nationality = cell(Field::Nationality);
        query.nationality = unused(Field::Nationality, nationality, country(nationality));
        let gender = cell(Field::Gender);
        query.gender = unused(Field::Gender, gender, gender.and_then(Gender::parse).is_some());
        let schema = cell(Field::Schema);
        query.schema = match schema.map(kind_of) {
            Some(None) => {
                unused(Field::Schema, schema, false);
                Some(Schema::Thing.as_str().to_owned())
            }
            Some(Some(kind)) => Some(kind.as_str().to_owned()),
            None => None,
        };
        for (place, (_, field)) in self.columns.iter().enumerate() {
            if let (Some(Field::Number(kind)), Some(text)) =
                (field, cells.get(place).filter(|text| !text.is_empty()))
            {
                query.identifiers.push(QueryIdentifier {
                    kind: kind.property().to_owned(),
                    value: (*text).to_owned(),
                });
            }
        }
        let is_blank = |text: &str| !text.chars().any(char::is_alphanumeric);
        for (place, (column, field)) in self.columns.iter().enumerate() {
            let text = cells.get(place).filter(|text| !text.is_empty());
            if field.is_some_and(Field::is_name) && text.is_some_and(|text| is_blank(text)) {
                customer.unused.push(column.clone());
            }
        }
        customer.query = match query.to_entity() {
            Ok(entity) if !is_searchable(&entity) => Err(QueryError::Empty.to_string()),
            Ok(_) => Ok(query),
            Err(error) => Err(error.to_string()),
        };
        customer
    }

    /// Whether a cell of the row has several lines that may be rows of their own, because a quotation mark is not closed:
    /// it is read, or its further lines have separators.
    fn is_torn(&self) -> bool {
        let columns = self.columns.iter().map(|(_, field)| field.is_some());
        self.row.iter().zip(columns).any(|(cell, is_read)| {
            let further = cell
                .iter()
                .position(|byte| *byte == b'\n')
                .and_then(|at| cell.get(at..));
            further
                .is_some_and(|further| is_read || cell.ends_with(b"\n") || further.contains(&self.separator))
        })
    }
}

impl<R: Read> Iterator for CustomerReader<R> {
    type Item = Result<Customer, CustomerFileError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.bytes.set(0);
            let begins = self.rows.position().line();
            match self.rows.read_byte_record(&mut self.row) {
                Ok(false) => return None,
                Err(error) => return Some(Err(fault(error, begins))),
                // Spreadsheet programs leave blank rows.
                Ok(true) if self.row.iter().all(|cell| cell.trim_ascii().is_empty()) => {}
                Ok(true) => {
                    // Blank lines before the row are read with it, so its line is counted from its end.
                    let cells = self.row.iter();
                    let within: usize = cells
                        .map(|cell| cell.iter().filter(|byte| **byte == b'\n').count())
                        .sum();
                    let end = self.rows.position().line();
                    return Some(Ok(self.customer(end.saturating_sub(1 + within as u64))));
                }
            }
        }
    }
}

fn fault(error: csv::Error, line: u64) -> CustomerFileError {
    match error.into_kind() {
        csv::ErrorKind::Io(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
            CustomerFileError::TooLong(line)
        }
        csv::ErrorKind::Io(error) => CustomerFileError::Read(error),
        other => CustomerFileError::Read(std::io::Error::other(format!("{other:?}"))),
    }
}

/// Whether an entity has something to find it by: a name with letters, or a number or wallet of usual length.
fn is_searchable(entity: &Entity) -> bool {
    let is_name = |text: &String| text.chars().any(char::is_alphanumeric);
    let mut names = entity.names.iter().chain(&entity.aliases);
    let mut numbers = entity.identifiers.iter();
    names.any(is_name)
        || numbers.any(|number| canonical_identifier(&number.value).is_some())
        || entity
            .wallets
            .iter()
            .any(|wallet| canonical_wallet(wallet).is_some())
}

/// The kind of customer that a cell states.
fn kind_of(text: &str) -> Option<Schema> {
    match text.to_lowercase().as_str() {
        "person" | "individual" | "natural person" => Some(Schema::Person),
        "company" | "business" | "corporate" => Some(Schema::Company),
        "organization" | "organisation" | "entity" | "legal entity" | "legalentity" => {
            Some(Schema::LegalEntity)
        }
        "vessel" | "ship" => Some(Schema::Vessel),
        _ => Schema::from_ftm(text),
    }
}

/// The beginning of a text, to display.
fn short(text: &str) -> String {
    let printable = |c: char| if c.is_control() { ' ' } else { c };
    text.trim().chars().take(200).map(printable).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &[u8]) -> Result<Vec<Customer>, CustomerFileError> {
        CustomerReader::new(text)?.collect()
    }

    #[test]
    fn columns_are_found_by_their_names() {
        let file = "\u{feff}Customer ID;First name;Middle Name;SURNAME;Date of birth;Nationality;Passport number;E-mail\r\n\
                    7;Tamsin;Iris;Velloway;1991-03-14;France;X 123;t@example.com\r\n\r\n\
                    8;;;Quorzle;1991;Atlantis;;\r\n";
        let reader = CustomerReader::new(file.as_bytes()).unwrap();
        assert_eq!(reader.ignored_columns().collect::<Vec<_>>(), ["E-mail"]);
        let customers = read(file.as_bytes()).unwrap();
        let [first, second] = &customers[..] else {
            panic!("{customers:?}")
        };
        assert_eq!(
            (first.line, first.id.as_str(), first.name.as_str()),
            (2, "7", "Tamsin Iris Velloway")
        );
        let query = first.query.as_ref().unwrap();
        assert_eq!(query.first_name.as_deref(), Some("Tamsin Iris"));
        assert_eq!(query.dob.as_deref(), Some("1991-03-14"));
        assert_eq!(query.identifiers[0].kind, "passportNumber");
        assert!(first.unused.is_empty());
        // What cannot be read is named and not used.
        assert_eq!(
            (second.line, &second.unused[..]),
            (4, &["Nationality".to_owned()][..])
        );
        let query = second.query.as_ref().unwrap();
        assert_eq!((query.dob.as_deref(), &query.nationality), (Some("1991"), &None));
    }

    #[test]
    fn kinds_aliases_and_wallets_are_read() {
        let file = "name,type,aliases,wallet,imo\nQuorzle Ltd,company,Q Ltd; Quorzle,,\n,,,0x098B716B8Aaf21512996dC57EB0615e2383E2f96,\n\
                    Zephyr,ship,,,9074729\n";
        let customers = read(file.as_bytes()).unwrap();
        let queries: Vec<&Query> = customers
            .iter()
            .map(|customer| customer.query.as_ref().unwrap())
            .collect();
        assert_eq!(queries[0].schema.as_deref(), Some("Company"));
        assert_eq!(queries[0].aliases, ["Q Ltd", "Quorzle"]);
        assert!(queries[1].wallet.is_some() && queries[1].name.is_none());
        assert_eq!(
            (
                queries[2].schema.as_deref(),
                queries[2].identifiers[0].kind.as_str()
            ),
            (Some("Vessel"), "imoNumber")
        );
    }

    #[test]
    fn rows_that_cannot_be_screened_say_why() {
        let file = b"id,name,country\n1,Ann\n2,,France\n3,\xc9mile Zola,FR\n4,Ann,DE\n";
        let customers = read(file).unwrap();
        let reasons: Vec<(&str, Option<&String>)> = customers
            .iter()
            .map(|customer| (customer.id.as_str(), customer.query.as_ref().err()))
            .collect();
        assert_eq!(reasons[0].0, "1");
        assert!(reasons[0].1.unwrap().contains("2 fields below a header of 3"));
        assert!(reasons[1].1.unwrap().contains("nothing to screen"));
        assert!(reasons[2].1.unwrap().contains("UTF-8"));
        assert_eq!(reasons[3], ("4", None));
        assert_eq!(
            customers.iter().map(|customer| customer.line).collect::<Vec<_>>(),
            [2, 3, 4, 5]
        );
    }

    #[test]
    fn unusable_files_say_why() {
        let long = format!("name\n\"{}", "x".repeat(2 * MAX_ROW));
        for (file, part) in [
            (&b""[..], "no rows"),
            (b"id,e-mail\n1,x\n", "columns are id, e-mail"),
            (b"Customer,Passport no\nAnn,X1\n", "no column has names"),
            (b"name,dob\rAnn,1990\r", "carriage return"),
            (b"name,full name\na,b\n", "name and full name"),
            (b"name,\xc9ge\n", "UTF-8"),
            (long.as_bytes(), "line 2"),
        ] {
            let error = read(file).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn nothing_that_was_not_searched_is_a_customer_without_hits() {
        for (file, reasons) in [
            // Names of columns are whole words: these have names and no numbers.
            ("Company,country\nQuorzle Ltd,DE\n", &[""][..]),
            ("Legal name\nQuorzle Ltd\n", &[""]),
            (
                "name\n-\n?\n...\nAnn\n",
                &["nothing to screen", "nothing to screen", "nothing to screen", ""],
            ),
            (
                "name,passport,wallet\n,none,n/a\n,0000,\n,X1234567,\n",
                &["nothing to screen", "nothing to screen", ""],
            ),
            (
                "name,dob\nAnn,14.03.1991\nBo,1991\n",
                &["dob - expected YYYY-MM-DD", ""],
            ),
            // A quotation mark that is not closed takes the rows after it with it.
            (
                "id,name,note\n7,Ann,\"called\n8,Bo,x\n9,Cy,y\n",
                &["close its quotation mark"],
            ),
            (
                "id,name,note\n7,Ann,\"called\n8,Bo,x\"\n9,Cy,y\n",
                &["close its quotation mark", ""],
            ),
            ("name\n\"Ann\nBo\"\nCy\n", &["close its quotation mark", ""]),
            ("name\n\"Ann\nBo\n", &["close its quotation mark"]),
            ("name,note\nAnn,\"two\nlines\"\n", &[""]),
            ("id,name\nx,A\0n\0n\0\n", &["UTF-8"]),
        ] {
            let customers = read(file.as_bytes()).unwrap();
            assert_eq!(customers.len(), reasons.len(), "{file:?}: {customers:?}");
            for (customer, reason) in customers.iter().zip(reasons) {
                let found = customer.query.as_ref().err().map_or("", String::as_str);
                assert!(
                    found.contains(reason) && found.is_empty() == reason.is_empty(),
                    "{file:?}: {customer:?}"
                );
            }
        }
        let unused = &read(b"name,passport\n-,X1234567\n").unwrap()[0].unused;
        assert_eq!(unused[..], ["name"]);
        let kind = |file: &[u8]| read(file).unwrap()[0].query.as_ref().unwrap().schema.clone();
        assert_eq!(
            kind(b"first_name,type\nAnn,Corporation\n").as_deref(),
            Some("Thing")
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(rows in prop::collection::vec(any::<u8>(), 0..300), header in "(name|dob|id|type|;|,|\n|\"){0,8}") {
            let mut file = header.into_bytes();
            file.extend(rows);
            let _ = read(&file);
        }
    }
}

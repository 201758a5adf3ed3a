//! `mrz.tsv`: which zone is printed in each picture of a folder.

use crate::cli::errors::Unusable;

/// A picture and the zone printed in it.
#[derive(Debug, PartialEq)]
pub(super) struct Row {
    /// Its file in the folder `mrz`.
    pub(super) file: String,
    /// The zone's lines as printed.
    pub(super) lines: Vec<String>,
    /// Whether the printed check digits are correct.
    pub(super) valid: bool,
    /// The box around the zone, if the table states it: left, top, width and height in pixels.
    pub(super) zone: Option<[f32; 4]>,
    /// The field whose print a forger has edited, if the table states one.
    pub(super) edited: Option<String>,
}

/// The rows of `mrz.tsv`.
pub(super) fn rows(table: &str) -> anyhow::Result<Vec<Row>> {
    let mut lines = table.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let column = |name: &str| {
        let found = header.iter().position(|column| *column == name);
        found.ok_or_else(|| Unusable(format!("the first line has no column `{name}`")))
    };
    let (file, expected, digits) = (column("file")?, column("expected")?, column("check_digits")?);
    let (zone, edited) = (column("zone").ok(), column("edited").ok());
    lines
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let cell = |at: usize| {
                cells
                    .get(at)
                    .copied()
                    .ok_or_else(|| Unusable(format!("too few columns: {line}")))
            };
            Ok(Row {
                file: cell(file)?.to_owned(),
                lines: cell(expected)?.split('|').map(str::to_owned).collect(),
                valid: cell(digits)?.starts_with("all valid"),
                zone: zone.map(|zone| box_of(cell(zone)?)).transpose()?,
                edited: edited
                    .map(cell)
                    .transpose()?
                    .filter(|field| !field.is_empty())
                    .map(str::to_owned),
            })
        })
        .collect()
}

/// A box from `left,top,width,height`.
fn box_of(text: &str) -> Result<[f32; 4], Unusable> {
    let numbers: Option<Vec<f32>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    let numbers: Option<[f32; 4]> = numbers.and_then(|numbers| numbers.try_into().ok());
    numbers.ok_or_else(|| Unusable(format!("`zone` is not left,top,width,height in pixels: {text}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "file\tlicence\texpected\tcheck_digits\n\
                         a.png\tx\tA<|B<\tall valid\nb.png\tx\tC<\tall valid (old layout)\nc.png\tx\tD<\tBAD: dob\n\n";

    #[test]
    fn the_table_is_read_by_its_header() {
        let rows = rows(TABLE).unwrap();
        assert_eq!(rows.len(), 3);
        assert_eq!(
            (rows[0].lines.as_slice(), rows[0].valid),
            (["A<".to_owned(), "B<".to_owned()].as_slice(), true)
        );
        assert!(!rows[2].valid);
        assert_eq!(rows[0].zone, None);
        let with_zone = "file\texpected\tcheck_digits\tzone\na\tA<\tall valid\t1,2,30,4\n";
        assert_eq!(
            super::rows(with_zone).unwrap()[0].zone,
            Some([1.0, 2.0, 30.0, 4.0])
        );
        let with_edit =
            "file\texpected\tcheck_digits\tedited\na\tA<\tall valid\tbirthDate\nb\tA<\tall valid\t\n";
        let edited = super::rows(with_edit).unwrap();
        assert_eq!(
            (edited[0].edited.as_deref(), edited[1].edited.as_deref()),
            (Some("birthDate"), None)
        );
        for (table, text) in [
            ("", "`file`"),
            ("file\texpected\n", "`check_digits`"),
            ("file\texpected\tcheck_digits\na\n", "too few"),
            (
                "file\texpected\tcheck_digits\tzone\na\tA<\tall valid\t1,2,3\n",
                "`zone`",
            ),
        ] {
            assert!(
                super::rows(table).unwrap_err().to_string().contains(text),
                "{table}"
            );
        }
    }
}

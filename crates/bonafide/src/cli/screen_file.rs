//! `bonafide screen --batch --csv`: screens a CSV file of customers. It prints one row for each customer, and writes a
//! report for people to read.

use std::io::{BufRead, Write as _};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use portal::csv::harmless;
use portal::screening_report::{AboutReport, ScreeningReport};
use sanctions::customer_results::{COLUMNS, OutcomeCounts, ScreenedCustomer};
use sanctions::customers::{Customer, CustomerReader};
use sanctions::{ListStatus, ScreenOptions, Screener};

use super::eval::parallel;
use super::output::note;

/// Customers that are screened at once, in their order.
const CHUNK: usize = 1_024;
/// The pause between two lines of progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(2);

/// What to screen.
pub(super) struct Request {
    /// The file to name in the report.
    pub(super) name: String,
    /// Where to write the report.
    pub(super) report: Option<PathBuf>,
    /// The lowest score of a hit.
    pub(super) options: ScreenOptions,
}

/// Screens the customers of a CSV file.
///
/// # Errors
/// When the file has no usable header or breaks off, or the output cannot be written.
pub(super) fn run(
    screener: &Screener,
    lists: &[ListStatus],
    input: impl BufRead,
    output: impl std::io::Write,
    request: Request,
) -> anyhow::Result<()> {
    let mut reader = CustomerReader::new(input)?;
    let ignored = reader.ignored_columns().collect::<Vec<_>>().join(", ");
    if !ignored.is_empty() {
        note!("Columns without meaning for a screening: {ignored}");
    }
    let mut table = csv::Writer::from_writer(output);
    table.write_record(COLUMNS)?;
    let mut report = ScreeningReport::default();
    let (begun, mut said) = (Instant::now(), Instant::now());
    loop {
        let chunk: Vec<Customer> = reader.by_ref().take(CHUNK).collect::<Result<_, _>>()?;
        if chunk.is_empty() {
            break;
        }
        for screened in screen(screener, &request.options, &chunk)? {
            table.write_record(screened.row().iter().map(|cell| harmless(cell)))?;
            report.add(screened);
        }
        table.flush()?;
        if said.elapsed() > PROGRESS_EVERY {
            said = Instant::now();
            note!("{}", progress(&report.counts(), begun.elapsed()));
        }
    }
    let counts = report.counts();
    note!("{}", progress(&counts, begun.elapsed()));
    for (column, rows) in report.unused() {
        note!("{column}: {rows} rows have a value that cannot be read and was not used");
    }
    if counts.not_screened > 0 {
        note!(
            "bonafide: {} customers were NOT screened; their rows say why",
            counts.not_screened
        );
    }
    let Some(path) = &request.report else {
        return Ok(());
    };
    let page = report.render(&AboutReport {
        file: &request.name,
        threshold: request.options.threshold,
        profile: request.options.profile,
        lists,
        ignored: &ignored,
    })?;
    write_private(path, page.as_bytes()).with_context(|| format!("{} cannot be written", path.display()))
}

fn screen(
    screener: &Screener,
    options: &ScreenOptions,
    chunk: &[Customer],
) -> anyhow::Result<Vec<ScreenedCustomer>> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    parallel::each(chunk.len(), threads, |place| {
        let customer = chunk.get(place).cloned();
        Ok(customer.map(|customer| ScreenedCustomer::new(screener, options, customer)))
    })
}

fn progress(counts: &OutcomeCounts, time: Duration) -> String {
    let OutcomeCounts {
        all,
        matches,
        hits,
        clear,
        not_screened,
    } = counts;
    let rate = *all as f64 / time.as_secs_f64().max(0.001);
    format!(
        "{all} customers ({rate:.0} a second): {matches} with matches, {hits} with other hits, {clear} clear, \
         {not_screened} not screened"
    )
}

/// Writes a file that only its owner may read, because it has personal data. An existing one is replaced.
fn write_private(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use sanctions::demo_list;

    use super::*;

    fn screened(file: &str) -> (String, String) {
        let list = demo_list();
        let screener = Screener::new([list]);
        let folder = tempfile::tempdir().unwrap();
        let report = folder.path().join("report.html");
        let mut table = Vec::new();
        let request = Request {
            name: "customers <1>.csv".into(),
            report: Some(report.clone()),
            options: ScreenOptions::default(),
        };
        run(&screener, &[], file.as_bytes(), &mut table, request).unwrap();
        (
            String::from_utf8(table).unwrap(),
            std::fs::read_to_string(report).unwrap(),
        )
    }

    #[test]
    fn each_customer_has_a_row_and_the_report_shows_what_to_look_at() {
        let listed = demo_list().entities[0].names[0].clone();
        let (table, report) = screened(&format!(
            "id,name,country,note\n1,{listed},,x\n2,Ferdinand Okonkwo-Vandermeer,Atlantis,\n3,,,\n=4,<b>Ann</b> Velloway,DE,\n"
        ));
        let rows: Vec<&str> = table.lines().collect();
        assert_eq!(rows.len(), 5);
        assert!(
            rows[1].starts_with("2,1,") && rows[1].contains(",match,"),
            "{table}"
        );
        assert!(rows[2].contains(",clear,0,"), "{table}");
        assert!(
            rows[3].starts_with("4,3,,not-screened,0,") && rows[3].contains("nothing to screen"),
            "{table}"
        );
        assert!(rows[4].starts_with("5,'=4,"), "{table}");
        for part in [
            &listed,
            "customers &#60;1&#62;.csv",
            "nothing to screen",
            "note",
            "country",
        ] {
            assert!(report.contains(part), "{part} is missing:\n{report}");
        }
        assert!(
            !report.contains("<b>Ann") && !report.contains("Okonkwo"),
            "{report}"
        );
    }

    #[test]
    fn a_file_without_a_name_is_refused() {
        let screener = Screener::new([demo_list()]);
        let request = Request {
            name: String::new(),
            report: None,
            options: ScreenOptions::default(),
        };
        let error = run(&screener, &[], &b"e-mail\nx\n"[..], Vec::new(), request).unwrap_err();
        assert!(error.to_string().contains("no column has names"), "{error}");
    }
}

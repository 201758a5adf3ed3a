//! Classifies every command by the acts that it can perform. The command line only proposes and is never the
//! second person. The test fails for a command that is not classified here.

use std::collections::BTreeSet;

use clap::CommandFactory;
use verification::four_eyes::{Act, FourEyesScope, needs_second_person};

use super::Cli;

/// A command with its subcommand, and the acts that it can perform. An empty list means that the command lets
/// no further applicant pass.
type Row = (&'static str, &'static [Act]);

const COMMANDS: &[Row] = &[
    ("review list", &[]),
    ("review approve", &[Act::Approve]),
    ("review decline", &[Act::Decline]),
    ("review reopen", &[Act::Reopen, Act::ReopenDeclined]),
    ("merchant set", &[Act::WeakenAccount]),
    ("flow create", &[Act::MakeFlow]),
    ("flow update", &[Act::WeakenFlow]),
    ("lists remove", &[Act::RemoveList]),
    // The import of a version that lost most of its entities. The list's own guard refuses one that lost more
    // than a few.
    ("lists import", &[Act::RemoveList]),
    ("lists update", &[Act::RemoveList]),
    // The earlier version may lack entities of the one in use.
    ("lists rollback", &[Act::RemoveList]),
    ("lists diff", &[]),
    ("lists status", &[]),
    // These create logins, which count only after a colleague confirms them.
    ("portal invite", &[Act::CountMember]),
    ("portal password-link", &[Act::CountMember]),
    ("portal operator-link", &[]),
    // Accounts and keys, which alone let no applicant pass.
    ("merchant create", &[]),
    ("merchant approve", &[]),
    ("merchant suspend", &[]),
    ("merchant keys", &[]),
    ("merchant list", &[]),
    ("merchant show", &[]),
    // It prints keys of no installation.
    ("keys generate", &[]),
    ("keys rotate", &[]),
    ("keys rewrap", &[]),
    ("keys status", &[]),
    // Wallet scores decide about no applicant.
    ("labels import", &[]),
    ("labels remove", &[]),
    ("labels status", &[]),
    ("monitoring list", &[]),
    ("monitoring profile", &[]),
    ("monitoring replay", &[]),
    ("chain ingest", &[]),
    ("chain status", &[]),
    ("score", &[]),
    ("check-address", &[]),
    ("webhook list", &[]),
    ("webhook resend", &[]),
    ("webhook test", &[]),
    ("webhook secret", &[]),
    ("webhook rotate", &[]),
    ("audit verify", &[]),
    ("faces reindex", &[]),
    // Whoever may write the models folder chooses the engines of the whole installation, as with the program itself.
    ("models add", &[]),
    ("models list", &[]),
    ("models calibrate", &[]),
    ("models use", &[]),
    ("models remove", &[]),
    // A data-subject right. An erased person who returns is checked again.
    ("erase", &[]),
    // A restored installation has the settings and decisions of its backup, which its own key signed.
    ("backup", &[]),
    ("backup generate-key", &[]),
    ("backup verify", &[]),
    ("restore", &[]),
    ("repeat-erasures", &[]),
    ("migrate-database", &[]),
    ("serve", &[]),
    ("doctor", &[]),
    ("migrate", &[]),
    ("read-document", &[]),
    ("detect-faces", &[]),
    ("compare-faces", &[]),
    ("check-liveness", &[]),
    ("screen", &[]),
    ("parse-aamva", &[]),
    ("eval", &[]),
    // Invented applicants in a sandbox.
    ("generate", &[]),
    ("engine-worker", &[]),
];

/// All commands of the command line, each with its direct subcommand if it has one.
fn commands() -> BTreeSet<String> {
    let cli = Cli::command();
    let whole: &[&str] = &["eval", "serve"];
    cli.get_subcommands()
        .flat_map(|command| {
            let name = command.get_name().to_owned();
            let below: Vec<String> = command
                .get_subcommands()
                .filter(|_| !whole.contains(&name.as_str()))
                .map(|below| format!("{name} {}", below.get_name()))
                .collect();
            let is_complete = below.is_empty() || command.get_arguments().any(clap::Arg::is_positional);
            is_complete.then_some(name).into_iter().chain(below)
        })
        .collect()
}

#[test]
fn no_command_lets_anybody_pass_alone() {
    let commands = commands();
    let known: BTreeSet<String> = COMMANDS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(commands, known, "say above which act each command is");
    let state = FourEyesScope {
        account: true,
        flow: true,
        any_flow: true,
    };
    for (name, acts) in COMMANDS {
        for act in acts.iter().filter(|act| act.lets_pass()) {
            assert!(needs_second_person(*act, state), "{name} {act:?}");
        }
    }
}

//! Classifies every command by the act that it may be. The command line proposes and is never the second
//! person. A command that is not classified here fails the test.

use std::collections::BTreeSet;

use clap::CommandFactory;
use verification::four_eyes::{Act, State, needs_second};

use super::Cli;

/// A command with its subcommand, and the acts that it may be; empty: it lets no applicant pass who would not
/// have passed before.
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
    // A version that lost most of its entities; the list's own guard refuses one that lost more than a few.
    ("lists import", &[Act::RemoveList]),
    ("lists status", &[]),
    // Both create logins, which count when a colleague confirms them.
    ("portal invite", &[Act::CountMember]),
    ("portal password-link", &[Act::CountMember]),
    ("portal operator-link", &[]),
    // Accounts and keys: no applicant passes by them alone.
    ("merchant create", &[]),
    ("merchant approve", &[]),
    ("merchant suspend", &[]),
    ("merchant keys", &[]),
    ("merchant list", &[]),
    ("merchant show", &[]),
    ("keys rotate", &[]),
    ("keys rewrap", &[]),
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
    // A right of the person. A person who returns is checked again.
    ("erase", &[]),
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
    // Invented applicants of a sandbox.
    ("generate", &[]),
    ("decode-worker", &[]),
];

/// The commands that clap knows, with their first subcommand.
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
            if below.is_empty() { vec![name] } else { below }
        })
        .collect()
}

#[test]
fn no_command_lets_anybody_pass_alone() {
    let commands = commands();
    let known: BTreeSet<String> = COMMANDS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(commands, known, "say above which act each command is");
    let state = State {
        account: true,
        flow: true,
        any_flow: true,
    };
    for (name, acts) in COMMANDS {
        for act in acts.iter().filter(|act| act.lets_pass()) {
            assert!(needs_second(*act, state), "{name} {act:?}");
        }
    }
}

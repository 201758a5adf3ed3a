//! The command line: one module a command, each thin. Formats that scripts rely on are those of the operator guide's
//! "Command line" chapter; exit status 0 = every line answered, 2 = unusable arguments, 1 = could not do its work.

mod audit;
mod chain;
mod data;
mod decode_worker;
mod demo;
mod doctor;
mod engines;
mod erase;
mod errors;
mod eval;
mod faces;
mod flow;
mod generate;
mod keys;
mod labels;
mod lists;
mod merchant;
mod monitoring;
mod output;
mod portal;
mod review;
mod runtime;
mod score;
mod serve;
mod webhook;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use service::config::{DataConfig, ServeConfig};

use self::errors::Unusable;
use self::runtime::block_on;

/// Self-hosted identity verification and screening.
#[derive(Parser)]
#[command(name = "bonafide", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server.
    Serve(Box<ServeConfig>),
    /// Look at everything the server needs and say what to do about what is wrong.
    Doctor(Box<doctor::Doctor>),
    /// Bring the database's schema up to date (PostgreSQL; SQLite does so at every start).
    Migrate(DataConfig),
    /// Create, approve, suspend and configure merchants.
    Merchant(merchant::MerchantCommand),
    /// One-time links into the portal.
    Portal(portal::PortalCommand),
    /// Create and update Flows (until the portal does).
    Flow(flow::FlowCommand),
    /// Decide attempts that wait for a person (until the portal does).
    Review(review::ReviewCommand),
    /// Webhook secrets, test messages, deliveries and their replay (until the portal has them).
    Webhook(webhook::WebhookCommand),
    /// Import sanctions lists and see what is active.
    Lists(lists::ListsCommand),
    /// Read documents: MRZ, barcodes, text.
    ReadDocument(engines::ReadDocument),
    /// Find the faces in pictures.
    DetectFaces(engines::DetectFaces),
    /// Compare the faces of two pictures.
    CompareFaces(engines::CompareFaces),
    /// Judge whether a selfie shows a live person.
    CheckLiveness(engines::CheckLiveness),
    /// Screen names, identifiers and wallets against the imported lists.
    Screen(engines::Screen),
    /// Feed the graphs of chains and see what they hold.
    Chain(chain::ChainCommand),
    /// Import labels of crypto addresses and see what is in use.
    Labels(labels::LabelsCommand),
    /// Look at the screenings of crypto addresses and transactions that were made.
    Monitoring(monitoring::MonitoringCommand),
    /// Screen crypto addresses and transactions, or run vectors of the scoring engine.
    Score(Box<score::Score>),
    /// Check crypto addresses and transaction hashes by their syntax and checksums.
    CheckAddress(engines::CheckAddress),
    /// Parse driver's licence barcode payloads.
    ParseAamva(engines::ParseAamva),
    /// Check the audit trail.
    Audit(audit::AuditCommand),
    /// Erase a person: the key, faces, attempts, files. There is no way back.
    Erase(erase::Erase),
    /// Change the master key.
    Keys(keys::KeysCommand),
    /// Renew what the face index holds.
    Faces(faces::FacesCommand),
    /// Measure an engine on a folder of your own with known answers.
    Eval(eval::EvalCommand),
    /// Fill an account's sandbox with invented applicants, to measure with.
    #[command(hide = true)]
    Generate(generate::Generate),
    /// Decode pictures for a server on stdin and stdout (the server starts this itself).
    #[command(hide = true)]
    DecodeWorker,
}

/// Runs the command that the arguments name.
pub fn run() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Serve(config) => serve::run(*config),
        Command::Doctor(command) => doctor::run(&command),
        Command::Migrate(config) => block_on(data::migrate(&config)),
        Command::Merchant(command) => merchant::run(command),
        Command::Portal(command) => portal::run(command),
        Command::Flow(command) => flow::run(command),
        Command::Review(command) => review::run(command),
        Command::Webhook(command) => webhook::run(command),
        Command::Lists(command) => lists::run(command),
        Command::ReadDocument(command) => command.run(),
        Command::DetectFaces(command) => command.run(),
        Command::CompareFaces(command) => command.run(),
        Command::CheckLiveness(command) => command.run(),
        Command::Screen(command) => command.run(),
        Command::Chain(command) => chain::run(&command),
        Command::Labels(command) => labels::run(command),
        Command::Score(command) => command.run(),
        Command::Monitoring(command) => monitoring::run(command),
        Command::CheckAddress(command) => command.run(),
        Command::ParseAamva(command) => command.run(),
        Command::Audit(command) => audit::run(command),
        Command::Erase(command) => erase::run(&command),
        Command::Keys(command) => keys::run(&command),
        Command::Faces(command) => faces::run(&command),
        Command::Eval(command) => eval::run(command),
        Command::Generate(command) => generate::run(&command),
        Command::DecodeWorker => decode_worker::run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bonafide: {error:#}");
            if error.is::<Unusable>() {
                ExitCode::from(2)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

#[cfg(test)]
mod four_eyes_tests;

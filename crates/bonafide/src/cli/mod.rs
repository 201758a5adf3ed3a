//! The command line: one thin module per command. `docs/command-line` documents the output formats that
//! scripts rely on. The exit status is 0 if every line was answered, 1 if a command failed, and 2 for
//! unusable arguments.

mod audit;
mod backup;
mod chain;
mod data;
mod demo;
mod doctor;
mod engine_worker;
mod engines;
mod erase;
mod errors;
mod eval;
mod faces;
mod flow;
mod generate;
mod key_command;
mod keys;
mod labels;
mod list_diff;
mod list_report;
mod list_rollback;
mod list_status;
mod list_update;
mod lists;
mod merchant;
mod migrate_database;
mod models;
mod monitoring;
mod output;
mod portal;
mod restore;
mod review;
mod runtime;
mod score;
mod screen_file;
mod serve;
mod telemetry;
mod webhook;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use service::config::{DataConfig, ServeConfig};

use self::errors::Unusable;
use self::output::note;
use self::runtime::block_on;

/// Self-hosted identity verification and screening.
#[derive(Parser)]
#[command(
    name = "bonafide",
    version,
    about = "A self-hosted identity verification and screening server"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server.
    Serve(Box<ServeConfig>),
    /// Check everything the server needs, and report how to fix each problem.
    Doctor(Box<doctor::Doctor>),
    /// Migrate the database schema (PostgreSQL; with SQLite, the server does so at every start).
    Migrate(DataConfig),
    /// Copy a SQLite database into PostgreSQL, with every row compared.
    MigrateDatabase(migrate_database::MigrateDatabase),
    /// Create, approve, suspend and configure merchants.
    Merchant(merchant::MerchantCommand),
    /// Create one-time links to the portal.
    Portal(portal::PortalCommand),
    /// Create and update Flows.
    Flow(flow::FlowCommand),
    /// Review attempts and decide them.
    Review(review::ReviewCommand),
    /// Manage webhook secrets, test messages and deliveries.
    Webhook(webhook::WebhookCommand),
    /// Import sanctions lists and show which are active.
    Lists(lists::ListsCommand),
    /// Read documents: MRZ, barcodes, text.
    ReadDocument(engines::ReadDocument),
    /// Find the faces in pictures.
    DetectFaces(engines::DetectFaces),
    /// Compare the faces of two pictures.
    CompareFaces(engines::CompareFaces),
    /// Check whether a selfie shows a live person.
    CheckLiveness(engines::CheckLiveness),
    /// Screen names, identifiers and wallets against the imported lists.
    Screen(engines::Screen),
    /// Import blocks into the chain graphs and show their state.
    Chain(chain::ChainCommand),
    /// Import labels of crypto addresses and show the sets in use.
    Labels(labels::LabelsCommand),
    /// Inspect screenings of crypto addresses and transactions.
    Monitoring(monitoring::MonitoringCommand),
    /// Screen crypto addresses and transactions, or run test vectors of the scoring engine.
    Score(Box<score::Score>),
    /// Check crypto addresses and transaction hashes by their syntax and checksums.
    CheckAddress(engines::CheckAddress),
    /// Parse driver's licence barcode payloads.
    ParseAamva(engines::ParseAamva),
    /// Check the audit trail.
    Audit(audit::AuditCommand),
    /// Erase a person: key, faces, attempts and files. This cannot be undone.
    Erase(erase::Erase),
    /// Make and check encrypted backups while servers run.
    Backup(Box<backup::BackupCommand>),
    /// Restore a backup into a new data folder and an empty database.
    Restore(Box<restore::Restore>),
    /// Repeat the erasures in the erasure journal after another tool restored the database.
    RepeatErasures(DataConfig),
    /// Generate and rotate the master key, and show the progress of key renewal.
    Keys(keys::KeysCommand),
    /// Rebuild the face index.
    Faces(faces::FacesCommand),
    /// Add, calibrate and use your own models.
    Models(models::ModelsCommand),
    /// Measure an engine on your own folder of labelled data.
    Eval(eval::EvalCommand),
    /// Fill an account's sandbox with generated applicants for measurements.
    #[command(hide = true)]
    Generate(generate::Generate),
    /// Decode and read files from stdin in a sandbox (started by other commands).
    #[command(hide = true)]
    EngineWorker(engine_worker::EngineWorker),
}

/// Parses the arguments and runs the command.
pub fn run() -> ExitCode {
    let command = Cli::parse().command;
    // A worker's environment must stay empty. Its walls keep it from writing and sending.
    if !matches!(command, Command::EngineWorker(_))
        && let Err(error) = telemetry::switch_off()
    {
        note!("bonafide: {error:#}");
        return ExitCode::FAILURE;
    }
    let result = match command {
        Command::Serve(config) => serve::run(*config),
        Command::Doctor(command) => doctor::run(&command),
        Command::Migrate(config) => block_on(data::migrate(&config)),
        Command::MigrateDatabase(command) => migrate_database::run(&command),
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
        Command::Backup(command) => backup::run(*command),
        Command::Restore(command) => restore::run(&command),
        Command::RepeatErasures(config) => restore::repeat_erasures(&config),
        Command::Keys(command) => keys::run(&command),
        Command::Faces(command) => faces::run(&command),
        Command::Models(command) => models::run(command),
        Command::Eval(command) => eval::run(command),
        Command::Generate(command) => generate::run(&command),
        Command::EngineWorker(command) => engine_worker::run(command),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note!("bonafide: {error:#}");
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

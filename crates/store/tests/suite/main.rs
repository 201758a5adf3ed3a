//! One suite for both databases: each test is a function of a [`Bench`] and runs on SQLite and PostgreSQL.
//! The PostgreSQL half needs `scripts/with-postgres` and fails without it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod accounts;
mod api_log;
mod bench;
mod bucket;
mod bulk;
mod configuration;
mod durability;
mod erasure;
mod faces;
mod funnel;
mod hits;
mod hosted;
mod installation;
mod key_renewal;
mod list_updates;
mod merging;
mod monitoring;
mod people;
mod pictures;
mod portal_sessions;
mod processes;
mod rescreening;
mod review;
mod schema;
mod sessions;
mod staff;
mod statuses;
mod traffic;
mod verification;
mod wallet_rescreening;

/// Creates a `#[tokio::test]` per database for each named test.
macro_rules! on_every_database {
    ($($module:ident: $($test:ident),+;)+) => {
        mod sqlite { $(mod $module { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $test() {
                crate::$module::$test(crate::bench::Bench::sqlite().await).await;
            }
        )+ })+ }
        mod postgres { $(mod $module { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $test() {
                crate::$module::$test(crate::bench::Bench::postgres().await).await;
            }
        )+ })+ }
    };
}

on_every_database! {
    api_log: calls_are_found_and_swept;
    accounts: merchants_are_listed_and_changed, a_logo_is_replaced_and_removed, keys_open_their_own_mode_only, two_secrets_work_during_a_rotation,
        a_revoked_key_works_no_more, restrictions_follow_a_key_until_it_is_revoked,
        rotated_master_keys_rewrap_every_account;
    configuration: groups_and_flows_are_listed_newest_first, names_are_unique_per_account_and_mode,
        foreign_and_repeated_flows_are_ignored, a_deleted_flow_leaves_every_group, a_group_changes_only_what_is_sent,
        plan_limits_hold_under_concurrency, nothing_crosses_accounts_or_modes;
    traffic: a_bucket_empties_and_fills, a_bucket_gives_no_more_than_it_holds, a_key_is_answered_once,
        a_dead_request_is_taken_over, a_renewed_lease_is_not_taken_over, the_audit_chain_shows_tampering, audit_rows_share_the_transaction,
        events_are_claimed_once_and_again_after_their_lease, jobs_are_leased_to_one_worker;
    key_renewal: a_new_master_key_reaches_everything, a_renewal_beside_verifications_loses_nobody,
        a_row_that_does_not_open_stays_as_it_is,
        a_row_behind_the_renewal_is_renewed_too;
    people: a_person_is_recorded_and_found, one_new_face_makes_one_person, labels_and_faces_register_once_per_group,
        a_merge_keeps_everything_readable, an_erased_person_is_gone, log_only_attempts_are_found,
        reviewers_decide, names_are_found_by_whole_words;
    faces: face_changes_arrive_in_order, faces_of_another_model_are_replaced, a_fork_of_the_face_changes_is_noticed;
    merging: a_merge_of_two_people_moves_their_faces, a_split_moves_what_was_chosen;
    pictures: a_picture_is_found_under_another_label_only, the_most_alike_and_the_newest_pictures_are_found,
        fingerprints_go_with_their_attempt_and_their_person, a_fingerprint_moves_with_a_merge;
    erasure: an_erasure_reaches_what_the_account_key_seals, a_label_of_two_people_stays_with_the_other,
        rows_of_an_earlier_version_are_reached_too, answers_go_with_their_attempt, keys_keep_their_ids;
    sessions: a_link_is_redeemed_once, a_session_runs_its_course, attempts_are_counted_out,
        sessions_end_with_their_time, an_admitted_attempt_holds_its_session;
    durability: the_log_is_emptied_on_demand, writes_are_checked_without_a_trace, traffic_and_the_rest_are_apart,
        transactions_that_come_together_are_all_kept, a_cancelled_transaction_takes_no_other_with_it,
        a_stopping_database_is_unavailable;
    hosted: a_handoff_is_claimed_once, a_new_handoff_voids_the_earlier, the_last_word_counts,
        the_second_devices_step_is_followed, everything_goes_with_the_session;
    funnel: events_make_a_funnel, a_funnel_outlives_reloads_and_devices, a_retry_is_not_a_drop_off,
        a_median_is_the_middle_duration, a_drop_off_has_its_last_open_problem_as_reason,
        stored_events_have_what_is_known_of_the_visitor;
    bulk: histories_read_like_any_other;
    installation: a_stranger_writes_nothing, an_old_installation_is_recorded_by_its_key_alone,
        of_keys_at_once_one_is_recorded, a_broken_off_rewrap_changes_nothing, a_changed_list_set_is_not_believed;
    list_updates: one_worker_updates_a_list_once_per_period, attempts_and_rollbacks_are_recorded;
    monitoring: screenings_are_found, a_profile_is_followed_by_another;
    staff: members_are_found_by_address_and_sealed, rotated_master_keys_rewrap_staff,
        a_factor_that_is_set_up_during_a_rotation_stays, codes_count_once, passkeys_are_sealed_and_answers_count_once,
        two_owners_cannot_demote_each_other, an_invitation_is_used_once, who_is_shut_out_stays_out,
        the_operators_trail_is_a_chain_of_its_own, a_sign_up_waits_for_its_link,
        a_new_password_link_voids_the_earlier, a_profile_is_written_handed_in_and_decided;
    portal_sessions: browsers_are_recognised_by_their_owner_only, sessions_idle_out_and_end,
        every_proof_brings_another_token, sessions_end_with_the_member,
        a_changed_password_ends_sessions_that_begin_with_the_old, what_is_to_be_shown_waits_five_minutes;
    statuses: an_unknown_status_or_decision_is_an_error, an_unknown_status_prevents_no_erasure,
        every_status_and_decision_comes_back;
    review: the_queue_is_filtered_and_paged, a_claim_is_one_persons, notes_and_proposals_are_sealed, people_are_found_by_several_words,
        reviewers_keep_views_and_reasons;
    hits: dispositions_and_acts_wait_sealed, suppressions_stay_with_their_person;
    rescreening: a_run_belongs_to_one_worker_and_is_continued,
        what_a_run_may_have_got_wrong_is_looked_at_again, alerts_wait_and_close_and_go_with_their_attempt,
        names_are_read_of_approved_people_alone;
    wallet_rescreening: a_run_over_wallets_belongs_to_one_worker_and_is_continued,
        what_a_run_over_wallets_may_have_missed_is_compared_again, a_wallet_alerts_score_is_computed_by_one_worker;
    schema: migrating_twice_changes_nothing, a_neighbouring_version_s_schema_is_served, several_nodes_may_migrate_at_once, an_aborted_transaction_leaves_nothing,
        what_cannot_be_serialised_runs_again;
    processes: two_processes_make_one_person, a_killed_process_leaves_nobody_half_registered;
}

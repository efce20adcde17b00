-- Renames tables and columns to the names that the code, the API and the documentation use. This is the baseline for
-- upgrades: it needs all servers stopped, and later migrations never rename anything.
alter table people rename to users;
alter index people_pkey rename to users_pkey;
alter index people_email rename to users_email;

alter table keys rename column person_uid to user_uid;
alter index keys_person rename to keys_user;
alter table sign_in_links rename column person_uid to user_uid;
alter table sessions rename column person_uid to user_uid;
alter index sessions_person rename to sessions_user;

alter table sign_in_tries rename to sign_in_attempts;
alter index sign_in_tries_pkey rename to sign_in_attempts_pkey;
alter table sign_in_attempts rename column tries to attempts;

alter table run_heads rename to run_state;
alter index run_heads_pkey rename to run_state_pkey;
alter index run_heads_open rename to run_state_open;
alter index run_heads_abandoned rename to run_state_abandoned;
alter table run_state rename column kept_worker_id to warm_worker_id;
alter table run_state rename column kept_until to warm_until;

alter table run_words rename to run_search;
alter index run_words_pkey rename to run_search_pkey;
alter index run_words_metadata rename to run_search_metadata;
alter index run_words_search rename to run_search_search;
alter index run_words_title rename to run_search_title;

alter index artifacts_kept rename to artifacts_stored;

alter table brake rename to maintenance;
alter index brake_pkey rename to maintenance_pkey;
alter table maintenance rename column intake to admission;

alter table workers rename column figures to stats;
alter table workers rename column figures_at to stats_at;

alter table rate_windows rename column began to window_start;

-- The current functions are in store/functions; the migrator creates them after the last migration.
drop function outrider_claim(uuid, text, text, integer, uuid, integer, integer, bigint, integer, integer, uuid);
drop function outrider_next(uuid, integer, integer);
drop function outrider_report(uuid, uuid, integer, jsonb, text, jsonb, jsonb, boolean, boolean);
drop function outrider_end(uuid, uuid, integer, jsonb, text, jsonb, jsonb, boolean, text, text, jsonb, integer);
drop function outrider_deliver(uuid, uuid, integer, boolean);
drop function outrider_attachments(uuid, uuid);
drop function outrider_take(text, integer, integer, integer);
drop function outrider_share(integer, integer);
drop function outrider_reserve(uuid, uuid, uuid, float8, float8, float8);
drop function outrider_settle(uuid, uuid, float8);
drop function outrider_settle_held(reservations, uuid, float8);

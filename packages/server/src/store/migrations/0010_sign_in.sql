-- Who is deleted stays as the creator of runs, and gives the address free for somebody else.
alter table people
  -- As the library for passwords writes it, with salt and parameters.
  add column password_hash text,
  add column last_seen_at timestamptz,
  add column deleted_at timestamptz;
drop index people_email;
create unique index people_email on people (lower(email)) where deleted_at is null;

-- Keys for the workers that a server starts itself: no person has ever seen them.
alter table keys add column is_local boolean not null default false;

-- A person has one link at most, found by the hash of its token. Using it deletes it.
create table sign_in_links (
  person_uid uuid primary key references people,
  hash bytea not null unique,
  created_at timestamptz not null default outrider_now(),
  expires_at timestamptz not null
);

-- Browsers that are signed in. What has ended stays for a while: streams that came with it ask whether it has.
create table sessions (
  session_id uuid primary key,
  hash bytea not null unique,
  person_uid uuid not null references people,
  signed_in_by text not null check (signed_in_by in ('link', 'password')),
  created_at timestamptz not null default outrider_now(),
  last_used_at timestamptz not null default outrider_now(),
  expires_at timestamptz not null,
  ended_at timestamptz
);
create index sessions_person on sessions (person_uid) where ended_at is null;

-- How often a password was tried, for each account and each address, by a hash: whose they are is not written down.
create table sign_in_tries (
  subject bytea primary key,
  tries integer not null,
  until timestamptz not null
);

-- A run of the web app has no key. Its head holds the session instead, which no limit names.
alter table runs alter column key_id drop not null;

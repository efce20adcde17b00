-- Git hosting services at which runs can publish changes. `auth` contains no secret; `sealed` is the encrypted credential.
create table forges (
  forge_id uuid primary key,
  type text not null check (type in ('github', 'gitlab', 'gitea')),
  host text not null unique,
  url text not null,
  api_url text not null,
  auth jsonb not null,
  login text not null,
  sealed bytea not null,
  last_test jsonb,
  created_by uuid not null,
  created_at timestamptz not null default outrider_now(),
  updated_at timestamptz not null default outrider_now()
);

-- GitHub Apps that a user is creating. `state_hash` is the hash of a random value that GitHub sends back.
create table forge_app_manifests (
  manifest_id uuid primary key,
  url text not null,
  state_hash bytea not null,
  created_by uuid not null,
  created_at timestamptz not null default outrider_now(),
  expires_at timestamptz not null,
  used_at timestamptz
);

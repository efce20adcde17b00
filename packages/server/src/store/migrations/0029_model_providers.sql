-- Model providers that admins connect through the API. Their keys are in model_keys, encrypted.
create table model_providers (
  name text collate "C" primary key,
  type text not null,
  settings jsonb not null,
  models jsonb not null,
  created_by uuid not null,
  created_at timestamptz not null default outrider_now(),
  updated_at timestamptz not null default outrider_now()
);

-- The latest test of each provider, whatever its source.
create table model_tests (
  provider text collate "C" primary key,
  result jsonb not null
);

-- The only row. Each change of providers, keys, default or aliases increases the version, which servers poll.
create table model_settings (
  is_only boolean primary key default true check (is_only),
  version bigint not null default 0,
  default_model_id text,
  aliases jsonb not null default '{}'
);
insert into model_settings default values;

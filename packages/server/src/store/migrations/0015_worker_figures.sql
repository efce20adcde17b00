-- How each worker fares, as its heartbeats say, and when it last said so. It lies here so that every server can show it.
alter table workers add column figures jsonb, add column figures_at timestamptz;

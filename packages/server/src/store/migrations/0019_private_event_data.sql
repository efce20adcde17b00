-- Data that workers store with an event and read back, such as the signatures of a model's reasoning. No API response
-- contains it. Null for most events, and for those of the previous version.
alter table events add column private jsonb;

-- The default reasoning effort for runs of a cloud agent.
alter table identities add column reasoning_effort text;

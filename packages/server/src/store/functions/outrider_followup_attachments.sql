-- Describes the files attached to a follow-up, in the format that events use.
create or replace function outrider_followup_attachments(p_run_id uuid, p_followup_id uuid) returns jsonb language sql stable as $$
  select jsonb_agg(jsonb_build_object('attachment_id', a.attachment_id, 'file_name', a.file_name,
    'mime_type', a.mime_type, 'size_bytes', length(a.data)) order by a.position)
  from attachments a where a.run_id = p_run_id and a.followup_id = p_followup_id
$$;

-- Who deletes a follow-up asks for its attachments, and would read all attachments there are.
create index attachments_followup on attachments (followup_id) where followup_id is not null;

import type { SentFile } from "@outrider/contract/event";
import type { Sql } from "../connection/db.ts";

export interface NewAttachment {
  sent: SentFile;
  data: Buffer;
}

export async function insertAttachments(
  sql: Sql,
  owner: { run_id: string; followup_id?: string },
  attachments: NewAttachment[],
): Promise<void> {
  for (const [position, { sent, data }] of attachments.entries()) {
    await sql`
      insert into attachments (attachment_id, run_id, followup_id, position, file_name, mime_type, data)
      values (${sent.attachment_id}, ${owner.run_id}, ${owner.followup_id ?? null}, ${position}, ${sent.file_name},
        ${sent.mime_type}, ${data})`;
  }
}

/** Returns the content of one of the run's attachments. */
export async function findAttachment(
  sql: Sql,
  runId: string,
  attachmentId: string,
): Promise<Buffer | undefined> {
  const [row] = await sql<{ data: Buffer }[]>`
    select data from attachments where attachment_id = ${attachmentId} and run_id = ${runId}`;
  return row?.data;
}

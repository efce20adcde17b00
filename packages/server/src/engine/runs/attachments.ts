import type { SentFile } from "@outrider/contract/event";
import type { Attachment } from "@outrider/contract/run";
import { v7 as uuidv7 } from "uuid";
import type { NewAttachment } from "../../store/runs/attachments.ts";

/** Assigns an ID to each attached file and decodes its content. */
export function withIds(attachments: readonly Attachment[] = []): NewAttachment[] {
  return attachments.map(({ file_name, mime_type, data: base64 }) => {
    const data = Buffer.from(base64, "base64");
    const sent: SentFile = { attachment_id: uuidv7(), file_name, mime_type, size_bytes: data.length };
    return { sent, data };
  });
}

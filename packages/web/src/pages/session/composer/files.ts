import type { Attachment } from "@outrider/sdk";
import { bytes } from "../../../ui/amount.ts";

export const MOST_FILES = 5;
const MOST_BYTES = 10 * 1024 * 1024;

/** What is wrong with these files as attachments, if anything. */
export function faultOf(files: readonly File[]): string | undefined {
  if (files.length > MOST_FILES)
    return `At most ${MOST_FILES} files can be attached; these are ${files.length}.`;
  const size = files.reduce((sum, file) => sum + file.size, 0);
  if (size > MOST_BYTES)
    return `The files have ${bytes(size)} in all; at most ${bytes(MOST_BYTES)} can be sent.`;
  return undefined;
}

export async function attachmentOf(file: File): Promise<Attachment> {
  return {
    file_name: file.name || "pasted",
    // Browsers add parameters, and know no type for much that is text.
    mime_type: file.type.split(";")[0]?.trim() || "application/octet-stream",
    data: base64(new Uint8Array(await file.arrayBuffer())),
  };
}

const PIECE = 0x8000;

function base64(content: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < content.length; at += PIECE)
    binary += String.fromCharCode(...content.subarray(at, at + PIECE));
  return btoa(binary);
}

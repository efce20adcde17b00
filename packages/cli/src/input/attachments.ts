import { basename } from "node:path";
import type { Attachment } from "@outrider/sdk";
import { fileType } from "@outrider/worker/file-type";
import { readFileOrFail } from "./text.ts";

/** Reads files to attach. Treats a file with an unknown extension as text if it contains no null bytes. */
export function readAttachments(paths: string[] | undefined): Attachment[] | undefined {
  return paths?.map((path) => {
    const content = readFileOrFail(path);
    const isText = !content.subarray(0, 8_192).includes(0);
    const file_name = basename(path);
    return { file_name, mime_type: fileType(file_name, { isText }), data: content.toString("base64") };
  });
}

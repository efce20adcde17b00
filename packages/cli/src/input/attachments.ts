import { basename, extname } from "node:path";
import type { Attachment } from "@outrider/sdk";
import { readFileOrComplain } from "./text.ts";

const types: Record<string, string> = {
  ".csv": "text/csv",
  ".gif": "image/gif",
  ".html": "text/html",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".json": "application/json",
  ".md": "text/markdown",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".txt": "text/plain",
  ".webp": "image/webp",
};

/** What has no known ending and reads as text is text. */
export function attachmentsOf(paths: string[] | undefined): Attachment[] | undefined {
  return paths?.map((path) => {
    const content = readFileOrComplain(path);
    const isText = !content.subarray(0, 8_192).includes(0);
    return {
      file_name: basename(path),
      mime_type: types[extname(path).toLowerCase()] ?? (isText ? "text/plain" : "application/octet-stream"),
      data: content.toString("base64"),
    };
  });
}

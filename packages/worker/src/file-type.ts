import { extname } from "node:path";
import { Mime } from "mime/lite";
import standardTypes from "mime/types/standard.js";

const types = new Mime(standardTypes, { "application/x-tar": ["tar"] });

/**
 * Extensions that usually mean source code but are registered for other formats. For example, `.ts` is registered as a
 * video format and `.rs` as an XML format. For these, the content determines the type.
 */
const sharedWithCode = new Set([".ac", ".cjs", ".cu", ".dot", ".me", ".ms", ".mts", ".rs", ".t", ".ts"]);

/** Returns the media type for a file's name. If the name has no known extension, the content determines the type. */
export function fileType(name: string, { isText }: { isText: boolean }): string {
  const extension = extname(name).toLowerCase();
  const known = sharedWithCode.has(extension) ? null : types.getType(extension);
  return known ?? (isText ? "text/plain" : "application/octet-stream");
}

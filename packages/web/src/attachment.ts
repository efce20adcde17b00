import { limits } from "@outrider/contract/limits";
import type { Attachment } from "@outrider/sdk";
import { formatBytes } from "./ui/format/numbers.ts";

const { count: maxFiles, total: maxBytes } = limits.attachments;

/** Returns the reason why these files cannot be attached, if there is one. */
export function attachmentError(files: readonly File[]): string | undefined {
  if (files.length > maxFiles) return `You can attach up to ${maxFiles} files; you selected ${files.length}.`;
  const size = files.reduce((sum, file) => sum + file.size, 0);
  if (size > maxBytes) return `The files total ${formatBytes(size)}; the limit is ${formatBytes(maxBytes)}.`;
  return undefined;
}

export async function attachmentOf(file: File): Promise<Attachment> {
  return {
    file_name: file.name || "pasted",
    // The type may have parameters, and it is empty if the browser does not recognize the file.
    mime_type: file.type.split(";")[0]?.trim() || "application/octet-stream",
    data: await asBase64(file),
  };
}

function asBase64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onerror = () => reject(new Error(`Could not read ${file.name}. Choose it again.`));
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ""));
    reader.readAsDataURL(file);
  });
}

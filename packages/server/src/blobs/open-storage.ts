import type { BlobSettings } from "../config/blobs.ts";
import type { BlobStorage } from "./blob-storage.ts";
import { openFolder } from "./folder.ts";

/** Opens the storage that the settings describe. The client of S3 is large, so it is loaded only if it is used. */
export async function openStorage(settings: BlobSettings): Promise<BlobStorage> {
  if (settings.type === "folder") return openFolder(settings.folder);
  const { openS3 } = await import("./s3.ts");
  return openS3(settings);
}

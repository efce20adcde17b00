import { join } from "node:path";

/** Maps the path of a URL to a file below `root`. */
export function resolveFile(root, url) {
  const path = decodeURIComponent(url.split("?")[0]);
  if (path.includes("..")) return undefined;
  return join(root, path);
}

import { join } from "node:path";

/** Maps the path of a URL to a file below `root`. */
export function resolveFile(root, url) {
  return join(root, decodeURIComponent(url.split("?")[0]));
}

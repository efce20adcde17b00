import { resolve, sep } from "node:path";

/** Maps the path of a URL to a file below `root`. Returns undefined for any other file. */
export function resolveFile(root, url) {
  let path;
  try {
    path = decodeURIComponent(url.split("?")[0]);
  } catch {
    return undefined;
  }
  if (path.includes("\0")) return undefined;
  const base = resolve(root);
  const file = resolve(base, `.${path.startsWith("/") ? "" : "/"}${path}`);
  return file === base || file.startsWith(base + sep) ? file : undefined;
}

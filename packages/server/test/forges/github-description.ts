import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { harnessCache } from "../../../../scripts/tests/harness-cache.ts";

const name = "@octokit/openapi";
const version = "23.0.2";
const integrity =
  "sha512-pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg==";
const file = "package/generated/api.github.com.json";

/**
 * Returns the OpenAPI description that GitHub publishes. Its npm package has 385 MB, of which tests need one file, so that
 * it is not a dependency: the file is kept in the cache of the tests, outside of the checkout.
 */
export function readGitHubDescription(): string {
  const folder = join(harnessCache, `github-openapi-${version}`);
  const path = join(folder, "api.github.com.json");
  if (!existsSync(path)) download(folder, path);
  return readFileSync(path, "utf8");
}

function download(folder: string, path: string): void {
  mkdirSync(folder, { recursive: true });
  // Tests in other processes may do the same at the same time.
  const temporary = mkdtempSync(join(folder, "download-"));
  try {
    const pack = ["pack", "--silent", "--ignore-scripts", "--pack-destination", temporary];
    const archive = execFileSync("npm", [...pack, `${name}@${version}`], { encoding: "utf8" }).trim();
    const data = readFileSync(join(temporary, archive));
    const hash = `sha512-${createHash("sha512").update(data).digest("base64")}`;
    if (hash !== integrity) throw new Error(`${name} does not have the expected hash.`);
    execFileSync("tar", ["-xzf", join(temporary, archive), "-C", temporary, file]);
    renameSync(join(temporary, file), path);
  } finally {
    rmSync(temporary, { recursive: true });
  }
}

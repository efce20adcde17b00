import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { findViolations, type Manifest } from "./import-rules.ts";

/** `make check`: fails if this repository violates the import rules. */

const root = resolve(import.meta.dirname, "..", "..");
const load = (pattern: string) =>
  globSync(pattern, { cwd: root, exclude: ["**/node_modules/**"] })
    .sort()
    .map((path) => [path, readFileSync(resolve(root, path), "utf8")] as const);

const files = Object.fromEntries(load("packages/*/src/**/*.{ts,tsx}"));
const manifests = Object.fromEntries(
  [...load("package.json"), ...load("packages/*/package.json")].map(([path, text]) => [
    path,
    JSON.parse(text) as Manifest,
  ]),
);
const violations = findViolations({ files, manifests });
if (Object.keys(files).length === 0) violations.push("no source files found");
for (const violation of violations) console.error(`imports: ${violation}`);
if (violations.length > 0) process.exitCode = 1;

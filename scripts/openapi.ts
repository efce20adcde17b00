import { readFileSync, writeFileSync } from "node:fs";
import { openapi } from "@outrider/contract/openapi";

/** Generates openapi.json from the contract. With --check, only verifies that the file is up to date. */
const file = new URL("../openapi.json", import.meta.url);
const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const text = `${JSON.stringify(openapi(version), null, 2)}\n`;

if (!process.argv.includes("--check")) {
  writeFileSync(file, text);
} else if (readFileSync(file, "utf8") !== text) {
  console.error("openapi.json is out of date. Run `node scripts/openapi.ts` and commit it.");
  process.exit(1);
}

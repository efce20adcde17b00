#!/usr/bin/env node
// Starts the command line of the installed package.
const [major] = process.versions.node.split(".");
if (Number(major) < 24) {
  console.error(`outrider: Node ${process.versions.node} is too old. Install Node 24.`);
  process.exit(1);
}
// NO_COLOR takes precedence over FORCE_COLOR. Node would warn that it is the other way round.
if (process.env.NO_COLOR) delete process.env.FORCE_COLOR;
await import("../packages/cli/src/main.js");

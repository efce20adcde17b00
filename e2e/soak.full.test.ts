import { expect, test } from "vitest";
import { table } from "./soak/level.ts";
import { soak } from "./soak/soak.ts";

/**
 * Two servers and two workers under load, while PostgreSQL is restarted and then lost to its standby. A minute here, in the
 * longer rounds; five with `make soak`, an hour in `make full`.
 */

test("two servers under load survive a restart and a fail-over of PostgreSQL", {
  timeout: 300_000,
}, async () => {
  const { problems, rows, folder } = await soak(60_000);
  expect(problems, `What it left is in ${folder}.\n${table(rows)}`).toEqual([]);
});

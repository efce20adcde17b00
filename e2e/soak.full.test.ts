import { expect, test } from "vitest";
import { formatTable } from "./soak/growth.ts";
import { soak } from "./soak/soak.ts";

/**
 * Puts load on two servers and two workers, restarts PostgreSQL, and fails over to its standby. This test takes a minute,
 * `make soak` five minutes, and `make full` an hour.
 */

test("two servers under load survive a restart and a failover of PostgreSQL", {
  timeout: 300_000,
}, async () => {
  const { problems, comparisons, folder } = await soak(60_000);
  expect(problems, `Logs and data are in ${folder}.\n${formatTable(comparisons)}`).toEqual([]);
});

import { afterAll, beforeAll, describe, test } from "vitest";
import { startGitHubStub } from "../../packages/server/test/forges/github-stub.ts";
import { PublishingInstallation } from "./installation.ts";
import type { KillPointName, Victim } from "./kill-points.ts";
import { killDuring, type Round } from "./kill-round.ts";

/** Declares a test for each step and process. They share an installation, whose processes are replaced when killed. */
export function testKills(kills: { point: KillPointName; victim: Victim; seed: number }[]): void {
  describe("exactly one branch and one pull request after a kill", () => {
    let round: Round | undefined;

    beforeAll(async () => {
      const stub = await startGitHubStub();
      await stub.addRepository("acme/api");
      const installation = await PublishingInstallation.start({ forgeUrl: stub.url });
      await installation.connectForge("github", stub.token);
      const environment = await installation.createEnvironment("acme/api", { labels: ["bug"] });
      round = { installation, stub, environment, published: [] };
    });
    afterAll(async () => {
      await round?.installation.stop();
      await round?.stub.close();
    });

    for (const { point, victim, seed } of kills)
      test(`${point}: ${victim} (seed ${seed})`, async () => {
        await killDuring(round as Round, { point, victim, seed });
      });
  });
}

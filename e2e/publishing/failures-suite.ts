import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startGitHubStub } from "../../packages/server/test/forges/github-stub.ts";
import { type FailureContext, failures } from "./failures.ts";
import { PublishingInstallation } from "./installation.ts";

/** Declares a test for each of these cases. */
export function testFailures(names: string[]): void {
  describe("a failure at the forge is repaired or explained", () => {
    let context: FailureContext | undefined;

    beforeAll(async () => {
      const stub = await startGitHubStub();
      const installation = await PublishingInstallation.start({ forgeUrl: stub.url });
      context = { stub, installation };
      await installation.connectForge("github", stub.token);
    });
    afterAll(async () => {
      expect(context?.stub.violations).toEqual([]);
      await context?.installation.stop();
      await context?.stub.close();
    });

    for (const name of names)
      test(name, async () => {
        await failures[name]?.(context as FailureContext);
      });
  });
}

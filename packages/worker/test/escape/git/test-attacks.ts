import { afterAll, beforeAll, expect, test } from "vitest";
import { type Attack, type AttackFixture, openAttackFixture } from "./git-attacks.ts";

/** Defines a test for each attack. The groups of attacks are in files of their own, so that they can run in parallel. */
export function testAttacks(attacks: Attack[], { atLeast }: { atLeast: number }): void {
  let fixture: AttackFixture;
  beforeAll(async () => {
    fixture = await openAttackFixture();
  });
  afterAll(() => fixture?.stop());

  test("no attack is missing", () => {
    expect(new Set(attacks.map(({ name }) => name)).size).toBeGreaterThanOrEqual(atLeast);
  });

  test.each(attacks)("$name", async (attack) => {
    const outcomes = await fixture.run(attack);
    for (const [operation, expected] of Object.entries(attack.expected ?? {})) {
      expect(outcomes, operation).toHaveProperty(operation, expect.stringMatching(expected));
    }
  });

  test("a worker can still fetch other repositories", () => fixture.expectHealthy());
}

/** What a provider removes later because its engine or cluster did not respond. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { OpenSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import type { Sandbox } from "../../src/sandboxes/sandbox.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const longOutageMs = 24 * 3600_000;

/** An engine with objects of sandboxes, by their ids. */
function startEngine() {
  const engine = { objects: new Set<string>(), isAway: false };
  const request = async (change: () => void) => {
    if (engine.isAway) throw new Error("The engine is away.");
    change();
  };
  const removeFailed = (ids: ReadonlySet<string>) =>
    request(() => {
      for (const id of ids) engine.objects.delete(id);
    });
  const sandboxes = new OpenSandboxes<Sandbox & { killAndRelease(): Promise<void> }>({ removeFailed });
  const create = (id: string) => async () => {
    engine.objects.add(id);
    const close = async () => {
      try {
        await request(() => engine.objects.delete(id));
        sandboxes.remove(id);
      } catch (error) {
        sandboxes.removeLater(id);
        throw error;
      }
    };
    return { id, close, killAndRelease: async () => {} } as unknown as Sandbox & {
      killAndRelease(): Promise<void>;
    };
  };
  const fail = (id: string) => async () => {
    engine.objects.add(id);
    throw new Error("No answer.");
  };
  return { engine, sandboxes, create, fail };
}

test("a sandbox that cannot be removed when it is closed is removed once the engine responds", async () => {
  const { engine, sandboxes, create } = startEngine();
  const sandbox = await sandboxes.open("one", create("one"));
  engine.isAway = true;
  await expect(sandbox.close()).rejects.toThrow("away");
  await vi.advanceTimersByTimeAsync(longOutageMs);
  expect([...engine.objects]).toEqual(["one"]);
  expect(sandboxes.count()).toBe(1);
  engine.isAway = false;
  await vi.advanceTimersByTimeAsync(60_000);
  expect([...engine.objects]).toEqual([]);
  expect(sandboxes.count()).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});

test("what is left of sandboxes that could not be opened is removed, and nothing of open ones", async () => {
  const { engine, sandboxes, create, fail } = startEngine();
  await sandboxes.open("open", create("open"));
  await expect(sandboxes.open("first", fail("first"))).rejects.toThrow("No answer.");
  await expect(sandboxes.open("second", fail("second"))).rejects.toThrow("No answer.");
  engine.isAway = true;
  await vi.advanceTimersByTimeAsync(10_000);
  engine.isAway = false;
  await sandboxes.open("second", create("second"));
  await vi.advanceTimersByTimeAsync(60_000);
  expect([...engine.objects]).toEqual(["open", "second"]);
});

test("a provider that stops removes nothing later", async () => {
  const { engine, sandboxes, fail } = startEngine();
  await expect(sandboxes.open("one", fail("one"))).rejects.toThrow("No answer.");
  await sandboxes.stop();
  expect(vi.getTimerCount()).toBe(0);
  expect([...engine.objects]).toEqual(["one"]);
});

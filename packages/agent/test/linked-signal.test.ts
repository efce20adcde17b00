import { getEventListeners } from "node:events";
import { LinkedSignal } from "@outrider/agent/linked-signal";
import { describe, expect, it } from "vitest";

describe("a linked signal", () => {
  it("aborts with the first of its sources, for the same reason", () => {
    const [first, second] = [new AbortController(), new AbortController()];
    using linked = new LinkedSignal(first.signal, second.signal);
    expect(linked.signal.aborted).toBe(false);
    second.abort("second");
    first.abort("first");
    expect(linked.signal.reason).toBe("second");
  });

  it("is aborted if a source already is", () => {
    using linked = new LinkedSignal(new AbortController().signal, AbortSignal.abort("before"));
    expect(linked.signal.reason).toBe("before");
  });

  it("can be aborted without its sources", () => {
    const source = new AbortController();
    using linked = new LinkedSignal(source.signal);
    linked.abort("alone");
    expect(linked.signal.reason).toBe("alone");
    expect(source.signal.aborted).toBe(false);
  });

  it("leaves no listeners at its sources when it ends", () => {
    const source = new AbortController();
    const linked = new LinkedSignal(source.signal);
    expect(getEventListeners(source.signal, "abort")).toHaveLength(1);
    linked[Symbol.dispose]();
    expect(getEventListeners(source.signal, "abort")).toHaveLength(0);
    source.abort();
    expect(linked.signal.aborted).toBe(false);
  });
});

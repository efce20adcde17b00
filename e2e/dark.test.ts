import { describe, vi } from "vitest";
import { noticesTheDark } from "./dark.ts";
import { SilentRelay } from "./silent-relay.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });

describe("a database whose address falls silent", () => noticesTheDark(SilentRelay.start));

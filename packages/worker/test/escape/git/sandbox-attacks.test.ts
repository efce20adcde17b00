import { describe } from "vitest";
import { sandboxAttacks } from "./sandbox-attacks.ts";
import { testAttacks } from "./test-attacks.ts";

describe("a hostile checkout", () => testAttacks(sandboxAttacks, { atLeast: 35 }));

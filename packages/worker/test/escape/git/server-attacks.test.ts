import { describe } from "vitest";
import { serverAttacks } from "./server-attacks.ts";
import { testAttacks } from "./test-attacks.ts";

describe("a hostile server", () => testAttacks(serverAttacks, { atLeast: 36 }));

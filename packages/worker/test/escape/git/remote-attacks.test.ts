import { describe } from "vitest";
import { remoteAttacks } from "./remote-attacks.ts";
import { testAttacks } from "./test-attacks.ts";

describe("a hostile repository", () => testAttacks(remoteAttacks, { atLeast: 41 }));

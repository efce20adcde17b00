import { beforeAll, beforeEach } from "vitest";
import { waitForProcessor } from "./processor.ts";

/** Runs in each test file. These hooks precede those of the file. */
beforeAll(waitForProcessor);
beforeEach(waitForProcessor);

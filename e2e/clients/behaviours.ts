import type { Behaviour } from "./behaviour.ts";
import { connections } from "./behaviours/connections.ts";
import { endpoints } from "./behaviours/endpoints.ts";
import { refusals } from "./behaviours/refusals.ts";
import { retries } from "./behaviours/retries.ts";
import { streams } from "./behaviours/streams.ts";

/** What every client does, whatever its language. Each is played against the real server behind the fault proxy. */
export const behaviours: Behaviour[] = [...endpoints, ...refusals, ...retries, ...connections, ...streams];

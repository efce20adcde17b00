import type { Behavior } from "./behavior.ts";
import { connections } from "./behaviors/connections.ts";
import { errors } from "./behaviors/errors.ts";
import { otherResources } from "./behaviors/other-resources.ts";
import { pages } from "./behaviors/pages.ts";
import { publishing } from "./behaviors/publishing.ts";
import { retries } from "./behaviors/retries.ts";
import { runs } from "./behaviors/runs.ts";
import { streams } from "./behaviors/streams.ts";

/** Behaviors that every client must have. Each one runs against the real server behind the fault proxy. */
export const behaviors: Behavior[] = [
  ...runs,
  ...otherResources,
  ...publishing,
  ...errors,
  ...retries,
  ...connections,
  ...pages,
  ...streams,
];

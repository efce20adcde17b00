import type { RunItem } from "@outrider/sdk";

/** A file produced by a run. */
export type ArtifactItem = NonNullable<RunItem["artifacts"]>[number];

import type { RunItem } from "@outrider/sdk";

/** A file that a run has left, as the run tells of it. */
export type ArtifactItem = NonNullable<RunItem["artifacts"]>[number];

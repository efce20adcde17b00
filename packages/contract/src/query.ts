import { z } from "zod";
import { ArtifactType } from "./artifact.ts";
import { HarnessName } from "./harness.ts";
import { limits } from "./limits.ts";
import { PullRequestState } from "./pull-request.ts";
import { MetadataKey, RunSourceType, RunState } from "./run.ts";
import { runSorts } from "./run-state.ts";
import { parseTime, text } from "./text.ts";

/**
 * Schemas for query parameters. Parameters arrive as text, and these schemas parse them. The API reference shows the
 * parsed types.
 */

export function integer({ min, max }: { min: number; max: number }) {
  return z
    .string()
    .regex(/^\d{1,15}$/, { error: `must be an integer between ${min} and ${max}` })
    .transform(Number)
    .pipe(z.int().min(min).max(max));
}

/** A date or a timestamp. Accepts a space in the time zone offset, because an unescaped `+` arrives as a space. */
export const QueryTime = z
  .string()
  .transform((value, context) => {
    const written = value.replace(/ (?=\d{2}:\d{2}$)/, "+");
    const known =
      z.iso.datetime({ offset: true }).safeParse(written).success || z.iso.date().safeParse(written).success;
    const parsed = known ? parseTime(written) : undefined;
    if (!parsed) {
      context.addIssue("must be a timestamp such as 2026-01-31T09:30:00Z or a date such as 2026-01-31");
      return z.NEVER;
    }
    return parsed.toISOString();
  })
  .pipe(
    z
      .string()
      .meta({ anyOf: [{ format: "date-time" }, { format: "date" }], examples: ["2026-01-31T09:30:00Z"] }),
  );

const flag = z
  .enum(["true", "false"])
  .transform((value) => value === "true")
  .pipe(z.boolean());

const anyOf = <T extends z.ZodType>(item: T) => z.array(item).min(1).max(100).optional();

const UuidOrNone = z
  .string()
  .regex(/^(none|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$/, { error: "must be a UUID or `none`" })
  .toLowerCase();

export const ListRunsQuery = z.strictObject({
  limit: integer({ min: 1, max: limits.pageSize.max })
    .optional()
    .meta({ description: `Maximum number of runs per page. Default ${limits.pageSize.default}.` }),
  cursor: text({ max: 2_048 })
    .optional()
    .meta({ description: "`next_cursor` of the previous page. The filters must be the same." }),
  sort_by: z.enum(runSorts).optional().meta({
    description:
      "Default `created_at`. `cost` and `duration` are those at the last change of the run's state; the time that a run waits for users does not count.",
  }),
  sort_order: z.enum(["desc", "asc"]).optional().meta({ description: "Default `desc`." }),
  include_total: flag
    .optional()
    .meta({ description: "Also returns `total`, the number of matching runs on all pages." }),
  state: anyOf(RunState),
  config_name: anyOf(text({ max: limits.nameCharacters })),
  name: anyOf(text({ max: limits.nameCharacters })).meta({ description: "Alias of `config_name`." }),
  model_id: anyOf(text({ max: 128 })),
  harness: anyOf(HarnessName),
  creator: anyOf(text({ max: 320 })).meta({ description: "A `uid`, an email address, or `me`." }),
  source: anyOf(RunSourceType),
  environment_id: anyOf(UuidOrNone).meta({ description: "`none` selects runs without an environment." }),
  skill_spec: anyOf(text({ max: 2_048 })),
  artifact_type: anyOf(ArtifactType).meta({
    description: "Runs that produced an artifact of one of these types.",
  }),
  pull_request_state: anyOf(PullRequestState).meta({
    description:
      "The state of the run's pull request. Of several pull requests, an open one counts, otherwise a draft, otherwise a merged one.",
  }),
  error_code: anyOf(text({ max: 64 })).meta({
    description:
      "The error code of failed runs. `none` selects runs without one; combine it with the state FAILED.",
  }),
  repository: anyOf(text({ max: 2_048 })).meta({
    description:
      "Runs in environments that have the repository now, as a URL or as `owner/name` if the environment names it so.",
  }),
  created_after: QueryTime.optional().meta({ description: "Inclusive." }),
  created_before: QueryTime.optional().meta({ description: "Exclusive." }),
  updated_after: QueryTime.optional().meta({ description: "Inclusive." }),
  metadata: z
    .record(MetadataKey, text({ min: 0, bytes: limits.metadata.value }))
    .refine(
      (pairs) => Object.keys(pairs).length <= limits.metadata.filters,
      `must have at most ${limits.metadata.filters} pairs`,
    )
    .optional()
    .meta({
      maxProperties: limits.metadata.filters,
      description: "Filter by metadata, as `metadata[key]=value`. All pairs must match.",
    }),
  q: text({ max: limits.searchCharacters }).optional().meta({
    description: "Full-text search in title, prompt and skill. Tolerates typos in the title.",
  }),
});
export type ListRunsQuery = z.infer<typeof ListRunsQuery>;

export const ListEventsQuery = z.strictObject({
  after: integer({ min: 0, max: 2_147_483_647 })
    .optional()
    .meta({ description: "Return only events with a higher `seq`." }),
  limit: integer({ min: 1, max: limits.eventPageSize.max })
    .optional()
    .meta({
      description: `Maximum number of events per page. Default ${limits.eventPageSize.default}. Not allowed for streams.`,
    }),
});

import { z } from "zod";
import { limits } from "./limits.ts";
import { MetadataKey, RunSourceType, RunState } from "./run.ts";
import { parseTime, text, Uuid } from "./text.ts";

/** Query parameters arrive as text: these read it, and appear in the reference as what they read. */

function integer({ min, max }: { min: number; max: number }) {
  return z
    .string()
    .regex(/^\d{1,15}$/, { error: `must be a whole number from ${min} to ${max}` })
    .transform(Number)
    .pipe(z.int().min(min).max(max));
}

/** A date or a time. An unescaped `+` of an offset arrives as a space. */
const time = z
  .string()
  .transform((value, context) => {
    const written = value.replace(/ (?=\d{2}:\d{2}$)/, "+");
    const known =
      z.iso.datetime({ offset: true }).safeParse(written).success || z.iso.date().safeParse(written).success;
    const parsed = known ? parseTime(written) : undefined;
    if (!parsed) {
      context.addIssue("must be a time like 2026-01-31T09:30:00Z or a date like 2026-01-31");
      return z.NEVER;
    }
    return parsed.toISOString();
  })
  .pipe(
    z
      .string()
      .meta({ anyOf: [{ format: "date-time" }, { format: "date" }], examples: ["2026-01-31T09:30:00Z"] }),
  );

const anyOf = <T extends z.ZodType>(item: T) => z.array(item).min(1).max(100).optional();

export const ListRunsQuery = z.strictObject({
  limit: integer({ min: 1, max: limits.pageSize.max })
    .optional()
    .meta({ description: `Runs a page, at most. Default ${limits.pageSize.default}.` }),
  cursor: text({ max: 2_048 })
    .optional()
    .meta({ description: "`next_cursor` of the page before, with the same filters." }),
  sort_by: z
    .enum(["created_at", "updated_at", "title"])
    .optional()
    .meta({ description: "Default `created_at`." }),
  sort_order: z.enum(["desc", "asc"]).optional().meta({ description: "Default `desc`." }),
  state: anyOf(RunState),
  config_name: anyOf(text({ max: 128 })),
  name: anyOf(text({ max: 128 })).meta({ description: "The same filter as `config_name`." }),
  model_id: anyOf(text({ max: 128 })),
  creator: anyOf(text({ max: 320 })).meta({ description: "A uid, an e-mail address, or `me`." }),
  source: anyOf(RunSourceType),
  environment_id: anyOf(Uuid),
  skill_spec: anyOf(text({ max: 2_048 })),
  created_after: time.optional().meta({ description: "Inclusive." }),
  created_before: time.optional().meta({ description: "Exclusive." }),
  updated_after: time.optional().meta({ description: "Inclusive." }),
  metadata: z
    .record(MetadataKey, text({ min: 0, bytes: limits.metadata.value }))
    .refine(
      (pairs) => Object.keys(pairs).length <= limits.metadata.filters,
      `at most ${limits.metadata.filters} pairs`,
    )
    .optional()
    .meta({
      maxProperties: limits.metadata.filters,
      description: "`metadata[key]=value`, every pair must match.",
    }),
  q: text({ max: 256 }).optional().meta({
    description: "Words that title, prompt or skill must hold. Slips are forgiven in the title's words.",
  }),
});
export type ListRunsQuery = z.infer<typeof ListRunsQuery>;

export const ListEventsQuery = z.strictObject({
  after: integer({ min: 0, max: 2_147_483_647 })
    .optional()
    .meta({ description: "Only events with a higher `seq`." }),
  limit: integer({ min: 1, max: limits.eventPageSize.max })
    .optional()
    .meta({ description: `Events a page. Default ${limits.eventPageSize.default}. Not for streams.` }),
});

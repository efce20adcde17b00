import { z } from "zod";
import { limits } from "./limits.ts";
import { ListRunsQuery } from "./query.ts";
import { runSorts } from "./run-state.ts";
import { Timestamp, text, Uuid } from "./text.ts";

export const Owner = z.object({ uid: Uuid, display_name: z.string() }).meta({ id: "Owner" });
export type Owner = z.infer<typeof Owner>;

const filters = ListRunsQuery.omit({
  limit: true,
  cursor: true,
  sort_by: true,
  sort_order: true,
  include_total: true,
  name: true,
  metadata: true,
}).extend({ metadata: ListRunsQuery.shape.metadata.meta({ description: "All pairs must match." }) });

export const ViewQuery = filters.meta({ id: "ViewQuery", description: "The filters of the run list." });
export type ViewQuery = z.infer<typeof ViewQuery>;

const members = {
  name: text({ max: limits.nameCharacters }),
  query: ViewQuery,
  sort: z
    .strictObject({ by: z.enum(runSorts), order: z.enum(["desc", "asc"]) })
    .optional()
    .meta({ description: "Default: newest first." }),
  columns: z
    .array(text({ max: 64 }))
    .min(1)
    .max(limits.views.columns)
    .optional()
    .meta({ description: "The columns that a client shows. The server does not interpret them." }),
  is_shared: z.boolean().meta({ description: "Whether all users see the view. Default false." }),
};

export const CreateViewRequest = z
  .strictObject({ ...members, query: ViewQuery.optional(), is_shared: members.is_shared.optional() })
  .meta({
    id: "CreateViewRequest",
    examples: [{ name: "Failed nightly runs", query: { state: ["FAILED"], config_name: ["nightly"] } }],
  });
export type CreateViewRequest = z.infer<typeof CreateViewRequest>;

export const UpdateViewRequest = z
  .strictObject({
    name: members.name.optional(),
    // Has no name of its own: in a change, null does not stand for an absent field.
    query: filters.optional(),
    sort: members.sort,
    columns: members.columns,
    is_shared: members.is_shared.optional(),
  })
  .meta({ id: "UpdateViewRequest", description: "Absent fields stay the same." });
export type UpdateViewRequest = z.infer<typeof UpdateViewRequest>;

export const View = z
  .object({
    view_id: Uuid,
    ...members,
    owner: Owner,
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: "View", description: "Saved filters, sort order and columns of the run list." });
export type View = z.infer<typeof View>;

export const ListViewsResponse = z.object({ views: z.array(View) }).meta({ id: "ListViewsResponse" });

import { z } from "zod";
import { Timestamp, text, Uuid } from "./text.ts";

const members = {
  artifact_id: Uuid,
  type: z.enum(["FILE", "PATCH"]),
  name: text({ max: 255 }),
  mime_type: text({ max: 128 }),
  size_bytes: z.int().min(0),
};

/** What a worker says of a file that it has stored. */
export const NewArtifact = z.strictObject({ ...members, sha256: z.string().regex(/^[0-9a-f]{64}$/) });
export type NewArtifact = z.infer<typeof NewArtifact>;

export const Artifact = z
  .object({
    ...members,
    run_id: Uuid,
    created_at: Timestamp,
    removed_at: Timestamp.optional().meta({
      description: "When its content was removed by this installation's retention.",
    }),
  })
  .meta({ id: "Artifact", description: "A file that a run has left. Its content is at `/content`." });
export type Artifact = z.infer<typeof Artifact>;

import { z } from "zod";
import { PullRequest } from "./pull-request.ts";
import { Sha256, Timestamp, text, Uuid } from "./text.ts";

export const ArtifactType = z.enum(["FILE", "PATCH", "PULL_REQUEST"]);
export type ArtifactType = z.infer<typeof ArtifactType>;

export const FilesChanged = z.int().min(0).optional().meta({
  description: "Present for `PATCH`: how many files the patch changes.",
});

const members = {
  name: text({ max: 255 }),
  mime_type: text({ max: 128 }),
  size_bytes: z.int().min(0),
};

/**
 * A stored file that a worker reports. The field `type` keeps its name, which the database also uses, because workers
 * and servers of consecutive versions must understand each other.
 */
export const NewArtifact = z.strictObject({
  artifact_id: Uuid,
  type: ArtifactType.exclude(["PULL_REQUEST"]),
  ...members,
  sha256: Sha256,
});
export type NewArtifact = z.infer<typeof NewArtifact>;

export const Artifact = z
  .object({
    artifact_id: Uuid,
    artifact_type: ArtifactType,
    ...members,
    run_id: Uuid,
    created_at: Timestamp,
    files_changed: FilesChanged,
    pull_request: PullRequest.optional().meta({ description: "Present for `PULL_REQUEST`." }),
    removed_at: Timestamp.optional().meta({
      description: "When the retention policy of the installation removed the content.",
    }),
  })
  .meta({
    id: "Artifact",
    description:
      "A file or pull request that a run produced. Its content is at `/content`; for a pull request, it is the URL.",
  });
export type Artifact = z.infer<typeof Artifact>;

import { z } from "zod";

/** Where a worker uploads a blob. `server` is the blob's own URL; `stored` means that nothing has to be uploaded. */
export const UploadTarget = z.discriminatedUnion("type", [
  z.object({ type: z.literal("server") }),
  z.object({ type: z.literal("stored") }),
  z.object({
    type: z.literal("direct"),
    url: z.string(),
    /** The headers that the request must have. */
    headers: z.record(z.string(), z.string()),
  }),
]);
export type UploadTarget = z.infer<typeof UploadTarget>;

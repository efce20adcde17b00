import { z } from "zod";

/**
 * Data that is stored with an event and sent only to workers. The API, streams, transcripts, share links and webhooks
 * never contain it.
 */

/** The maximum length of one value, such as a signature or an encrypted reasoning block. */
export const MAX_METADATA_CHARACTERS = 256 * 1024;
/** The maximum length of an event's private data as JSON. */
export const MAX_PRIVATE_CHARACTERS = 512 * 1024;
const MAX_PARTS = 1_000;

/** Values that a provider must receive back unchanged, by provider and name. */
const Metadata = z.record(
  z.string().max(64),
  z.record(z.string().max(64), z.string().max(MAX_METADATA_CHARACTERS)),
);
export type ReplayMetadata = z.infer<typeof Metadata>;

const offset = z.int().min(0);

/**
 * One part of a model's response, in the order in which the model sent it. Texts are stored in the run's events, so a
 * part contains only the range of its text.
 */
export const ReplayPart = z.discriminatedUnion("type", [
  z.object({ type: z.literal("reasoning"), start: offset, end: offset, metadata: Metadata.optional() }),
  z.object({ type: z.literal("text"), start: offset, end: offset, metadata: Metadata.optional() }),
  z.object({ type: z.literal("call"), tool: z.string().max(256), metadata: Metadata.optional() }),
]);
export type ReplayPart = z.infer<typeof ReplayPart>;

/** How to send a response back to the model that wrote it, including its reasoning. */
export const Replay = z.object({
  model: z
    .string()
    .max(512)
    .meta({ description: "The provider's API and the model. Only it understands the rest." }),
  parts: z.array(ReplayPart).max(MAX_PARTS),
});
export type Replay = z.infer<typeof Replay>;

/** The private data of an event. Only `usage.updated` has some: how to replay the response of its model call. */
export const PrivateData = z
  .object({ replay: Replay })
  .refine((value) => JSON.stringify(value).length <= MAX_PRIVATE_CHARACTERS, {
    error: `must have at most ${MAX_PRIVATE_CHARACTERS} characters as JSON`,
  });
export type PrivateData = z.infer<typeof PrivateData>;

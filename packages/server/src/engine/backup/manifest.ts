import { z } from "zod";

/** What stands at the end of a backup: what it is, and what must come out of it again. */
export const Manifest = z.object({
  /** The version of Outrider, and of PostgreSQL, for whoever wonders. */
  outrider: z.string(),
  postgres: z.string(),
  /** The moment of the snapshot. */
  taken_at: z.string(),
  migrations: z.array(z.object({ number: z.int(), name: z.string(), checksum: z.string() })),
  tables: z.record(z.string(), z.object({ rows: z.int(), bytes: z.int(), sha256: z.string() })),
  sequences: z.record(z.string(), z.string()),
  /** Files of runs; those that were lost already at the time of the backup are not in it. */
  files: z.object({ count: z.int(), bytes: z.int(), missing: z.int() }),
  with_builds: z.boolean(),
  master_key: z.object({
    fingerprint: z.string(),
    /** Under a passphrase, where it was asked for. */
    sealed: z
      .object({
        kdf: z.literal("scrypt"),
        cost: z.int().max(2 ** 20),
        salt: z.base64(),
        nonce: z.base64(),
        box: z.base64(),
      })
      .optional(),
  }),
});
export type Manifest = z.infer<typeof Manifest>;

import { z } from "zod";

/**
 * The manifest at the end of a backup. It describes the backup's origin and contains the checksums that a restore
 * verifies.
 */
export const Manifest = z.object({
  /** The versions of Outrider and PostgreSQL. They are informational only. */
  outrider: z.string(),
  postgres: z.string(),
  /** The time at which the snapshot was taken. */
  taken_at: z.string(),
  migrations: z.array(z.object({ number: z.int(), name: z.string(), checksum: z.string() })),
  tables: z.record(z.string(), z.object({ rows: z.int(), bytes: z.int(), sha256: z.string() })),
  sequences: z.record(z.string(), z.string()),
  /** The files that runs refer to. Files that were already missing are counted in `missing` but not included. */
  files: z.object({ count: z.int(), bytes: z.int(), missing: z.int() }),
  with_builds: z.boolean(),
  master_key: z.object({
    fingerprint: z.string(),
    /** The master key encrypted with a passphrase, if it was included. */
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

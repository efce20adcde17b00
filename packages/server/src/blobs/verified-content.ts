import { createHash } from "node:crypto";
import { Transform } from "node:stream";
import { HashMismatchError } from "./blob-storage.ts";

/**
 * Passes content through and computes its hash. At the end, the stream fails if the hash is not the expected one.
 * Otherwise it calls `onVerified`, and ends once the returned promise is fulfilled, if there is one.
 */
export function verifiedContent(
  sha256: string,
  onVerified: (size: number) => Promise<void> | undefined,
): Transform {
  const hash = createHash("sha256");
  let size = 0;
  return new Transform({
    transform(chunk, _encoding, done) {
      hash.update(chunk);
      size += chunk.length;
      done(null, chunk);
    },
    flush(done) {
      if (hash.digest("hex") !== sha256) return done(new HashMismatchError());
      const verified = onVerified(size);
      if (!verified) return done();
      verified.then(() => done(), done);
    },
  });
}

import { z } from "zod";
import { pattern } from "./text.ts";

const label = "[a-zA-Z0-9-]+";
const port = "(?::[0-9]{1,5})";
const host = `${label}(?:\\.${label})+${port}?|localhost${port}?|${label}${port}`;
const name = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*";
const tag = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}";
const reference = new RegExp(`^(?:(?:${host})/)?${name}(?::${tag})?(?:@sha256:[0-9a-f]{64})?$`);

/** The reference of an OCI image, such as `debian:12`. */
export const ImageReference = pattern(
  reference,
  "must be an image such as `debian:12` or `ghcr.io/acme/ci@sha256:…`",
).max(512);

const ImageDigest = z.string().regex(/^sha256:[0-9a-f]{64}$/);

/** The image of a build, with the digest to which its tag pointed then. */
export const ResolvedImage = z
  .object({ reference: z.string(), digest: ImageDigest })
  .meta({ id: "ResolvedImage" });
export type ResolvedImage = z.infer<typeof ResolvedImage>;

export const ImageUser = pattern(
  /^[a-z_][a-z0-9_.-]{0,31}\$?$|^[0-9]{1,5}(:[0-9]{1,5})?$/,
  "must be the name of a user of the image, or ids such as `1000` or `1000:1000`",
);

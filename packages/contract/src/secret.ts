import { z } from "zod";
import { limits } from "./limits.ts";
import { byteLength, Timestamp, text, VariableName } from "./text.ts";

export const SecretName = VariableName;

export const PutSecretRequest = z
  .strictObject({
    value: text({ min: 0, bytes: limits.secret.max })
      .refine(
        (value) => byteLength(value) >= limits.secret.min,
        `must have at least ${limits.secret.min} bytes; shorter values cannot be masked`,
      )
      .meta({ minLength: 2, description: "The value, at least 8 bytes. It is never returned." }),
  })
  .meta({ id: "PutSecretRequest" });

export const Secret = z.object({ name: z.string(), updated_at: Timestamp }).meta({ id: "Secret" });
export type Secret = z.infer<typeof Secret>;

export const ListSecretsResponse = z.object({ secrets: z.array(Secret) }).meta({ id: "ListSecretsResponse" });

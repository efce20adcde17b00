import { z } from "zod";
import { ModelPrices } from "./model.ts";
import { pattern, Timestamp, text } from "./text.ts";

/** The kinds of model providers that can be connected. */
export const providerTypes = [
  "anthropic",
  "openai",
  "google",
  "openai-compatible",
  "amazon-bedrock",
  "google-vertex",
  "azure",
] as const;

export const ModelProviderType = z.enum(providerTypes).meta({ id: "ModelProviderType" });
export type ModelProviderType = z.infer<typeof ModelProviderType>;

export const ModelProviderName = pattern(
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/,
  "must be 1 to 32 letters, digits, `.`, `_` and `-`",
).meta({
  description: "The first part of the IDs of its models, such as `anthropic` in `anthropic/claude`.",
});

const ModelId = text({ max: 128 });

const ProviderUrl = z
  .url({ protocol: /^https?$/, error: "must be an http or https URL" })
  .max(2_048)
  .superRefine((value, context) => {
    const url = URL.canParse(value) ? new URL(value) : undefined;
    if (url?.username || url?.password)
      context.addIssue("must not contain credentials; send them as `api_key`");
    if (url?.search || url?.hash) context.addIssue("must not contain a query or a fragment");
  });

/** These names become parts of a URL. */
const CloudName = pattern(/^[a-z0-9][a-z0-9-]{0,62}$/, "must be 1 to 63 lower-case letters, digits and `-`");

const ownModelFields = {
  name: text({ max: 256 }).optional().meta({
    description: "The provider's name for the model, if it differs from `id`.",
  }),
  context_tokens: z.int().min(4_096).max(100_000_000).optional(),
  max_output_tokens: z.int().min(256).max(10_000_000).optional(),
  prices: z.strictObject(ModelPrices.shape).optional(),
  supports_images: z.boolean().optional(),
  supports_reasoning_effort: z.boolean().optional(),
};

export const OwnModel = z
  .strictObject({
    id: pattern(/^[\x21-\x7e]{1,95}$/, "must be 1 to 95 characters without spaces").meta({
      description: "The part of the model's ID after the name of the provider.",
    }),
    ...ownModelFields,
  })
  .meta({ id: "OwnModel", description: "A model with details that Outrider does not know or that differ." });
export type OwnModel = z.infer<typeof OwnModel>;

const OwnModels = z
  .array(OwnModel)
  .max(200)
  .refine((models) => new Set(models.map(({ id }) => id)).size === models.length, {
    error: "must not contain the same `id` twice",
  });

export const ModelTest = z
  .object({
    ok: z.boolean(),
    model_id: z.string(),
    latency_ms: z.int().optional().meta({ description: "Time until the response was complete." }),
    response: z.string().optional().meta({ description: "The beginning of what the model answered." }),
    input_tokens: z.int().optional(),
    output_tokens: z.int().optional(),
    message: z.string().meta({ description: "The result in one sentence." }),
    remedy: z.string().optional().meta({ description: "What to do about a failure." }),
    tested_at: Timestamp,
  })
  .meta({ id: "ModelTest", description: "The result of a real call." });
export type ModelTest = z.infer<typeof ModelTest>;

const settingsFields = {
  type: ModelProviderType,
  base_url: ProviderUrl.optional().meta({
    description:
      "Address of the API, if it differs from the provider's own. Required for `openai-compatible`.",
  }),
  api: z
    .enum(["responses", "chat"])
    .optional()
    .meta({ description: "For `openai` and `azure`. Default: `responses`." }),
  region: CloudName.optional().meta({ description: "Required for `amazon-bedrock`." }),
  project: CloudName.optional().meta({ description: "Required for `google-vertex`." }),
  location: CloudName.optional().meta({ description: "Required for `google-vertex`." }),
  resource_name: CloudName.optional().meta({
    description: "For `azure`. Required unless `base_url` is given.",
  }),
};

export const ModelSource = z.enum(["stored", "file", "variables"]).meta({
  id: "ModelSource",
  description:
    "Where a setting comes from: the database, the models file, or environment variables of the server. The last two take precedence, and only the operator of the server can change them.",
});
export type ModelSource = z.infer<typeof ModelSource>;

export const ModelProvider = z
  .object({
    name: z.string(),
    ...settingsFields,
    base_url: z.string().optional(),
    source: ModelSource,
    has_key: z.boolean(),
    models: z.array(z.object(OwnModel.shape)),
    available: z.boolean(),
    reason: z.string().optional().meta({ description: "Why its models are not available." }),
    last_test: ModelTest.optional(),
    created_at: Timestamp.optional(),
    updated_at: Timestamp.optional(),
  })
  .meta({ id: "ModelProvider", description: "A connection to models. No response contains its key." });
export type ModelProvider = z.infer<typeof ModelProvider>;

export const ListModelProvidersResponse = z
  .object({ providers: z.array(ModelProvider) })
  .meta({ id: "ListModelProvidersResponse" });

export const PutModelProviderRequest = z
  .strictObject({
    ...settingsFields,
    models: OwnModels.optional(),
    api_key: text({ max: 16_384 }).nullable().optional().meta({
      description:
        "The API key, or the content of the key file of a service account for `google-vertex`. It is encrypted, and no response contains it. If absent, the stored key stays; `null` removes it.",
    }),
  })
  .meta({
    id: "PutModelProviderRequest",
    examples: [{ type: "anthropic", api_key: "sk-ant-0123456789" }],
  });
export type PutModelProviderRequest = z.infer<typeof PutModelProviderRequest>;

export const ModelTestRequest = z
  .strictObject({
    model: text({ max: 256 }).optional().meta({
      description: "The part of the model's ID after the name of the provider. Default: its first model.",
    }),
  })
  .meta({ id: "ModelTestRequest" });

const Aliases = z
  .record(ModelProviderName, ModelId)
  .refine((aliases) => Object.keys(aliases).length <= 100, "must have at most 100 entries");

export const ModelSettingsRequest = z
  .strictObject({
    default_model_id: ModelId.optional().meta({
      description: "Model for runs that do not specify one. If absent, the first available model is used.",
    }),
    aliases: Aliases.optional().meta({ description: "Other names for models." }),
  })
  .meta({
    id: "ModelSettingsRequest",
    examples: [{ default_model_id: "usual", aliases: { usual: "anthropic/claude-sonnet-5-5" } }],
  });
export type ModelSettingsRequest = z.infer<typeof ModelSettingsRequest>;

export const ModelSettings = z
  .object({
    default_model_id: z.string().optional().meta({ description: "The stored default." }),
    aliases: z.record(z.string(), z.string()).meta({ description: "The stored aliases." }),
    effective_default_model_id: z.string().meta({ description: "The model that runs use by default." }),
    default_source: z.enum(["stored", "file", "variables", "automatic"]).meta({
      description: "Where the effective default comes from. `automatic`: the first available model.",
    }),
    file_aliases: z.record(z.string(), z.string()).meta({
      description: "Aliases from the models file. They replace stored aliases of the same name.",
    }),
    problems: z.array(z.string()).meta({ description: "Why parts of the stored settings have no effect." }),
  })
  .meta({ id: "ModelSettings" });
export type ModelSettings = z.infer<typeof ModelSettings>;

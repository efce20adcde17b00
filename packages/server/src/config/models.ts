import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { read } from "@outrider/contract/fault";
import { ModelPrices } from "@outrider/contract/model";
import { z } from "zod";

/** The operator's word on models: one file, and variables for who needs no file. */
export interface ModelSettings {
  defaultModelId?: string;
  providers: Record<string, ProviderSettings>;
  aliases: Record<string, string>;
}

export interface ProviderSettings {
  type: ProviderType;
  base_url?: string | undefined;
  api?: "responses" | "chat" | undefined;
  headers?: Record<string, string> | undefined;
  models: Record<string, z.infer<typeof OwnModel>>;
  key: KeySetting;
}

/**
 * Where a provider's key comes from. One that stands in the file is sealed into the database; an empty one there removes it.
 * `stored`: nothing is said, so what was sealed before counts; `hint` is how to give one.
 */
export type KeySetting =
  | { from: "literal"; value: string }
  | { from: "outside"; name: string; value: string }
  | { from: "missing"; reason: string }
  | { from: "stored"; hint: string };

const Type = z.enum(["anthropic", "openai", "google", "openai-compatible"]);
export type ProviderType = z.infer<typeof Type>;

const OwnModel = z.strictObject({
  name: z.string().min(1).max(256).optional(),
  context_tokens: z.int().min(4_096).max(100_000_000).optional(),
  max_output_tokens: z.int().min(256).max(10_000_000).optional(),
  prices: z.strictObject(ModelPrices.shape).optional(),
  sees_images: z.boolean().optional(),
});

const Word = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/, "must be 1 to 32 letters, digits, `.`, `_` and `-`");
const ModelName = z.string().regex(/^[\x21-\x7e]{1,95}$/, "must be 1 to 95 characters without spaces");
const Address = z.url({ protocol: /^https?$/, error: "must be an http or https address" });

const Provider = z
  .strictObject({
    type: Type.optional(),
    base_url: Address.optional(),
    api: z.enum(["responses", "chat"]).optional(),
    api_key: z.string().optional(),
    api_key_env: z.string().min(1).optional(),
    api_key_file: z.string().min(1).optional(),
    headers: z.record(z.string().regex(/^[\w-]+$/, "must be the name of a header"), z.string()).optional(),
    models: z.record(ModelName, OwnModel).optional(),
  })
  .superRefine(({ api_key, api_key_env, api_key_file }, context) => {
    const given = [api_key, api_key_env, api_key_file].filter((one) => one !== undefined);
    if (given.length > 1) context.addIssue("may have one of `api_key`, `api_key_env` and `api_key_file`");
  });

const ModelsFile = z.strictObject({
  default_model_id: z.string().optional(),
  providers: z.record(Word, Provider).optional(),
  aliases: z.record(Word, z.string()).optional(),
});

/** A provider of this name and type needs no entry in the file: its key is enough. */
const usual = {
  anthropic: ["ANTHROPIC_API_KEY"],
  openai: ["OPENAI_API_KEY"],
  google: ["GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
  "openai-compatible": ["OUTRIDER_OPENAI_COMPATIBLE_KEY"],
} as const satisfies Record<ProviderType, string[]>;

/** What no worker of ours may inherit. */
export const modelKeyVariables: string[] = Object.values(usual).flat();

interface Sources {
  /** Where the file lies if it was asked for; otherwise it is looked for in the data folder. */
  file: string | undefined;
  dataDir: string;
  variable(name: string): string | undefined;
}

/** Throws a sentence that names the file, the member and the remedy. */
export function readModels({ file, dataDir, variable }: Sources): ModelSettings {
  const path = file ?? join(dataDir, "models.json");
  const said = fileAt(path, file !== undefined);
  const providers = Object.entries({ ...implied(variable), ...said.providers }).map(([name, provider]) => {
    const wrong = (member: string, message: string) =>
      new Error(`${path}: \`/providers/${name}${member}\` ${message}.`);
    return [name, settingsOf(name, provider, { path, variable, wrong })] as const;
  });
  const defaultModelId = variable("OUTRIDER_DEFAULT_MODEL") ?? said.default_model_id;
  return {
    providers: Object.fromEntries(providers),
    aliases: said.aliases ?? {},
    ...(defaultModelId ? { defaultModelId } : {}),
  };
}

function fileAt(path: string, isAsked: boolean): z.infer<typeof ModelsFile> {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && !isAsked) return {};
    throw new Error(
      `${path} cannot be read (${code}). OUTRIDER_MODELS or --models names the file of models.`,
    );
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // What the parser says would quote the text, which may hold a key.
    throw new Error(`${path} is not valid JSON.`);
  }
  const result = read(ModelsFile, json, "body");
  if ("data" in result) return result.data;
  const [{ pointer, message }] = result.faults;
  throw new Error(`${path}: ${pointer ? `\`${pointer}\`` : "the whole"} ${message}.`);
}

/** What variables alone configure. */
function implied(variable: Sources["variable"]): Record<string, z.infer<typeof Provider>> {
  const base_url = variable("OUTRIDER_OPENAI_COMPATIBLE_URL");
  const names = (variable("OUTRIDER_OPENAI_COMPATIBLE_MODELS") ?? "").split(",").map((name) => name.trim());
  const own = { anthropic: {}, openai: {}, google: {} };
  if (!base_url) return own;
  if (!Address.safeParse(base_url).success) {
    throw new Error("OUTRIDER_OPENAI_COMPATIBLE_URL must be an http or https address.");
  }
  const models = Object.fromEntries(names.filter(Boolean).map((name) => [name, {}]));
  return { ...own, "openai-compatible": { base_url, models } };
}

interface Reading {
  path: string;
  variable: Sources["variable"];
  wrong(member: string, message: string): Error;
}

function settingsOf(name: string, provider: z.infer<typeof Provider>, reading: Reading): ProviderSettings {
  const { wrong } = reading;
  const named = Type.safeParse(name).data;
  const type = provider.type ?? named;
  if (!type)
    throw wrong("/type", `is missing; it is one of ${Type.options.map((one) => `\`${one}\``).join(", ")}`);
  if (named && named !== type)
    throw wrong("/type", `must be \`${named}\`; give a provider of another type another name`);
  if (name === "scripted") throw wrong("", "has the name of the model that is not an LLM; choose another");
  const { base_url, api, headers, models = {} } = provider;
  if (type === "openai-compatible" && !base_url)
    throw wrong("/base_url", "is missing; say where the models are");
  if (api && type !== "openai") throw wrong("/api", "goes with the type `openai` alone");
  return {
    type,
    base_url: base_url?.replace(/\/+$/, ""),
    api,
    headers,
    models,
    key: keyOf(name, type, provider, reading),
  };
}

function keyOf(
  name: string,
  type: ProviderType,
  provider: z.infer<typeof Provider>,
  reading: Reading,
): KeySetting {
  const { path, variable } = reading;
  const { api_key, api_key_env, api_key_file } = provider;
  if (api_key !== undefined) {
    const place = `${path}: \`/providers/${name}/api_key\``;
    return { from: "literal", value: api_key === "" ? "" : checked(api_key, place) };
  }
  if (api_key_env !== undefined) {
    const value = variable(api_key_env);
    if (value) return { from: "outside", name: api_key_env, value: checked(value, api_key_env) };
    return {
      from: "missing",
      reason: `no key: the variable ${api_key_env}, which ${path} names, is not set`,
    };
  }
  if (api_key_file !== undefined) {
    try {
      const value = readFileSync(resolve(dirname(path), api_key_file), "utf8").trim();
      return { from: "outside", name: api_key_file, value: checked(value, api_key_file) };
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === undefined) throw error;
      return {
        from: "missing",
        reason: `no key: ${api_key_file}, which ${path} names, cannot be read (${code})`,
      };
    }
  }
  // A key of the usual name is meant for the provider of that name, and must not go to another's address.
  const names = name === type ? usual[type] : [];
  const found = names.find((one) => variable(one));
  if (found) return { from: "outside", name: found, value: checked(variable(found) as string, found) };
  const way = `give the provider \`${name}\` a key in ${path}`;
  return {
    from: "stored",
    hint: `no key: ${names.length > 0 ? `set ${names.join(" or ")}, or ` : ""}${way}`,
  };
}

function checked(value: string, place: string): string {
  if (/^[\x21-\x7e]{1,8192}$/.test(value)) return value;
  throw new Error(`${place} holds no key: a key is one line of visible characters without spaces.`);
}

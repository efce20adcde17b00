import { join } from "node:path";
import { HarnessName, harnessFacts, WireFormat } from "@outrider/contract/harness";
import { text, VariableName } from "@outrider/contract/text";
import { z } from "zod";
import { readJsonFile } from "./json-file.ts";

/** The operator's settings of harnesses, by name: of those that Outrider knows, and of those that the operator declares. */
export type HarnessSettings = Record<string, HarnessSetting>;

export interface HarnessSetting {
  packages?: Record<string, string> | undefined;
  small_model_id?: string | undefined;
  /** Only for a harness that the operator declares. */
  declared?: {
    title: string;
    command: string[];
    env: Record<string, string>;
    wire_formats: WireFormat[];
    supports_mcp_servers: boolean;
  };
}

const PackageName = z
  .string()
  .max(214)
  .regex(/^(@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/, "must be the name of an npm package");
const ExactVersion = z
  .string()
  .max(128)
  .regex(/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/, "must be an exact version such as `1.2.3`");

const declaredFields = ["title", "command", "env", "wire_formats", "supports_mcp_servers"] as const;

const Setting = z.strictObject({
  title: text({ max: 64 }).optional(),
  command: z
    .array(text({ max: 4_096 }))
    .min(1)
    .max(100)
    .optional(),
  env: z.record(VariableName, text({ min: 0, max: 32_768 })).optional(),
  packages: z.record(PackageName, ExactVersion).optional(),
  wire_formats: z
    .array(WireFormat)
    .min(1)
    .refine((formats) => new Set(formats).size === formats.length, "must not contain duplicates")
    .optional(),
  supports_mcp_servers: z.boolean().optional(),
  small_model_id: text({ max: 128 }).optional(),
});

const HarnessesFile = z.strictObject({
  harnesses: z
    .record(HarnessName, Setting)
    .refine((harnesses) => Object.keys(harnesses).length <= 50, "must have at most 50 entries")
    .optional(),
});

interface Sources {
  /** The file that the operator configured. If undefined, `harnesses.json` in the data directory is used if it exists. */
  file: string | undefined;
  dataDir: string;
}

/** Reads the settings of harnesses. Errors name the file and the field, and say how to fix the problem. */
export function readHarnesses({ file, dataDir }: Sources): HarnessSettings {
  const path = file ?? join(dataDir, "harnesses.json");
  const content = readJsonFile({
    path,
    schema: HarnessesFile,
    isRequired: file !== undefined,
    hint: "OUTRIDER_HARNESSES or --harnesses sets the path of the harnesses file.",
  });
  return Object.fromEntries(
    Object.entries(content?.harnesses ?? {}).map(([name, setting]) => {
      const invalid = (field: string, message: string) =>
        new Error(`${path}: \`/harnesses/${name}${field}\` ${message}.`);
      return [name, readSetting(name, setting, invalid)];
    }),
  );
}

function readSetting(
  name: string,
  setting: z.infer<typeof Setting>,
  invalid: (field: string, message: string) => Error,
): HarnessSetting {
  const { packages, small_model_id, title = name, command, env = {} } = setting;
  const shared = { packages, small_model_id };
  if (name === "outrider") throw invalid("", "cannot be configured: it is the built-in agent");
  if (Object.hasOwn(harnessFacts, name)) {
    const field = declaredFields.find((candidate) => setting[candidate] !== undefined);
    if (!field) return shared;
    const message = `cannot be set for \`${name}\`, which Outrider knows; choose another name to declare your own agent`;
    throw invalid(`/${field}`, message);
  }
  if (!command) throw invalid("/command", "is required: the program that speaks ACP, and its arguments");
  if (!setting.wire_formats) {
    const formats = WireFormat.options.map((format) => `\`${format}\``).join(", ");
    throw invalid("/wire_formats", `is required: the formats in which the agent calls models, of ${formats}`);
  }
  const { wire_formats, supports_mcp_servers = false } = setting;
  return { ...shared, declared: { title, command, env, wire_formats, supports_mcp_servers } };
}

import { DEFAULT_HARNESS } from "@outrider/contract/default-harness";
import {
  chooseWireFormat,
  type Harness,
  type HarnessFacts,
  harnessFacts,
  type ListHarnessesResponse,
  type WireFormat,
} from "@outrider/contract/harness";
import type { AssignedHarness } from "@outrider/contract/worker";
import type { HarnessSetting, HarnessSettings } from "../../config/harnesses.ts";
import type { LiveWorker } from "../../store/dispatch/workers.ts";
import { invalidField } from "../api-error.ts";
import type { Models } from "../models/models.ts";
import { availabilityOf } from "./availability.ts";

/*
 * The harnesses of this installation: those that Outrider knows, with the operator's settings, and those that the
 * operator declares. A run is rejected at creation if its harness cannot honor the run's configuration. The operator
 * can change the settings later, so follow-ups and claims check a run again.
 */

/** How many models an error lists. */
const MAX_LISTED = 20;

interface ConfiguredHarness extends HarnessFacts {
  name: string;
  setting: HarnessSetting;
}

/** What a run or a cloud agent would do with a harness. */
export interface HarnessUse {
  name: string;
  /** Where the name comes from, if the request does not contain it. */
  defaultOf?: "cloud agent" | "environment" | undefined;
  modelId: string;
  hasMcpServers?: boolean | undefined;
  hasReasoningEffort?: boolean | undefined;
}

/** The fields that errors refer to. `model` is absent if the request does not name the model. */
export interface HarnessPointers {
  harness: string;
  model?: string | undefined;
  mcpServers?: string;
  reasoningEffort?: string;
}

export interface Harnesses {
  /** Throws if there is no such harness. */
  require(name: string, pointer: string): void;
  /** Throws an error that says what would work if the harness cannot be used like this. */
  requireUsable(use: HarnessUse, pointers: HarnessPointers): void;
  /** Returns why a run that was created earlier can no longer use its harness. */
  problemOf(use: Pick<HarnessUse, "name" | "modelId" | "hasMcpServers">): string | undefined;
  /** Returns what a worker needs to use the harness, or undefined for the built-in one. */
  assign(use: Pick<HarnessUse, "name" | "modelId" | "hasMcpServers">): AssignedHarness | undefined;
  /** Returns the model for short tasks of a run, if it differs from the model of the run. */
  smallModelOf(name: string, modelId: string): string | undefined;
  supportsReasoningEffort(name: string): boolean;
  /** `forAdmins` includes the problems of workers, which may name files of their machines. */
  list(workers: LiveWorker[], options: { forAdmins: boolean }): ListHarnessesResponse;
}

const quoteAll = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(", ");

/** Creates the list of harnesses. Throws if a setting names a model that does not exist or does not fit. */
export function openHarnesses(settings: HarnessSettings, models: Models): Harnesses {
  const configured = new Map<string, ConfiguredHarness>();
  for (const [name, facts] of Object.entries(harnessFacts))
    configured.set(name, { name, ...facts, setting: settings[name] ?? {} });
  for (const [name, setting] of Object.entries(settings)) {
    if (!setting.declared) continue;
    const { title, wire_formats, supports_mcp_servers } = setting.declared;
    const facts = { title, wire_formats, supports_mcp_servers, supports_reasoning_effort: false };
    configured.set(name, { name, ...facts, setting });
  }

  const formatFor = (harness: ConfiguredHarness, modelId: string): WireFormat | undefined =>
    chooseWireFormat(harness, models.wireFormats(modelId));
  const fits = (harness: ConfiguredHarness, modelId: string) =>
    harness.name === DEFAULT_HARNESS || formatFor(harness, modelId) !== undefined;
  const modelsOf = (harness: ConfiguredHarness) =>
    models.list.models
      .filter(({ available, model_id }) => available && fits(harness, model_id))
      .map(({ model_id }) => model_id);
  const unknownText = `is not a harness of this installation; available: ${quoteAll([...configured.keys()])}`;

  for (const harness of configured.values()) requireSmallModel(harness, models, formatFor);

  const smallModelOf = (name: string, modelId: string): string | undefined => {
    const harness = configured.get(name);
    const small = harness?.setting.small_model_id;
    if (!harness || small === undefined || small === modelId) return undefined;
    if (!models.find(small)?.available) return undefined;
    const format = formatFor(harness, modelId);
    return format && models.wireFormats(small).includes(format) ? small : undefined;
  };

  const problemOf: Harnesses["problemOf"] = ({ name, modelId, hasMcpServers }) => {
    const harness = configured.get(name);
    if (!harness) return `the harness \`${name}\` is no longer configured`;
    // A model that is no longer configured is an error of its own.
    if (models.find(modelId) && !fits(harness, modelId)) return mismatchText(harness, modelId);
    if (hasMcpServers && !harness.supports_mcp_servers)
      return `the harness \`${name}\` does not support MCP servers`;
    return undefined;
  };

  return {
    problemOf,
    smallModelOf,

    require(name, pointer) {
      if (!configured.has(name)) throw invalidField(pointer, unknownText);
    },

    requireUsable(use, pointers) {
      const { name, defaultOf, modelId } = use;
      const harness = configured.get(name);
      if (!harness) {
        const message = defaultOf
          ? `defaults to \`${name}\` of the ${defaultOf}, which ${unknownText}`
          : unknownText;
        throw invalidField(pointers.harness, message);
      }
      const alternatives = (matches: (other: ConfiguredHarness) => boolean) =>
        quoteAll(
          [...configured.values()]
            .filter((other) => fits(other, modelId) && matches(other))
            .map((other) => other.name),
        );
      if (!fits(harness, modelId)) {
        const works = listSome(modelsOf(harness));
        const reason = mismatchText(harness, modelId);
        // The field that the caller set is the one to change.
        const pointer = defaultOf && pointers.model ? pointers.model : pointers.harness;
        const source = defaultOf ? ` (the default of the ${defaultOf})` : "";
        const message = `cannot be used: ${reason}${source}; models that work with \`${name}\`: ${works}; harnesses that work with \`${modelId}\`: ${alternatives(() => true)}`;
        throw invalidField(pointer, message);
      }
      if (use.hasMcpServers && !harness.supports_mcp_servers) {
        const others = alternatives((other) => other.supports_mcp_servers);
        throw invalidField(
          pointers.mcpServers ?? pointers.harness,
          `cannot be used with the harness \`${name}\`, which does not support MCP servers; omit them, or use one of the harnesses ${others}`,
        );
      }
      if (use.hasReasoningEffort && !harness.supports_reasoning_effort) {
        const others = alternatives((other) => other.supports_reasoning_effort);
        throw invalidField(
          pointers.reasoningEffort ?? pointers.harness,
          `cannot be set with the harness \`${name}\`, which does not support it; omit it, or use one of the harnesses ${others}`,
        );
      }
    },

    supportsReasoningEffort: (name) => configured.get(name)?.supports_reasoning_effort ?? false,

    assign(use) {
      const { name, modelId } = use;
      if (name === DEFAULT_HARNESS) return undefined;
      const harness = configured.get(name);
      const { packages, declared } = harness?.setting ?? {};
      const small = smallModelOf(name, modelId);
      const unavailable = problemOf(use);
      return {
        name,
        title: harness?.title ?? name,
        wire_format: (harness && formatFor(harness, modelId)) ?? "anthropic-messages",
        supports_mcp_servers: harness?.supports_mcp_servers ?? false,
        ...(small ? { small_model: models.work(small) } : {}),
        ...(packages ? { packages } : {}),
        ...(declared ? { command: declared.command, env: declared.env } : {}),
        ...(unavailable ? { unavailable } : {}),
      };
    },

    list(workers, { forAdmins }) {
      const harnesses = [...configured.values()].map((harness): Harness => {
        const { name, title, wire_formats, supports_mcp_servers, supports_reasoning_effort, setting } =
          harness;
        const { packages, small_model_id, declared } = setting;
        const { version, ...availability } = availabilityOf(workers, {
          ...{ name, forAdmins, isDeclared: declared !== undefined },
        });
        return {
          name,
          title,
          // The versions that workers report are the pinned ones.
          ...(version && !packages ? { version } : {}),
          ...(packages ? { packages } : {}),
          wire_formats: [...wire_formats],
          supports_mcp_servers,
          supports_reasoning_effort,
          ...(small_model_id ? { small_model_id } : {}),
          models: modelsOf(harness),
          ...availability,
        };
      });
      return { harnesses };
    },
  };
}

function mismatchText({ name, wire_formats }: ConfiguredHarness, modelId: string): string {
  const formats = wire_formats.map((format) => `\`${format}\``).join(" or ");
  return `the provider of \`${modelId}\` does not speak ${formats}, which the harness \`${name}\` needs`;
}

function listSome(names: string[]): string {
  const more = names.length > MAX_LISTED ? ` and ${names.length - MAX_LISTED} more` : "";
  return names.length === 0 ? "none" : `${quoteAll(names.slice(0, MAX_LISTED))}${more}`;
}

/** Throws if the small model does not exist, or if no run with the harness could use it. */
function requireSmallModel(
  harness: ConfiguredHarness,
  models: Models,
  formatFor: (harness: ConfiguredHarness, modelId: string) => WireFormat | undefined,
) {
  const { name, wire_formats, setting } = harness;
  const { small_model_id: small } = setting;
  if (small === undefined) return;
  const field = `The small model of the harness \`${name}\``;
  if (!models.find(small))
    throw new Error(`${field} is \`${small}\`, which is not a model of a configured provider.`);
  // Admins can change a stored provider at any time. Runs then use their own model for short tasks.
  if (formatFor(harness, small) || models.sourceOf(small) === "stored") return;
  throw new Error(
    `${field} is \`${small}\`, whose provider does not speak ${wire_formats.map((format) => `\`${format}\``).join(" or ")}. Choose another model as \`small_model_id\`.`,
  );
}

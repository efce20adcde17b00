import { ReasoningEffort } from "@outrider/contract/agent-config";
import { limits } from "@outrider/contract/limits";
import { SandboxKind } from "@outrider/contract/sandbox-kind";
import { useHarness } from "../../harnesses/harnesses.ts";
import { sandboxAdvice, sandboxLabel } from "../../sandboxes/sandbox-choices.tsx";
import { Field, Select, TextArea, TextInput } from "../../ui/form/field.tsx";
import type { TextMember } from "./draft.ts";
import { McpServers } from "./mcp-servers.tsx";
import { PublishField } from "./publish-field.tsx";
import { SkillField } from "./skill-field.tsx";
import type { Composer } from "./use-composer.ts";

interface OptionField {
  member: TextMember;
  /** The path in the request. */
  name: string;
  label: string;
  hint?: string;
  numeric?: boolean;
  long?: boolean;
  code?: boolean;
}

const nameFields: OptionField[] = [
  { member: "title", name: "title", label: "Title", hint: "Default: the first line of the prompt." },
  {
    member: "name",
    name: "config.name",
    label: "Name",
    hint: "A label for finding runs of the same kind.",
  },
];

const limitFields: OptionField[] = [
  { member: "max_cost_usd", name: "limits.max_cost_usd", label: "Cost limit (USD)", numeric: true },
  {
    member: "timeout_minutes",
    name: "limits.timeout_minutes",
    label: "Time limit (minutes)",
    numeric: true,
  },
  { member: "max_steps", name: "limits.max_steps", label: "Step limit", numeric: true },
  {
    member: "priority",
    name: "priority",
    label: `Priority (−${-limits.priority.min} to ${limits.priority.max})`,
    numeric: true,
  },
];

const instructions: OptionField[] = [
  {
    member: "base_prompt",
    name: "config.base_prompt",
    label: "Base prompt",
    hint: "Instructions that apply regardless of the prompt.",
    long: true,
  },
  {
    member: "output_schema",
    name: "output_schema",
    label: "Output schema",
    hint: "A JSON Schema that the final answer must match.",
    long: true,
    code: true,
  },
  {
    member: "metadata",
    name: "metadata",
    label: "Metadata",
    hint: "Your own labels, one key=value per line.",
    long: true,
    code: true,
  },
];

const workerFields: OptionField[] = [
  {
    member: "worker_host",
    name: "config.worker_host",
    label: "Worker pool",
    hint: "Default: the pool of the environment.",
  },
  {
    member: "worker_selector",
    name: "config.worker_selector",
    label: "Worker labels",
    hint: "Such as region=eu, gpu. Those of the environment apply too.",
  },
];

const idleTimeout: OptionField = {
  member: "idle_timeout_minutes",
  name: "config.idle_timeout_minutes",
  label: "Idle timeout (minutes)",
  hint: "How long the sandbox waits for a follow-up. Default: 10.",
  numeric: true,
};

interface OptionsProps {
  composer: Composer;
  /** The name of the harness that would execute the run. */
  harness: string;
}

export function Options({ composer, harness: name }: OptionsProps) {
  const harness = useHarness(name);
  const { draft, change, fieldErrors } = composer;
  const line = ({ member, name, label, hint, numeric, long, code }: OptionField) => (
    <Field key={member} label={label} hint={hint} error={fieldErrors[name]}>
      {(parts) => {
        const shared = {
          ...parts,
          value: draft[member],
          className: code ? "font-mono text-xs" : "",
          onChange: ({ target }: { target: { value: string } }) => change({ [member]: target.value }),
        };
        return long ? (
          <TextArea {...shared} />
        ) : (
          <TextInput {...shared} inputMode={numeric ? "decimal" : "text"} />
        );
      }}
    </Field>
  );
  return (
    <div className="flex flex-col gap-5">
      <div className="grid gap-4 sm:grid-cols-2">{nameFields.map(line)}</div>
      <div className="grid grid-cols-2 items-start gap-4 sm:grid-cols-4">{limitFields.map(line)}</div>
      <div className="grid gap-4 sm:grid-cols-2">
        <SkillField
          value={draft.skill_spec}
          environmentId={draft.environment_id}
          error={fieldErrors["config.skill_spec"]}
          onChange={(skill_spec) => change({ skill_spec })}
        />
        {line(idleTimeout)}
        <PublishField
          value={draft.publish}
          environmentId={draft.environment_id}
          error={fieldErrors["config.publish"]}
          onChange={(publish) => change({ publish })}
        />
        <Field
          label="Reasoning effort"
          hint="How much the model reasons, if it has an effort."
          error={
            draft.reasoning_effort && harness && !harness.supports_reasoning_effort
              ? `cannot be set for ${harness.title}; choose the default`
              : fieldErrors["config.reasoning_effort"]
          }
        >
          {(parts) => (
            <Select
              {...parts}
              value={draft.reasoning_effort}
              onChange={({ target }) => change({ reasoning_effort: target.value })}
            >
              <option value="">Default</option>
              {ReasoningEffort.options.map((effort) => (
                <option key={effort} value={effort}>
                  {effort}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
      <div className="grid gap-4 sm:grid-cols-3">
        <Field
          label="Sandbox"
          hint={
            draft.sandbox === ""
              ? "Default: the kind of the environment, then any."
              : sandboxAdvice(draft.sandbox)
          }
          error={fieldErrors["config.sandbox"]}
        >
          {(parts) => (
            <Select
              {...parts}
              value={draft.sandbox}
              onChange={({ target }) => change({ sandbox: target.value })}
            >
              <option value="">As the environment says</option>
              {SandboxKind.options.map((kind) => (
                <option key={kind} value={kind}>
                  {sandboxLabel(kind)}
                </option>
              ))}
            </Select>
          )}
        </Field>
        {workerFields.map(line)}
      </div>
      <div className="grid items-start gap-4 sm:grid-cols-2">{instructions.map(line)}</div>
      <McpServers
        servers={draft.servers}
        unsupportedBy={harness && !harness.supports_mcp_servers ? harness.title : undefined}
        fieldErrors={fieldErrors}
        onChange={(servers) => change({ servers })}
      />
    </div>
  );
}

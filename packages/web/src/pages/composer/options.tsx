import { Field, TextArea, TextInput } from "../../ui/field.tsx";
import { Attachments } from "./attachments.tsx";
import type { TextMember } from "./draft.ts";
import { faultAt } from "./faults.ts";
import { McpServers } from "./mcp-servers.tsx";
import { SkillField } from "./skill-field.tsx";
import type { Composer } from "./use-composer.ts";

interface Line {
  member: TextMember;
  pointer: string;
  label: string;
  hint?: string;
  numeric?: boolean;
  long?: boolean;
  code?: boolean;
}

const labels: Line[] = [
  { member: "title", pointer: "/title", label: "Title", hint: "Else made from the prompt's first line." },
  { member: "name", pointer: "/config/name", label: "Name", hint: "A label to find runs of one kind by." },
];

const bounds: Line[] = [
  { member: "max_cost_usd", pointer: "/limits/max_cost_usd", label: "Cost limit, $", numeric: true },
  {
    member: "timeout_minutes",
    pointer: "/limits/timeout_minutes",
    label: "Time limit, minutes",
    numeric: true,
  },
  { member: "max_steps", pointer: "/limits/max_steps", label: "Step limit", numeric: true },
  { member: "priority", pointer: "/priority", label: "Priority, −10 to 10", numeric: true },
];

const behaviour: Line[] = [
  {
    member: "base_prompt",
    pointer: "/config/base_prompt",
    label: "Base prompt",
    hint: "How the agent should behave, whatever it is asked to do.",
    long: true,
  },
  {
    member: "output_schema",
    pointer: "/output_schema",
    label: "Output schema",
    hint: "A JSON Schema that the final answer must fit.",
    long: true,
    code: true,
  },
  {
    member: "metadata",
    pointer: "/metadata",
    label: "Metadata",
    hint: "Your own labels, one key=value a line.",
    long: true,
    code: true,
  },
];

const kept: Line = {
  member: "idle_timeout_minutes",
  pointer: "/config/idle_timeout_minutes",
  label: "Keep the sandbox, minutes",
  hint: "How long it waits for a follow-up. 10 where not set.",
  numeric: true,
};

export function Options({ composer }: { composer: Composer }) {
  const { draft, change, faults, files, setFiles } = composer;
  const line = ({ member, pointer, label, hint, numeric, long, code }: Line) => (
    <Field key={member} label={label} hint={hint} error={faultAt(faults, pointer)}>
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
      <div className="grid gap-4 sm:grid-cols-2">{labels.map(line)}</div>
      <div className="grid grid-cols-2 items-start gap-4 sm:grid-cols-4">{bounds.map(line)}</div>
      <div className="grid gap-4 sm:grid-cols-2">
        <SkillField
          value={draft.skill_spec}
          environmentId={draft.environment_id}
          error={faultAt(faults, "/config/skill_spec")}
          onChange={(skill_spec) => change({ skill_spec })}
        />
        {line(kept)}
      </div>
      <div className="grid items-start gap-4 sm:grid-cols-2">{behaviour.map(line)}</div>
      <McpServers servers={draft.servers} faults={faults} onChange={(servers) => change({ servers })} />
      <Attachments files={files} error={faultAt(faults, "/attachments")} onChange={setFiles} />
    </div>
  );
}

import type { RunLimits } from "@outrider/sdk";
import { Field, TextInput } from "../../../ui/form/field.tsx";

export type LimitTexts = Record<keyof RunLimits, string>;

export const noLimits: LimitTexts = { max_steps: "", max_cost_usd: "", timeout_minutes: "" };

const fields: { member: keyof RunLimits; label: string; step: string }[] = [
  { member: "max_steps", label: "Steps", step: "1" },
  { member: "max_cost_usd", label: "Dollars", step: "any" },
  { member: "timeout_minutes", label: "Minutes", step: "1" },
];

/** Returns the limits that the user entered. All other limits remain unchanged. */
export function limitsOf(texts: LimitTexts): RunLimits | undefined {
  const set = Object.entries(texts).filter(([, text]) => text.trim() !== "");
  return set.length === 0
    ? undefined
    : Object.fromEntries(set.map(([member, text]) => [member, Number(text)]));
}

interface LimitFieldsProps {
  texts: LimitTexts;
  current: RunLimits | undefined;
  onChange: (texts: LimitTexts) => void;
}

/** Edits the limits to send with the message. Higher limits let a run continue after it has reached its limits. */
export function LimitFields({ texts, current, onChange }: LimitFieldsProps) {
  return (
    <fieldset className="grid grid-cols-3 gap-2 border-b border-line px-3 py-2">
      <legend className="sr-only">New limits</legend>
      {fields.map(({ member, label, step }) => (
        <Field key={member} label={label}>
          {(parts) => (
            <TextInput
              {...parts}
              type="number"
              min="0"
              step={step}
              inputMode="decimal"
              placeholder={current?.[member] === undefined ? "unchanged" : String(current[member])}
              value={texts[member]}
              onChange={({ target }) => onChange({ ...texts, [member]: target.value })}
            />
          )}
        </Field>
      ))}
    </fieldset>
  );
}

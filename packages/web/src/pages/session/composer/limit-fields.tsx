import type { RunLimits } from "@outrider/sdk";
import { Field, TextInput } from "../../../ui/form/field.tsx";

export type LimitTexts = Record<keyof RunLimits, string>;

export const noLimits: LimitTexts = { max_steps: "", max_cost_usd: "", timeout_minutes: "" };

const fields: { member: keyof RunLimits; label: string; isWhole: boolean }[] = [
  { member: "max_steps", label: "Steps", isWhole: true },
  { member: "max_cost_usd", label: "Dollars", isWhole: false },
  { member: "timeout_minutes", label: "Minutes", isWhole: true },
];

/** Returns what is wrong with a limit, phrased to follow its label. */
function limitError(text: string, isWhole: boolean): string | undefined {
  if (text.trim() === "") return undefined;
  const number = Number(text);
  if (!(number > 0)) return "must be a number above 0";
  return isWhole && !Number.isInteger(number) ? "must be a whole number" : undefined;
}

export function hasLimitErrors(texts: LimitTexts): boolean {
  return fields.some(({ member, isWhole }) => limitError(texts[member], isWhole) !== undefined);
}

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
      {fields.map(({ member, label, isWhole }) => (
        <Field key={member} label={label} error={limitError(texts[member], isWhole)}>
          {(parts) => (
            <TextInput
              {...parts}
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

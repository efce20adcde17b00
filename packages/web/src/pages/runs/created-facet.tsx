import { Button } from "../../ui/button.tsx";
import { Field, TextInput } from "../../ui/field.tsx";
import { Facet } from "./facet.tsx";

interface CreatedFacetProps {
  from: string | undefined;
  to: string | undefined;
  onChange: (range: { from: string | undefined; to: string | undefined }) => void;
}

const quick = [
  { label: "Today", days: 0 },
  { label: "7 days", days: 6 },
  { label: "30 days", days: 29 },
];

const DAY_MS = 86_400_000;

function dayOf(date: Date): string {
  const two = (part: number) => String(part).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Whole days, in the reader's zone. */
export function CreatedFacet({ from, to, onChange }: CreatedFacetProps) {
  const words = from && to ? `${from} to ${to}` : from ? `since ${from}` : to ? `until ${to}` : undefined;
  return (
    <Facet label="Created" value={words}>
      <div className="flex flex-col gap-3 p-1">
        <div className="flex gap-1">
          {quick.map(({ label, days }) => (
            <Button
              key={label}
              small
              onClick={() => onChange({ from: dayOf(new Date(Date.now() - days * DAY_MS)), to: undefined })}
            >
              {label}
            </Button>
          ))}
        </div>
        <Field label="First day">
          {(parts) => (
            <TextInput
              {...parts}
              type="date"
              value={from ?? ""}
              max={to}
              onChange={({ target }) => onChange({ from: target.value || undefined, to })}
            />
          )}
        </Field>
        <Field label="Last day">
          {(parts) => (
            <TextInput
              {...parts}
              type="date"
              value={to ?? ""}
              min={from}
              onChange={({ target }) => onChange({ from, to: target.value || undefined })}
            />
          )}
        </Field>
        {words && (
          <Button small look="quiet" onClick={() => onChange({ from: undefined, to: undefined })}>
            Any time
          </Button>
        )}
      </div>
    </Facet>
  );
}

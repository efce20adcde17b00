import { Button } from "../../ui/button.tsx";
import { Field, TextInput } from "../../ui/form/field.tsx";
import { Facet } from "./facet.tsx";

interface CreatedFacetProps {
  from: string | undefined;
  to: string | undefined;
  onChange: (range: { from: string | undefined; to: string | undefined }) => void;
}

const presets = [
  { label: "Today", days: 0 },
  { label: "7 days", days: 6 },
  { label: "30 days", days: 29 },
];

const DAY_MS = 86_400_000;

function dayOf(date: Date): string {
  const two = (part: number) => String(part).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Returns the day that is shown for a day or an exact time. */
function shownDay(value: string | undefined): string {
  return value?.includes("T") ? dayOf(new Date(value)) : (value ?? "");
}

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

function describe(value: string): string {
  return value.includes("T") ? exact.format(new Date(value)) : value;
}

/** Filters by whole days in the user's time zone. Links from charts select exact times. */
export function CreatedFacet({ from, to, onChange }: CreatedFacetProps) {
  const summary =
    from && to
      ? `${describe(from)} to ${describe(to)}`
      : from
        ? `since ${describe(from)}`
        : to
          ? `until ${describe(to)}`
          : undefined;
  return (
    <Facet label="Created" value={summary}>
      <div className="flex flex-col gap-3 p-1">
        <div className="flex gap-1">
          {presets.map(({ label, days }) => (
            <Button
              key={label}
              small
              onClick={() => onChange({ from: dayOf(new Date(Date.now() - days * DAY_MS)), to: undefined })}
            >
              {label}
            </Button>
          ))}
        </div>
        <Field label="Start date">
          {(parts) => (
            <TextInput
              {...parts}
              type="date"
              value={shownDay(from)}
              max={shownDay(to) || undefined}
              onChange={({ target }) => onChange({ from: target.value || undefined, to })}
            />
          )}
        </Field>
        <Field label="End date">
          {(parts) => (
            <TextInput
              {...parts}
              type="date"
              value={shownDay(to)}
              min={shownDay(from) || undefined}
              onChange={({ target }) => onChange({ from, to: target.value || undefined })}
            />
          )}
        </Field>
        {summary && (
          <Button small variant="quiet" onClick={() => onChange({ from: undefined, to: undefined })}>
            Any time
          </Button>
        )}
      </div>
    </Facet>
  );
}

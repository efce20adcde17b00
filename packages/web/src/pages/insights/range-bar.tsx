import type { CloudEnvironment } from "@outrider/sdk";
import { CalendarDays, GitCompareArrows } from "lucide-react";
import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Field, Select, TextInput } from "../../ui/form/field.tsx";
import { SegmentedControl } from "../../ui/form/segmented-control.tsx";
import { Dialog } from "../../ui/overlay/dialog.tsx";
import { type InsightsSearch, type Range, ranges } from "./search.ts";

interface RangeBarProps {
  search: InsightsSearch;
  /** Undefined while they are loading. */
  environments: readonly CloudEnvironment[] | undefined;
  onChange: (changes: Partial<Record<keyof InsightsSearch, string | undefined>>) => void;
}

/** Shows the controls for the time range, the comparison and the environment. All of them are in the URL. */
export function RangeBar({ search, environments, onChange }: RangeBarProps) {
  const [isChoosing, setChoosing] = useState(false);
  const isCustom = search.from !== undefined;
  const isCompared = search.compare !== "off";
  return (
    <div className="flex flex-wrap items-center gap-2">
      <span className="w-44">
        <Select
          aria-label="Environment"
          value={search.environment ?? ""}
          onChange={({ target }) => onChange({ environment: target.value || undefined })}
        >
          <option value="">All environments</option>
          {!environments && search.environment && <option value={search.environment}>…</option>}
          {environments?.map(({ environment_id, name }) => (
            <option key={environment_id} value={environment_id}>
              {name}
            </option>
          ))}
        </Select>
      </span>
      <Button
        aria-pressed={isCompared}
        title="Compare with the period before"
        icon={<GitCompareArrows className="size-4" aria-hidden />}
        className="aria-pressed:bg-accent-soft aria-pressed:text-accent-ink"
        onClick={() => onChange({ compare: isCompared ? "off" : undefined })}
      >
        Compare
      </Button>
      <SegmentedControl<Range | "">
        label="Time range"
        value={isCustom ? "" : (search.range ?? "30d")}
        options={ranges.map((value) => ({ value, label: value }))}
        onChange={(range) =>
          onChange({
            range: range === "30d" || range === "" ? undefined : range,
            from: undefined,
            to: undefined,
          })
        }
      />
      <Button
        aria-pressed={isCustom}
        icon={<CalendarDays className="size-4" aria-hidden />}
        className="aria-pressed:bg-accent-soft aria-pressed:text-accent-ink"
        onClick={() => setChoosing(true)}
      >
        Custom
      </Button>
      {isChoosing && (
        <CustomRange
          search={search}
          onClose={() => setChoosing(false)}
          onChoose={(from, to) => {
            onChange({ from, to, range: undefined });
            setChoosing(false);
          }}
        />
      )}
    </div>
  );
}

interface CustomRangeProps {
  search: InsightsSearch;
  onChoose: (from: string, to: string) => void;
  onClose: () => void;
}

const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);

function CustomRange({ search, onChoose, onClose }: CustomRangeProps) {
  const [from, setFrom] = useState(() => search.from ?? dayOf(Date.now() - 13 * 86_400_000));
  const [to, setTo] = useState(() => search.to ?? dayOf(Date.now()));
  const error = from && to && from > to ? "must not be before the first day" : undefined;
  return (
    <Dialog
      open
      onClose={onClose}
      title="Custom range"
      description="Days are in UTC."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            variant="primary"
            disabled={!from || !to || Boolean(error)}
            onClick={() => onChoose(from, to)}
          >
            Apply
          </Button>
        </>
      }
    >
      <div className="grid grid-cols-2 gap-3">
        <Field label="First day">
          {(parts) => (
            <TextInput
              {...parts}
              data-autofocus
              type="date"
              value={from}
              onChange={({ target }) => setFrom(target.value)}
            />
          )}
        </Field>
        <Field label="Last day" error={error}>
          {(parts) => (
            <TextInput {...parts} type="date" value={to} onChange={({ target }) => setTo(target.value)} />
          )}
        </Field>
      </div>
    </Dialog>
  );
}

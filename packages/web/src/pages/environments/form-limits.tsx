import { Field, TextInput } from "../../ui/field.tsx";
import { type Amount, amountPointer } from "./draft.ts";
import { PartFrame, type PartProps } from "./form-parts.tsx";

export const amountFields: { amount: Amount; label: string; unit: string; fallback: string }[] = [
  { amount: "cpus", label: "CPUs", unit: "", fallback: "all that are free" },
  { amount: "memory_mb", label: "Memory", unit: "MB", fallback: "4096, at most half the machine" },
  { amount: "disk_mb", label: "Disk", unit: "MB", fallback: "10240" },
  { amount: "pids", label: "Processes", unit: "", fallback: "4096" },
  {
    amount: "timeout_minutes",
    label: "Timeout of a turn",
    unit: "minutes",
    fallback: "the installation's, 60",
  },
  { amount: "max_concurrent_runs", label: "Runs at once", unit: "", fallback: "no limit of its own" },
];

export function FormLimits({ draft, change, faults }: PartProps) {
  return (
    <PartFrame
      title="Resources and limits"
      lead="Empty fields take the default. What you set holds or the run fails: a worker that cannot enforce it refuses the sandbox and says why."
    >
      <div className="grid gap-4 sm:grid-cols-2">
        {amountFields.map(({ amount, label, unit, fallback }) => (
          <Field
            key={amount}
            label={unit ? `${label} (${unit})` : label}
            error={faults[amountPointer(amount)]}
            hint={`Default: ${fallback}`}
          >
            {(parts) => (
              <TextInput
                {...parts}
                inputMode="decimal"
                value={draft.amounts[amount]}
                onChange={({ target }) => change({ amounts: { ...draft.amounts, [amount]: target.value } })}
              />
            )}
          </Field>
        ))}
      </div>
    </PartFrame>
  );
}

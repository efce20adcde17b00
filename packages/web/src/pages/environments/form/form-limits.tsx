import type { CloudEnvironment } from "@outrider/sdk";
import { TextField } from "../../../ui/form/fields.tsx";
import { parseNumber } from "../../../ui/form/use-request-form.ts";
import { FormSection, type FormSectionProps } from "./form-section.tsx";

interface Amount {
  name: "timeout_minutes" | "max_concurrent_runs" | `resources.${"cpus" | "memory_mb" | "disk_mb" | "pids"}`;
  valueIn: (environment: CloudEnvironment) => number | undefined;
  label: string;
  unit: string;
  fallback: string;
}

export const amounts: Amount[] = [
  {
    name: "resources.cpus",
    valueIn: ({ resources }) => resources?.cpus,
    label: "CPUs",
    unit: "",
    fallback: "all available",
  },
  {
    name: "resources.memory_mb",
    valueIn: ({ resources }) => resources?.memory_mb,
    label: "Memory",
    unit: "MB",
    fallback: "4096, up to half of the machine's memory",
  },
  {
    name: "resources.disk_mb",
    valueIn: ({ resources }) => resources?.disk_mb,
    label: "Disk",
    unit: "MB",
    fallback: "10240",
  },
  {
    name: "resources.pids",
    valueIn: ({ resources }) => resources?.pids,
    label: "Processes",
    unit: "",
    fallback: "4096",
  },
  {
    name: "timeout_minutes",
    valueIn: ({ timeout_minutes }) => timeout_minutes,
    label: "Turn timeout",
    unit: "minutes",
    fallback: "60, unless the installation sets another",
  },
  {
    name: "max_concurrent_runs",
    valueIn: ({ max_concurrent_runs }) => max_concurrent_runs,
    label: "Concurrent runs",
    unit: "",
    fallback: "no limit",
  },
];

export function FormLimits({ form }: FormSectionProps) {
  return (
    <FormSection
      title="Resources and limits"
      lead="Empty fields use the default. Limits that you set are always enforced: if a worker cannot enforce one, the run fails and reports why."
    >
      <div className="grid gap-4 sm:grid-cols-2">
        {amounts.map(({ name, label, unit, fallback }) => (
          <TextField
            key={name}
            label={unit ? `${label} (${unit})` : label}
            {...form.field(name, parseNumber)}
            hint={`Default: ${fallback}`}
            inputMode="decimal"
          />
        ))}
      </div>
    </FormSection>
  );
}

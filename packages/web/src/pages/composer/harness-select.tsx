import { HarnessOptions } from "../../harnesses/harness-options.tsx";
import { useDefaultHarness, useHarness } from "../../harnesses/harnesses.ts";
import { InlineSelect } from "./inline-select.tsx";

interface HarnessSelectProps {
  value: string;
  /** The environment's harness is the default. */
  environmentId: string;
  error: string | undefined;
  onChange: (harness: string) => void;
}

export function HarnessSelect({ value, environmentId, error, onChange }: HarnessSelectProps) {
  const standard = useHarness(useDefaultHarness(environmentId));
  return (
    <InlineSelect label="Harness" value={value} error={error} onChange={onChange}>
      <option value="">{standard ? `Default harness (${standard.title})` : "Default harness"}</option>
      <HarnessOptions value={value} />
    </InlineSelect>
  );
}

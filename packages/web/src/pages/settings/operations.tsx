import { useQuery } from "@tanstack/react-query";
import { queries } from "../../queries.ts";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../ui/feedback/skeleton.tsx";
import { Section } from "../../ui/page.tsx";
import { CancelAll } from "./cancel-all.tsx";
import { MaintenanceForm } from "./maintenance-form.tsx";
import { MaintenanceState } from "./maintenance-state.tsx";
import { Sandboxes } from "./sandboxes.tsx";

const POLL_MS = 2_000;

/** Lets admins restrict the service without stopping it, and cancel runs, for example during an incident. */
export function Operations() {
  const {
    data: maintenance,
    error,
    refetch,
  } = useQuery({ ...queries.maintenance(), refetchInterval: POLL_MS });
  // The page continues to show the last state if a single poll fails.
  if (error && !maintenance) return <ErrorAlert error={error} onRetry={() => void refetch()} />;
  if (!maintenance) return <SkeletonRows label="Loading maintenance" />;
  return (
    <>
      <MaintenanceState maintenance={maintenance} />
      <Section
        title="Set restrictions"
        lead="Takes effect on every server within a second, survives restarts, and never interrupts active runs."
      >
        <MaintenanceForm maintenance={maintenance} />
      </Section>
      <Section
        title="Sandboxes"
        lead="Where the connected workers execute runs, and what they enforce. Environments and runs can ask for a kind."
      >
        <Sandboxes />
      </Section>
      <Section
        title="Cancel runs"
        lead="Cancels all unfinished runs that match the filters, after showing how many there are."
      >
        <CancelAll acceptsRuns={maintenance.mode === "normal" && maintenance.admission === "open"} />
      </Section>
    </>
  );
}

import { useQuery } from "@tanstack/react-query";
import { queries } from "../../queries.ts";
import { Section } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { SkeletonRows } from "../../ui/skeleton.tsx";
import { BrakeForm } from "./brake-form.tsx";
import { BrakeState } from "./brake-state.tsx";
import { CancelAll } from "./cancel-all.tsx";

/** How many runs are left is what an operator waits for. */
const LOOK_AGAIN_MS = 2_000;

/** For bad days: stop the service without stopping it, and end what runs. */
export function Operations() {
  const { data: brake, error, refetch } = useQuery({ ...queries.brake(), refetchInterval: LOOK_AGAIN_MS });
  // What was read last stands while a single look fails.
  if (error && !brake) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!brake) return <SkeletonRows label="Loading the brake" />;
  return (
    <>
      <BrakeState brake={brake} />
      <Section
        title="Set the brake"
        lead="It holds on every server within a second, outlives restarts, and never cuts off what is at work."
      >
        <BrakeForm brake={brake} />
      </Section>
      <Section
        title="Cancel runs"
        lead="Ends every run that has not ended and that the filters find. They are counted first."
      >
        <CancelAll isTaking={brake.mode === "normal" && brake.intake === "open"} />
      </Section>
    </>
  );
}

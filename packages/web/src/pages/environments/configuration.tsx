import type { CloudEnvironment } from "@outrider/sdk";
import { useMemo, useState } from "react";
import { outrider } from "../../api.ts";
import { showToast } from "../../frame/toasts.ts";
import { queries, queryClient } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { EnvironmentForm } from "./form/environment-form.tsx";
import { valuesOf } from "./form/values.ts";

interface ConfigurationProps {
  environment: CloudEnvironment;
  isDirty: boolean;
  onDirty: (isDirty: boolean) => void;
}

/**
 * Shows the form for a stored environment. A newer version is loaded at once, unless that would discard unsaved
 * changes.
 */
export function Configuration({ environment, isDirty, onDirty }: ConfigurationProps) {
  const [shown, setShown] = useState(environment);
  if (environment.version !== shown.version && !isDirty) setShown(environment);
  const start = useMemo(() => valuesOf(shown), [shown]);
  const { environment_id } = environment;
  return (
    <>
      {environment.version !== shown.version && isDirty && (
        <div
          role="alert"
          className="mb-4 flex flex-wrap items-center gap-3 rounded-lg border border-warn/40 bg-warn-soft p-4"
        >
          <p className="min-w-0 flex-1">
            Someone else saved version {environment.version}. Saving overwrites it with your changes.
          </p>
          <Button
            small
            onClick={() => {
              onDirty(false);
              setShown(environment);
            }}
          >
            Use their version
          </Button>
        </div>
      )}
      <EnvironmentForm
        key={shown.version}
        start={start}
        action="Save changes"
        save={(request) => outrider.environments.replace(environment_id, request)}
        onDirty={onDirty}
        onSaved={(saved) => {
          setShown(saved);
          queryClient.setQueryData(queries.environment(environment_id).queryKey, saved);
          void queryClient.invalidateQueries({ queryKey: ["environments"] });
          showToast("Environment saved. The next run rebuilds it if needed.");
        }}
      />
    </>
  );
}

import type { CloudEnvironment } from "@outrider/sdk";
import { useMemo, useState } from "react";
import { outrider } from "../../api.ts";
import { queries, queryClient } from "../../queries.ts";
import { announce } from "../../shell/announcements.ts";
import { Button } from "../../ui/button.tsx";
import { draftOf } from "./draft.ts";
import { EnvironmentForm } from "./environment-form.tsx";

interface ConfigurationProps {
  environment: CloudEnvironment;
  isDirty: boolean;
  onDirty: (isDirty: boolean) => void;
}

/** The form over what is stored. A newer version is taken over at once, unless that would lose what was typed. */
export function Configuration({ environment, isDirty, onDirty }: ConfigurationProps) {
  const [shown, setShown] = useState(environment);
  if (environment.version !== shown.version && !isDirty) setShown(environment);
  const start = useMemo(() => draftOf(shown), [shown]);
  const { environment_id } = environment;
  return (
    <>
      {environment.version !== shown.version && isDirty && (
        <div
          role="alert"
          className="mb-4 flex flex-wrap items-center gap-3 rounded-lg border border-warn/40 bg-warn-soft p-4"
        >
          <p className="min-w-0 flex-1">
            Somebody saved version {environment.version} meanwhile. Saving replaces it with what stands here.
          </p>
          <Button
            small
            onClick={() => {
              onDirty(false);
              setShown(environment);
            }}
          >
            Take theirs
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
          announce("Saved. The next run builds it where its content has changed.");
        }}
      />
    </>
  );
}

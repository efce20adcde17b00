import { limits } from "@outrider/contract/limits";
import type { Maintenance } from "@outrider/sdk";
import clsx from "clsx";
import { useState } from "react";
import { fieldErrorOf } from "../../field-errors.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { Field, TextArea } from "../../ui/form/field.tsx";
import { Form } from "../../ui/form/form.tsx";
import { Confirm } from "../../ui/overlay/confirm.tsx";
import {
  hasRestrictions,
  optionFor,
  type Restriction,
  requestOf,
  restrictionOf,
  restrictions,
} from "./maintenance-labels.ts";
import { useMaintenance } from "./use-maintenance.ts";

/** Sets the restrictions. The form shows the current ones until the user selects others. */
export function MaintenanceForm({ maintenance }: { maintenance: Maintenance }) {
  const [draft, setDraft] = useState<{ restriction?: Restriction; message?: string }>({});
  const [isConfirming, setConfirming] = useState(false);
  const current = restrictionOf(maintenance);
  const restriction = draft.restriction ?? current ?? "admission";
  const message = draft.message ?? (hasRestrictions(maintenance) ? (maintenance.message ?? "") : "");
  const isSame = restriction === current;
  const { mutate, isPending, error, reset } = useMaintenance(() => {
    setDraft({});
    setConfirming(false);
  });
  const { action, done } = optionFor(restriction);
  const set = () =>
    mutate({ request: requestOf(restriction, message), done: isSame ? "Message updated" : done });

  const submit = () => {
    // Pausing new runs is easy to undo and may be urgent, so only the other options ask for confirmation.
    if (isSame || (restriction === "admission" && !hasRestrictions(maintenance))) set();
    else {
      reset();
      setConfirming(true);
    }
  };
  return (
    <Form aria-label="Set restrictions" className="flex flex-col gap-4" onSubmit={submit}>
      <fieldset className="flex flex-col gap-2">
        <legend className="pb-2 font-medium">Restriction</legend>
        {restrictions.map((option) => (
          <label
            key={option.restriction}
            className={clsx(
              "flex items-start gap-3 rounded-lg border p-3 hover:bg-raised",
              option.restriction === restriction ? "border-accent bg-accent-soft/40" : "border-line",
            )}
          >
            <input
              type="radio"
              name="stop"
              checked={option.restriction === restriction}
              onChange={() => setDraft({ ...draft, restriction: option.restriction })}
              aria-describedby={`description-${option.restriction}`}
              aria-label={option.action}
              className="mt-0.5 size-4 shrink-0 accent-accent"
            />
            <span>
              <span className="font-medium">{option.action}</span>
              <span id={`description-${option.restriction}`} className="block text-muted">
                {option.description}
              </span>
            </span>
          </label>
        ))}
      </fieldset>
      <Field
        label="Message"
        optional
        hint="Returned with every rejected request and shown above every page. Say why, and until when."
        error={fieldErrorOf(error, "/message")}
      >
        {(parts) => (
          <TextArea
            {...parts}
            rows={2}
            maxLength={limits.maintenanceMessage}
            placeholder="Back at 14:00 UTC after the database migration."
            value={message}
            onChange={({ target }) => setDraft({ ...draft, message: target.value })}
          />
        )}
      </Field>
      {error && !isConfirming && <ErrorAlert error={error} />}
      <div>
        <Button
          type="submit"
          variant={isSame ? "plain" : "danger"}
          busy={isPending}
          disabled={isSame && message.trim() === (maintenance.message ?? "")}
        >
          {isSame ? "Update message" : action}
          {!isSame && (restriction !== "admission" || hasRestrictions(maintenance)) && "…"}
        </Button>
      </div>
      {isConfirming && (
        <Confirm
          title={`${action}?`}
          action={action}
          busy={isPending}
          error={error}
          onConfirm={set}
          onClose={() => setConfirming(false)}
        >
          <p>{optionFor(restriction).description}</p>
          <p>{effectOf(restriction, maintenance)}</p>
        </Confirm>
      )}
    </Form>
  );
}

/** Describes the effect on existing runs. */
function effectOf(restriction: Restriction, { runs: { in_progress, queued } }: Maintenance): string {
  const fate = restriction === "admission" ? "will continue" : "will wait until maintenance ends";
  return `${in_progress} in progress will finish; ${queued} queued ${fate}.`;
}

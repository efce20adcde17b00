import type { RunItem } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { outrider } from "../../../api.ts";
import { showToast } from "../../../frame/toasts.ts";
import { queryClient } from "../../../queries.ts";
import { Button } from "../../../ui/button.tsx";
import { ErrorAlert } from "../../../ui/feedback/error-alert.tsx";
import { Field, Select, TextInput } from "../../../ui/form/field.tsx";
import { exactTime, Time } from "../../../ui/format/time.tsx";
import { Dialog } from "../../../ui/overlay/dialog.tsx";
import { CopyButton } from "../../../ui/text/copy.tsx";

const DAY = 24;

const expiries = [
  { hours: 1, label: "1 hour" },
  { hours: DAY, label: "1 day" },
  { hours: 7 * DAY, label: "1 week" },
  { hours: 30 * DAY, label: "30 days" },
  { hours: 365 * DAY, label: "1 year" },
];

export function ShareDialog({ run, onClose }: { run: RunItem; onClose: () => void }) {
  const [hours, setHours] = useState(7 * DAY);
  const onSettled = () => queryClient.invalidateQueries({ queryKey: ["run", run.run_id] });
  const make = useMutation({
    mutationFn: () => outrider.runs.share(run.run_id, { expires_in_hours: hours }),
    onSettled,
  });
  const end = useMutation({
    mutationFn: () => outrider.runs.unshare(run.run_id),
    onSuccess: () => {
      make.reset();
      showToast("Link revoked");
    },
    onSettled,
  });
  const created = make.data;
  const expires = created?.expires_at ?? run.share?.expires_at;
  const isShared = expires !== undefined && !(end.isSuccess && !created && !run.share);
  return (
    <Dialog
      open
      onClose={onClose}
      title="Share this run"
      description="Anyone with the link can read this run's transcript, changes and artifacts without signing in."
      footer={
        <>
          {isShared && (
            <Button variant="danger" busy={end.isPending} onClick={() => end.mutate()}>
              Revoke link
            </Button>
          )}
          <Button variant="primary" busy={make.isPending} onClick={() => make.mutate()}>
            {isShared ? "Replace link" : "Create link"}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {created?.link && (
          <Field label="Link" hint="Copy it now. You won't be able to see it again.">
            {(parts) => (
              <div className="flex gap-2">
                <TextInput
                  {...parts}
                  readOnly
                  value={created.link}
                  onFocus={({ target }) => target.select()}
                  className="font-mono text-xs"
                />
                <CopyButton text={created.link ?? ""} what="link" labelled />
              </div>
            )}
          </Field>
        )}
        {isShared && (
          <p role="status">
            A link is active until <strong className="font-medium">{exactTime(expires)}</strong> (
            <Time at={expires} />
            ).
            {!created && " It was shown once and still works. Replace it to get a new one."}
          </p>
        )}
        <Field label={isShared ? "New link expires after" : "Link expires after"}>
          {(parts) => (
            <Select {...parts} value={hours} onChange={({ target }) => setHours(Number(target.value))}>
              {expiries.map((expiry) => (
                <option key={expiry.hours} value={expiry.hours}>
                  {expiry.label}
                </option>
              ))}
            </Select>
          )}
        </Field>
        {make.isError && <ErrorAlert error={make.error} />}
        {end.isError && <ErrorAlert error={end.error} />}
      </div>
    </Dialog>
  );
}

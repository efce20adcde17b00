import type { ModelProvider } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { outrider } from "../../../api.ts";
import { showToast } from "../../../frame/toasts.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Button } from "../../../ui/button.tsx";
import { ErrorAlert } from "../../../ui/feedback/error-alert.tsx";
import { Confirm } from "../../../ui/overlay/confirm.tsx";
import { sourceLabels, typeFacts } from "./provider-labels.ts";
import { TestResult } from "./test-result.tsx";
import { refreshModels, useProviderTest } from "./use-provider-test.ts";

interface ProviderCardProps {
  provider: ModelProvider;
  isAdmin: boolean;
  onEdit: () => void;
}

export function ProviderCard({ provider, isAdmin, onEdit }: ProviderCardProps) {
  const [isDeleting, setDeleting] = useState(false);
  const test = useProviderTest();
  const { name, type, source, base_url, has_key, available, reason, models } = provider;
  const shown = test.data ?? provider.last_test;
  const facts = [
    base_url && new URL(base_url).host,
    has_key ? "key stored" : "no key",
    models.length > 0 && `${models.length} own ${models.length === 1 ? "model" : "models"}`,
  ].filter(Boolean);
  return (
    <li className="rounded-xl border border-line bg-surface px-4 py-3">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-3">
        <div className="min-w-48 flex-1">
          <div className="flex flex-wrap items-center gap-2">
            <h3 className="font-semibold break-all">{name}</h3>
            {name !== type && <Badge>{typeFacts[type].label}</Badge>}
            <Badge tone={source === "stored" ? "accent" : "plain"}>{sourceLabels[source]}</Badge>
            {!available && <Badge tone="warn">Not available</Badge>}
          </div>
          <p className="mt-0.5 break-words text-muted">{facts.join(" · ")}</p>
          {reason && <p className="mt-1 break-words">{sentence(reason)}</p>}
        </div>
        {isAdmin && (
          <div className="flex flex-wrap gap-2">
            {available && (
              <Button busy={test.isPending} onClick={() => test.mutate({ name })}>
                Test<span className="sr-only"> {name}</span>
              </Button>
            )}
            {source === "stored" && (
              <>
                <Button onClick={onEdit}>
                  Edit<span className="sr-only"> {name}</span>
                </Button>
                <Button variant="danger" onClick={() => setDeleting(true)}>
                  Remove<span className="sr-only"> {name}</span>
                </Button>
              </>
            )}
          </div>
        )}
      </div>
      <div role="status" className="mt-2 empty:hidden">
        {shown && !test.isPending && <TestResult test={shown} showTime />}
      </div>
      {test.error && <ErrorAlert error={test.error} />}
      {source !== "stored" && isAdmin && (
        <p className="mt-2 text-xs text-muted">
          {source === "file"
            ? "Change it in the models file of the server, then restart the server."
            : "Change the environment variable of the server, then restart the server."}
        </p>
      )}
      {isDeleting && <RemoveProvider name={name} onClose={() => setDeleting(false)} />}
    </li>
  );
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, "").replaceAll("`", "")}.`;
}

function RemoveProvider({ name, onClose }: { name: string; onClose: () => void }) {
  const deletion = useMutation({
    mutationFn: () => outrider.modelProviders.delete(name),
    async onSuccess() {
      await refreshModels();
      showToast("Provider removed");
      onClose();
    },
  });
  return (
    <Confirm
      title={`Remove ${name}?`}
      action="Remove provider"
      busy={deletion.isPending}
      error={deletion.error}
      onConfirm={() => deletion.mutate()}
      onClose={onClose}
    >
      <p>Its key is deleted. Runs in progress finish their turn; later runs cannot use its models.</p>
    </Confirm>
  );
}

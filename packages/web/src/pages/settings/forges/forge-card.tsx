import type { Forge, ForgeTest } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { CircleCheck, CircleX, ExternalLink } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { outrider } from "../../../api.ts";
import { loadPart } from "../../../frame/connection.ts";
import { showToast } from "../../../frame/toasts.ts";
import { queries, queryClient } from "../../../queries.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Button, buttonClass } from "../../../ui/button.tsx";
import { Time } from "../../../ui/format/time.tsx";
import { Confirm } from "../../../ui/overlay/confirm.tsx";
import { forgeLabels } from "./forge-labels.ts";

const TestAccess = lazy(() =>
  loadPart(() => import("./test-access.tsx")).then((it) => ({ default: it.TestAccess })),
);

interface ForgeCardProps {
  forge: Forge;
  /** Opens the form for another token. */
  onReconnect: () => void;
}

export function ForgeCard({ forge, onReconnect }: ForgeCardProps) {
  const [opened, setOpened] = useState<"test" | "disconnect">();
  const close = () => setOpened(undefined);
  const { type, host, auth, login, install_url, last_test } = forge;
  return (
    <li className="rounded-xl border border-line bg-surface px-4 py-3">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-3">
        <div className="min-w-48 flex-1">
          <div className="flex flex-wrap items-center gap-2">
            <h2 className="font-semibold break-all">{host}</h2>
            <Badge>{forgeLabels[type]}</Badge>
            <Badge tone="accent">{auth === "app" ? "GitHub App" : "Token"}</Badge>
          </div>
          <p className="mt-0.5 break-words text-muted">
            Acts as <span className="text-ink">{login}</span> · connected <Time at={forge.created_at} />
          </p>
          <LastTest test={last_test} />
        </div>
        <div className="flex flex-wrap gap-2">
          <Button onClick={() => setOpened("test")}>
            Test access<span className="sr-only"> to {host}</span>
          </Button>
          {install_url && /^https?:\/\//i.test(install_url) && (
            <a href={install_url} target="_blank" rel="noopener noreferrer" className={buttonClass("plain")}>
              <ExternalLink className="size-4" aria-hidden />
              Choose repositories
            </a>
          )}
          {auth === "token" && <Button onClick={onReconnect}>Replace token</Button>}
          <Button variant="danger" onClick={() => setOpened("disconnect")}>
            Disconnect<span className="sr-only"> {host}</span>
          </Button>
        </div>
      </div>
      <Suspense>{opened === "test" && <TestAccess forge={forge} onClose={close} />}</Suspense>
      {opened === "disconnect" && <Disconnect forge={forge} onClose={close} />}
    </li>
  );
}

function LastTest({ test }: { test: ForgeTest | undefined }) {
  if (!test) return <p className="mt-1 text-muted">Not tested yet.</p>;
  const failed = test.steps.find(({ ok }) => !ok);
  return (
    <p className="mt-1 flex items-start gap-1.5">
      {test.ok ? (
        <CircleCheck className="mt-0.5 size-4 shrink-0 text-good" aria-hidden />
      ) : (
        <CircleX className="mt-0.5 size-4 shrink-0 text-bad" aria-hidden />
      )}
      <span className="min-w-0 break-words">
        {test.ok ? "Access works" : (failed?.message ?? "The last test failed.")} · {test.repository},{" "}
        <Time at={test.tested_at} />
        {failed?.remedy && <span className="block text-muted">{failed.remedy}</span>}
      </span>
    </p>
  );
}

function Disconnect({ forge, onClose }: { forge: Forge; onClose: () => void }) {
  const deletion = useMutation({
    mutationFn: () => outrider.forges.delete(forge.forge_id),
    onSuccess: () => {
      void queryClient.invalidateQueries(queries.forges());
      showToast("Forge disconnected");
      onClose();
    },
  });
  return (
    <Confirm
      title={`Disconnect ${forge.host}?`}
      action="Disconnect forge"
      busy={deletion.isPending}
      error={deletion.error}
      onConfirm={() => deletion.mutate()}
      onClose={onClose}
    >
      <p>
        Branches and pull requests stay, but Outrider no longer updates them and does not follow their state.
        Runs cannot publish there until you connect it again.
      </p>
      {forge.auth === "app" && <p>The GitHub App stays too. You can delete it in GitHub's settings.</p>}
    </Confirm>
  );
}

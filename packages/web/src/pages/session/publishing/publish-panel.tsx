import type { ListPublicationsResponse, Publication, RunItem } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ChevronDown, CircleAlert, GitPullRequest } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { loadPart } from "../../../frame/connection.ts";
import { queries, queryClient } from "../../../queries.ts";
import { Button, IconButton } from "../../../ui/button.tsx";
import { Menu, MenuItem } from "../../../ui/overlay/menu.tsx";
import { InlineCode } from "../../../ui/text/inline-code.tsx";
import { shortAddress } from "../../environments/repository.ts";
import { Approval } from "./approval.tsx";
import { PublicationStatus } from "./publication-status.tsx";
import {
  allowedKinds,
  hostOf,
  kindLabels,
  latestByPath,
  type PublicationKind,
  type Publishable,
  publishableNow,
} from "./publications.ts";
import { usePublications } from "./use-publications.ts";

const PublishDialog = lazy(() =>
  loadPart(() => import("./publish-dialog.tsx")).then((it) => ({ default: it.PublishDialog })),
);

interface PublishPanelProps {
  run: RunItem;
  canPublish: boolean;
  /** Called when a publication changes, which adds events to the log. */
  onChanged: () => void;
}

interface Opened {
  path: string;
  kind?: PublicationKind;
  /** The failed publication to repeat. */
  retried?: Publication;
}

/** Shows what the run has published, and lets the user publish its changes. */
export function PublishPanel({ run, canPublish, onChanged }: PublishPanelProps) {
  const { data } = usePublications(run.run_id);
  const [opened, setOpened] = useState<Opened>();
  // Each change means that the run has other events, and perhaps another pull request.
  const stamp = data?.publications.map(({ publication_id, state }) => publication_id + state).join();
  const [seen, setSeen] = useState(stamp);
  useEffect(() => {
    if (stamp === seen) return;
    setSeen(stamp);
    if (seen === undefined) return;
    onChanged();
    void queryClient.invalidateQueries({ ...queries.run(run.run_id), exact: true });
  }, [stamp, seen, onChanged, run.run_id]);
  if (!data) return null;
  const now = publishableNow(data);
  const latest = latestByPath(data.publications);
  const problems = data.publishable.filter(({ problem }) => problem !== undefined);
  const isSeveral = data.publishable.length > 1;
  if (now.length === 0 && latest.length === 0 && problems.length === 0) return null;
  const retry = (retried: Publication) => setOpened({ path: retried.path, kind: retried.kind, retried });
  return (
    <section
      aria-label="Publish changes"
      className="mb-4 flex flex-col gap-2 rounded-lg border border-line bg-surface px-3 py-2"
    >
      {latest.map((publication) =>
        // The approval of a blocked run is below every tab.
        publication.state === "AWAITING_APPROVAL" && run.state !== "BLOCKED" ? (
          <Approval
            key={publication.publication_id}
            publication={publication}
            canDecide={canPublish}
            linksToChanges={false}
            onDecided={onChanged}
          />
        ) : (
          <PublicationStatus
            key={publication.publication_id}
            publication={publication}
            showsRepository={isSeveral}
            onRetry={
              canPublish && now.some(({ path }) => path === publication.path)
                ? () => retry(publication)
                : undefined
            }
          />
        ),
      )}
      {problems.map((item) => (
        <Problem key={item.path} item={item} showsRepository={isSeveral} />
      ))}
      {canPublish && now.length > 0 && (
        <PublishButton data={data} items={now} onOpen={(opening) => setOpened(opening)} />
      )}
      <Suspense>
        {opened && (
          <PublishDialog runId={run.run_id} items={now} {...opened} onClose={() => setOpened(undefined)} />
        )}
      </Suspense>
    </section>
  );
}

interface PublishButtonProps {
  data: ListPublicationsResponse;
  items: Publishable[];
  onOpen: (opened: Opened) => void;
}

function PublishButton({ data, items, onOpen }: PublishButtonProps) {
  const [first] = items;
  if (!first) return null;
  const allowed = allowedKinds(first);
  const isUpdate = data.publications.some(
    ({ path, state, pull_request }) => path === first.path && state === "DONE" && pull_request,
  );
  const isBranch = allowed.every((kind) => kind === "branch");
  const label = isBranch ? "Push branch" : isUpdate ? "Update pull request" : "Create pull request";
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
      <p className="min-w-48 flex-1 text-muted">
        {isUpdate
          ? "The latest changes are not in the pull request yet."
          : isBranch
            ? "These changes are not on a branch yet."
            : "These changes have no pull request yet."}
      </p>
      <div className="flex gap-px">
        <Button
          variant="primary"
          className={allowed.length > 1 ? "rounded-r-none" : ""}
          icon={<GitPullRequest className="size-4" aria-hidden />}
          onClick={() => onOpen({ path: first.path })}
        >
          {label}
        </Button>
        {allowed.length > 1 && (
          <Menu
            trigger={
              <IconButton
                label="Choose what to create"
                variant="primary"
                className="rounded-l-none"
                icon={<ChevronDown className="size-4" aria-hidden />}
              />
            }
          >
            {allowed.map((kind) => (
              <MenuItem key={kind} onSelect={() => onOpen({ path: first.path, kind })}>
                {kindLabels[kind]}
              </MenuItem>
            ))}
          </Menu>
        )}
      </div>
    </div>
  );
}

/** Explains why changes cannot be published. Admins get a link if the forge is not connected. */
function Problem({ item, showsRepository }: { item: Publishable; showsRepository: boolean }) {
  const { data: me } = useQuery(queries.me());
  const { data: forges } = useQuery(queries.forges());
  const host = hostOf(item.repository);
  const isConnected = forges?.some((forge) => forge.host === host) ?? true;
  return (
    <p className="flex items-start gap-2 text-muted">
      <CircleAlert className="mt-0.5 size-4 shrink-0 text-warn" aria-hidden />
      <span className="min-w-0 break-words">
        {showsRepository && <span className="font-medium text-ink">{shortAddress(item.repository)}: </span>}
        <InlineCode text={item.problem ?? ""} />
        {!isConnected && me?.role === "admin" && (
          <>
            {" "}
            <Link to="/settings" search={{ section: "forges" }} className="text-accent-ink underline">
              Open forge settings
            </Link>
          </>
        )}
      </span>
    </p>
  );
}

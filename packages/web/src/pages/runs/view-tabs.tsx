import type { View } from "@outrider/sdk";
import { Link, useNavigate } from "@tanstack/react-router";
import clsx from "clsx";
import { Bookmark, Users } from "lucide-react";
import { useState } from "react";
import { showToast } from "../../frame/toasts.ts";
import { describeError } from "../../request-error.ts";
import { Button } from "../../ui/button.tsx";
import { sanitizeLine } from "../../ui/text/sanitize.ts";
import type { RunsSearch } from "./search.ts";
import { useSavedViews } from "./use-saved-views.ts";
import { ViewDialog } from "./view-dialog.tsx";
import { ViewMenu } from "./view-menu.tsx";
import { contentOf, isSameSearch, quickViews, searchOf } from "./views.ts";

interface ViewTabsProps {
  search: RunsSearch;
  /** The shown columns, which a view saves. */
  columns: readonly string[];
}

/** Shows the predefined and saved views. A saved view stays selected while its filters are changed. */
export function ViewTabs({ search, columns }: ViewTabsProps) {
  const navigate = useNavigate();
  const saved = useSavedViews();
  const [dialog, setDialog] = useState<"create" | View>();
  const { sort: _, order: __, ...asked } = search;
  const current = saved.views.find(({ view_id }) => view_id === search.view);
  const isChanged =
    current !== undefined &&
    (!isSameSearch(searchOf(current), search) || String(current.columns ?? columns) !== String(columns));
  const isKnown = quickViews.some((view) => isSameSearch(view.search, search));
  const open = (view: View) => void navigate({ to: "/runs", search: searchOf(view) });
  const fail = (error: unknown) => showToast(describeError(error).detail, "bad");
  const saveChanges = ({ view_id }: View) =>
    saved.update.mutate(
      { view_id, ...contentOf(search, columns) },
      { onSuccess: () => showToast("View saved"), onError: fail },
    );
  return (
    <nav
      aria-label="Views"
      className="-mx-4 flex items-center gap-1 overflow-x-auto px-4 py-1 sm:mx-0 sm:flex-wrap sm:px-0"
    >
      {quickViews.map((view) => {
        const isCurrent = !current && isSameSearch(view.search, asked);
        return (
          <Link
            key={view.name}
            to="/runs"
            search={view.search}
            className={tabClass(isCurrent)}
            activeProps={{}}
            aria-current={isCurrent ? "page" : undefined}
          >
            {view.name}
          </Link>
        );
      })}
      {saved.views.map((view) => {
        const isCurrent = view === current;
        const Icon = view.is_shared ? Users : Bookmark;
        return (
          <span
            key={view.view_id}
            className={clsx("inline-flex shrink-0 items-center rounded-md", isCurrent && "bg-pressed")}
          >
            <Link
              to="/runs"
              search={searchOf(view)}
              className={tabClass(isCurrent)}
              activeProps={{}}
              aria-current={isCurrent ? "page" : undefined}
              title={
                view.is_shared
                  ? `Shared by ${sanitizeLine(view.owner.display_name)}`
                  : "Only you see this view"
              }
            >
              <Icon className="size-3.5" aria-hidden />
              <span className="max-w-40 truncate">{sanitizeLine(view.name)}</span>
            </Link>
            {isCurrent && (
              <ViewMenu
                view={view}
                canChange={saved.canChange(view)}
                onRename={() => setDialog(view)}
                onShare={() =>
                  saved.update.mutate(
                    { view_id: view.view_id, is_shared: !view.is_shared },
                    {
                      onSuccess: ({ is_shared }) =>
                        showToast(is_shared ? "View shared with everyone" : "View made private"),
                      onError: fail,
                    },
                  )
                }
                onDelete={() =>
                  saved.remove.mutate(view.view_id, {
                    onSuccess: () => {
                      showToast("View deleted");
                      void navigate({ to: "/runs", search: {} });
                    },
                    onError: fail,
                  })
                }
              />
            )}
          </span>
        );
      })}
      {isChanged && current && saved.canChange(current) && (
        <Button small variant="quiet" busy={saved.update.isPending} onClick={() => saveChanges(current)}>
          Save changes
        </Button>
      )}
      {((!current && !isKnown && Object.keys(search).length > 0) || isChanged) && (
        <Button small variant="quiet" onClick={() => setDialog("create")}>
          {isChanged ? "Save as new view" : "Save view"}
        </Button>
      )}
      {dialog !== undefined && (
        <ViewDialog
          view={dialog === "create" ? undefined : dialog}
          onClose={() => setDialog(undefined)}
          onSave={async (values) => {
            if (dialog !== "create") await saved.update.mutateAsync({ view_id: dialog.view_id, ...values });
            else open(await saved.create.mutateAsync({ ...values, ...contentOf(search, columns) }));
            setDialog(undefined);
            showToast("View saved");
          }}
        />
      )}
    </nav>
  );
}

function tabClass(isCurrent: boolean): string {
  return clsx(
    "inline-flex h-9 shrink-0 items-center gap-1.5 whitespace-nowrap rounded-md px-2.5 md:h-8",
    isCurrent ? "bg-pressed font-medium text-ink" : "text-muted hover:bg-raised hover:text-ink",
  );
}

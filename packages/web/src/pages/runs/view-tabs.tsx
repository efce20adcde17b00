import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import { Bookmark, X } from "lucide-react";
import { type FormEvent, useState } from "react";
import { showToast } from "../../frame/toasts.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Field, TextInput } from "../../ui/form/field.tsx";
import { Dialog } from "../../ui/overlay/dialog.tsx";
import type { RunsSearch } from "./search.ts";
import { isSameView, quickViews, useSavedViews } from "./views.ts";

/** Shows the predefined and saved views. */
export function ViewTabs({ search }: { search: RunsSearch }) {
  const { views, save, remove } = useSavedViews();
  const [isNaming, setNaming] = useState(false);
  const { sort: _, order: __, ...asked } = search;
  const isKnown = [...quickViews, ...views].some((view) => isSameView(view.search, search));
  return (
    <nav
      aria-label="Views"
      className="-mx-4 flex items-center gap-1 overflow-x-auto px-4 py-1 sm:mx-0 sm:flex-wrap sm:px-0"
    >
      {quickViews.map((view) => (
        <Link
          key={view.name}
          to="/runs"
          search={view.search}
          className={tabClass(isSameView(view.search, asked))}
          activeProps={{}}
          aria-current={isSameView(view.search, asked) ? "page" : undefined}
        >
          {view.name}
        </Link>
      ))}
      {views.map(({ name, search: saved }) => (
        <span key={name} className="inline-flex shrink-0 items-center">
          <Link
            to="/runs"
            search={saved}
            className={tabClass(isSameView(saved, search))}
            aria-current={isSameView(saved, search) ? "page" : undefined}
          >
            <Bookmark className="size-3.5" aria-hidden />
            {name}
          </Link>
          <IconButton
            small
            label={`Delete view ${name}`}
            icon={<X className="size-3.5" aria-hidden />}
            onClick={() => remove(name)}
          />
        </span>
      ))}
      {!isKnown && Object.keys(search).length > 0 && (
        <Button small variant="quiet" onClick={() => setNaming(true)}>
          Save view
        </Button>
      )}
      {isNaming && (
        <NameView
          onClose={() => setNaming(false)}
          onSave={(name) => {
            save({ name, search });
            setNaming(false);
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

function NameView({ onClose, onSave }: { onClose: () => void; onSave: (name: string) => void }) {
  const [name, setName] = useState("");
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim()) onSave(name.trim());
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Save view"
      description="Saves the filters, search and sort order in this browser."
    >
      <form onSubmit={send} className="flex items-end gap-2">
        <Field label="Name" className="flex-1">
          {(parts) => (
            <TextInput
              {...parts}
              data-autofocus
              value={name}
              maxLength={40}
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
        <Button variant="primary" type="submit" disabled={!name.trim()}>
          Save
        </Button>
      </form>
    </Dialog>
  );
}

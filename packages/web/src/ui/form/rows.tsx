import clsx from "clsx";
import { ArrowDown, ArrowUp, Plus, X } from "lucide-react";
import { type ReactNode, useLayoutEffect, useRef } from "react";
import { Button, IconButton } from "../button.tsx";

interface RowsProps {
  /** The singular noun used in button labels, such as "repository". */
  noun: string;
  /** The form's field array. */
  rows: {
    fields: { id: string }[];
    remove: (index: number) => void;
    move: (from: number, to: number) => void;
  };
  onAdd: () => void;
  /** Hides the buttons that move rows. */
  unordered?: boolean;
  children: (index: number) => ReactNode;
}

/** Places buttons beside the row's first control, below its label. Errors below the control do not move them. */
const besideControl = "mt-5";

type RowAction = "first" | "up" | "down" | "remove";

/**
 * Shows repeated fields with buttons to add, remove and reorder rows. The focus remains on the pressed button or moves
 * to the one that takes its place.
 */
export function Rows({ noun, rows: { fields, remove, move }, onAdd, unordered, children }: RowsProps) {
  const list = useRef<HTMLDivElement>(null);
  const pendingFocus = useRef<{ index: number; candidates: RowAction[] }>(undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the focus moves when the rows have changed.
  useLayoutEffect(() => {
    const { current } = pendingFocus;
    if (!current || !list.current) return;
    pendingFocus.current = undefined;
    focusIn(list.current, current);
  }, [fields]);
  const moveTo = (index: number, action: "up" | "down") => {
    const to = action === "up" ? index - 1 : index + 1;
    pendingFocus.current = { index: to, candidates: [action, action === "up" ? "down" : "up"] };
    move(index, to);
  };
  return (
    <div ref={list} className="flex flex-col gap-2">
      {fields.map(({ id }, index) => {
        const label = `${noun} ${index + 1}`;
        return (
          <fieldset key={id} aria-label={label} className="flex min-w-0 items-start gap-1">
            <div className="min-w-0 flex-1">{children(index)}</div>
            {!unordered && fields.length > 1 && (
              <div className={clsx("flex flex-col sm:flex-row", besideControl)}>
                <IconButton
                  data-act="up"
                  label={`Move ${label} up`}
                  icon={<ArrowUp className="size-4" aria-hidden />}
                  disabled={index === 0}
                  onClick={() => moveTo(index, "up")}
                />
                <IconButton
                  data-act="down"
                  label={`Move ${label} down`}
                  icon={<ArrowDown className="size-4" aria-hidden />}
                  disabled={index === fields.length - 1}
                  onClick={() => moveTo(index, "down")}
                />
              </div>
            )}
            <IconButton
              data-act="remove"
              className={besideControl}
              label={`Remove ${label}`}
              icon={<X className="size-4" aria-hidden />}
              onClick={() => {
                pendingFocus.current = {
                  index: Math.min(index, fields.length - 2),
                  candidates: ["remove"],
                };
                remove(index);
              }}
            />
          </fieldset>
        );
      })}
      <div>
        <Button
          data-act="add"
          icon={<Plus className="size-4" aria-hidden />}
          onClick={() => {
            pendingFocus.current = { index: fields.length, candidates: ["first"] };
            onAdd();
          }}
        >
          Add {noun}
        </Button>
      </div>
    </div>
  );
}

function focusIn(list: HTMLElement, { index, candidates }: { index: number; candidates: RowAction[] }) {
  const row = list.querySelectorAll(":scope > fieldset")[index];
  const targets = candidates.map((action) =>
    row?.querySelector<HTMLElement>(
      action === "first" ? "input, textarea, select" : `[data-act="${action}"]:enabled`,
    ),
  );
  const target = targets.find(Boolean) ?? list.querySelector<HTMLElement>('[data-act="add"]');
  target?.focus();
}

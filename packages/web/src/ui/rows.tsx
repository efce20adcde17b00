import { ArrowDown, ArrowUp, Plus, X } from "lucide-react";
import { type ReactNode, useLayoutEffect, useRef } from "react";
import { Button, IconButton } from "./button.tsx";

export interface Row {
  /** Stays with the row wherever it is moved. */
  key: string;
}

let keys = 0;
export function rowKey(): string {
  keys += 1;
  return `row-${keys}`;
}

interface RowsProps<R extends Row> {
  /** One of them, for the names of buttons: "repository". */
  noun: string;
  rows: readonly R[];
  blank: () => R;
  onChange: (rows: R[]) => void;
  /** Where their order means nothing. */
  unordered?: boolean;
  children: (row: R, index: number, change: (part: Partial<R>) => void) => ReactNode;
}

type Act = "first" | "up" | "down" | "remove";

/** Repeated fields: add, remove, put in order. The focus stays with what was pressed, or goes to what takes its place. */
export function Rows<R extends Row>({ noun, rows, blank, onChange, unordered, children }: RowsProps<R>) {
  const list = useRef<HTMLDivElement>(null);
  const wanted = useRef<{ key: string | undefined; acts: Act[] }>(undefined);
  useLayoutEffect(() => {
    const { current } = wanted;
    if (!current || !list.current) return;
    wanted.current = undefined;
    focusIn(list.current, current);
  });

  const add = () => {
    const row = blank();
    wanted.current = { key: row.key, acts: ["first"] };
    onChange([...rows, row]);
  };
  const remove = (index: number) => {
    const neighbour = rows[index + 1] ?? rows[index - 1];
    wanted.current = { key: neighbour?.key, acts: ["remove"] };
    onChange(rows.filter((_, at) => at !== index));
  };
  const move = (index: number, act: "up" | "down") => {
    const next = [...rows];
    const [row] = next.splice(index, 1);
    if (!row) return;
    next.splice(act === "up" ? index - 1 : index + 1, 0, row);
    wanted.current = { key: row.key, acts: [act, act === "up" ? "down" : "up"] };
    onChange(next);
  };

  return (
    <div ref={list} className="flex flex-col gap-2">
      {rows.map((row, index) => {
        const called = `${noun} ${index + 1}`;
        const change = (part: Partial<R>) =>
          onChange(rows.map((each) => (each.key === row.key ? { ...each, ...part } : each)));
        return (
          <fieldset
            key={row.key}
            data-row={row.key}
            aria-label={called}
            className="flex min-w-0 items-end gap-1"
          >
            <div className="min-w-0 flex-1">{children(row, index, change)}</div>
            {!unordered && rows.length > 1 && (
              <div className="flex flex-col sm:flex-row">
                <IconButton
                  data-act="up"
                  label={`Move ${called} up`}
                  icon={<ArrowUp className="size-4" aria-hidden />}
                  disabled={index === 0}
                  onClick={() => move(index, "up")}
                />
                <IconButton
                  data-act="down"
                  label={`Move ${called} down`}
                  icon={<ArrowDown className="size-4" aria-hidden />}
                  disabled={index === rows.length - 1}
                  onClick={() => move(index, "down")}
                />
              </div>
            )}
            <IconButton
              data-act="remove"
              label={`Remove ${called}`}
              icon={<X className="size-4" aria-hidden />}
              onClick={() => remove(index)}
            />
          </fieldset>
        );
      })}
      <div>
        <Button data-act="add" icon={<Plus className="size-4" aria-hidden />} onClick={add}>
          Add {noun}
        </Button>
      </div>
    </div>
  );
}

function focusIn(list: HTMLElement, { key, acts }: { key: string | undefined; acts: Act[] }) {
  const row = [...list.children].find((child) => child instanceof HTMLElement && child.dataset.row === key);
  const targets = acts.map((act) =>
    row?.querySelector<HTMLElement>(
      act === "first" ? "input, textarea, select" : `[data-act="${act}"]:enabled`,
    ),
  );
  const target = targets.find(Boolean) ?? list.querySelector<HTMLElement>('[data-act="add"]');
  target?.focus();
}

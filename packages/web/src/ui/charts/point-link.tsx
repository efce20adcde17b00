import { useRouter } from "@tanstack/react-router";
import { type KeyboardEvent, type MouseEvent, type PointerEvent, useRef, useState } from "react";
import type { Area } from "./area.ts";
import type { ChartPoint, ChartSeries, FormatValue } from "./series.ts";

export interface PointLinkProps {
  points: readonly ChartPoint[];
  series: readonly ChartSeries[];
  format: FormatValue;
  notesAt?: ((index: number) => string[]) | undefined;
  /** The selected point. Charts with the same time axis can share it. */
  active: number | undefined;
  onActive: (index: number | undefined) => void;
  /** Returns the address of the runs behind a point. */
  linkOf?: ((index: number) => string) | undefined;
  area: Area;
  offset: { left: number; top: number };
}

/**
 * Shows one link, which moves to the point below the pointer, so that a click opens the runs behind it. With the
 * keyboard, the arrow keys move it. On touch screens, the first tap shows the values and the second follows the link.
 */
export function PointLink(props: PointLinkProps) {
  const { points, series, format, notesAt, active, onActive, linkOf, area, offset } = props;
  const router = useRouter();
  const [isHere, setHere] = useState(false);
  const touched = useRef<number>(undefined);
  const isFirstTap = useRef(false);
  const last = points.length - 1;
  const shown = active !== undefined && active <= last ? active : undefined;
  const at = shown ?? last;
  const indexAt = (event: PointerEvent<HTMLElement>) => {
    const { left } = event.currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(last, Math.floor((event.clientX - left) / area.step)));
  };
  const press = (event: KeyboardEvent) => {
    const moves: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last };
    const next = moves[event.key];
    if (event.key === "Escape") onActive(undefined);
    if (next === undefined) return;
    event.preventDefault();
    onActive(Math.max(0, Math.min(last, next)));
  };
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    if (isFirstTap.current) {
      event.preventDefault();
      return;
    }
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    router.history.push(event.currentTarget.getAttribute("href") ?? "");
  };
  const point = points[at];
  if (!point) return null;
  const values = series.flatMap(({ label, color, values, isDashed }) => {
    const value = values[at];
    return value === undefined ? [] : [{ label, color, isDashed, text: format(value) }];
  });
  const notes = notesAt?.(at) ?? [];
  const name = [point.title, ...values.map(({ label, text }) => `${label} ${text}`), ...notes].join(", ");
  const box = { left: `${at * area.step}px`, width: `${area.step}px`, height: `${area.height}px` };
  return (
    <div
      className="absolute"
      style={{
        left: `${offset.left}px`,
        top: `${offset.top}px`,
        width: `${area.width}px`,
        height: `${area.height}px`,
      }}
      onPointerMove={(event) => {
        if (event.pointerType === "touch") return;
        setHere(true);
        onActive(indexAt(event));
      }}
      onPointerDown={(event) => {
        if (event.pointerType !== "touch") return;
        const index = indexAt(event);
        isFirstTap.current = touched.current !== index;
        touched.current = index;
        setHere(true);
        onActive(index);
      }}
      onPointerLeave={(event) => {
        if (event.pointerType === "touch") return;
        setHere(false);
        onActive(undefined);
      }}
    >
      {linkOf ? (
        <a
          href={linkOf(at)}
          onClick={follow}
          onKeyDown={press}
          onFocus={() => {
            setHere(true);
            if (shown === undefined) onActive(at);
          }}
          onBlur={() => {
            setHere(false);
            onActive(undefined);
          }}
          className="absolute top-0 rounded-sm"
          style={box}
        >
          <span className="sr-only">{name}. Show runs</span>
        </a>
      ) : null}
      {shown !== undefined && (
        <span
          aria-hidden
          className="pointer-events-none absolute top-0 border-l border-dashed border-line-strong"
          style={{ left: `${area.x(shown)}px`, height: `${area.height}px` }}
        />
      )}
      {shown !== undefined && isHere && (
        <Tooltip
          title={point.title}
          values={values}
          notes={notes}
          hint={linkOf ? "Click to show runs" : undefined}
          x={area.x(shown)}
          width={area.width}
        />
      )}
    </div>
  );
}

interface TooltipProps {
  title: string;
  values: { label: string; color: string; isDashed: boolean | undefined; text: string }[];
  notes: string[];
  hint: string | undefined;
  x: number;
  width: number;
}

const TOOLTIP_PX = 208;

function Tooltip({ title, values, notes, hint, x, width }: TooltipProps) {
  const isLeft = x > width / 2;
  const left = Math.max(-40, Math.min(width - TOOLTIP_PX + 8, isLeft ? x - TOOLTIP_PX - 12 : x + 12));
  return (
    <div
      aria-hidden
      className="pointer-events-none absolute top-0 z-20 w-52 rounded-lg border border-line bg-surface px-3 py-2 text-xs shadow-pop"
      style={{ left: `${left}px` }}
    >
      <p className="pb-1 font-medium">{title}</p>
      <ul className="flex flex-col gap-0.5">
        {values.map(({ label, color, isDashed, text }) => (
          <li key={label} className="flex items-center gap-2">
            <Swatch color={color} isDashed={isDashed} />
            <span className="min-w-0 flex-1 truncate text-muted">{label}</span>
            <span className="font-medium tabular-nums">{text}</span>
          </li>
        ))}
      </ul>
      {notes.map((note) => (
        <p key={note} className="pt-1 text-muted">
          {note}
        </p>
      ))}
      {hint && <p className="pt-1 text-muted pointer-coarse:hidden">{hint}</p>}
    </div>
  );
}

/** Shows the color of a series in a legend. */
export function Swatch({ color, isDashed = false }: { color: string; isDashed?: boolean | undefined }) {
  return isDashed ? (
    <span aria-hidden className="w-2.5 shrink-0 border-t-2 border-dashed" style={{ borderColor: color }} />
  ) : (
    <span aria-hidden className="size-2.5 shrink-0 rounded-[3px]" style={{ backgroundColor: color }} />
  );
}

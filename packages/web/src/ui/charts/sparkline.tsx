interface SparklineProps {
  values: readonly number[];
  /** Describes the values for screen readers. If absent, the values must be in the text beside it. */
  label?: string;
  color?: string;
  /** The value at the top. Default: the highest. */
  max?: number;
  className?: string;
}

const WIDTH = 96;
const HEIGHT = 24;

/** Shows a small line without axes beside a number. */
export function Sparkline({ values, label, color = "var(--accent)", max, className }: SparklineProps) {
  const top = max ?? Math.max(...values, 0);
  const x = (index: number) => (values.length < 2 ? WIDTH : (index * WIDTH) / (values.length - 1));
  const y = (value: number) => HEIGHT - 2 - (top > 0 ? ((HEIGHT - 4) * value) / top : 0);
  const line = values.map((value, index) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`).join(" L");
  return (
    // biome-ignore lint/a11y/noSvgWithoutTitle: the label is an attribute, or the values are in the text beside it.
    <svg
      {...(label ? { role: "img", "aria-label": label } : { "aria-hidden": true })}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      className={className ?? "h-6 w-24"}
      style={{ color }}
    >
      {values.length > 0 && (
        <>
          <path
            d={`M${x(0)},${HEIGHT} L${line} L${WIDTH},${HEIGHT} Z`}
            fill="currentColor"
            fillOpacity={0.12}
          />
          <path
            d={`M${line}`}
            fill="none"
            stroke="currentColor"
            strokeWidth={1.5}
            strokeLinejoin="round"
            vectorEffect="non-scaling-stroke"
          />
        </>
      )}
    </svg>
  );
}

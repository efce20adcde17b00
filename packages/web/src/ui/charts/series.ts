/** A point on the time axis of a chart. */
export interface ChartPoint {
  /** The label on the axis, such as "3 Nov". */
  label: string;
  /** The label in the tooltip, the table and the CSV file, such as "Tue, 3 Nov 2026". */
  title: string;
}

export interface ChartSeries {
  label: string;
  /** A color of the theme, such as `var(--chart-good)`. */
  color: string;
  /** One value per point. A value that is undefined leaves a gap. */
  values: readonly (number | undefined)[];
  /** Dashed lines show another period, or a limit. */
  isDashed?: boolean;
}

export type FormatValue = (value: number) => string;

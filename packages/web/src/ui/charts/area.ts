/** The part of a chart inside its axes. */
export interface Area {
  width: number;
  height: number;
  /** The horizontal distance between two points. */
  step: number;
  /** Returns the center of a point's column. */
  x: (index: number) => number;
  y: (value: number) => number;
}

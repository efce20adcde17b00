import { killPointNames, victims } from "./kill-points.ts";
import { testKills } from "./kill-suite.ts";

/** How often each step is tested, each time with another seed. Once takes seven minutes. */
const SEEDS = Number(process.env.OUTRIDER_KILL_SEEDS ?? 1);

testKills(
  Array.from({ length: SEEDS }, (_, seed) =>
    killPointNames.flatMap((point, index) =>
      victims.map((victim, other) => ({ point, victim, seed: 100 * seed + victims.length * index + other })),
    ),
  ).flat(),
);

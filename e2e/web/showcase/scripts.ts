/** Prompts of the showcase runs. They execute real commands and change real files in a sandbox. */

const plan = (...states: ("pending" | "active" | "done")[]) => {
  const texts = ["Reproduce the wrong total", "Round once, at the end", "Run the tests"];
  const steps = texts.map((text, index) => ({ text, state: states[index] }));
  return `CALL: update_plan ${JSON.stringify({ steps })}`;
};

const edit = (path: string, old_text: string, new_text: string) =>
  `CALL: edit_file ${JSON.stringify({ path, edits: [{ old_text, new_text }] })}`;

/** Creates the project that the runs work on. It is part of the environment, so that diffs show only the run's changes. */
export const shopSetup = [
  "mkdir -p src test",
  `cat > src/cart.sh <<'END'
#!/bin/sh
# Prices are cents. The discount is a percentage.
total() {
  sum=0
  for price in "$@"; do
    sum=$((sum + price * (100 - DISCOUNT) / 100))
  done
  echo "$sum"
}
END`,
  `cat > test/cart.sh <<'END'
#!/bin/sh
. src/cart.sh
expect() {
  if [ "$2" = "$3" ]; then printf '\\033[32mok\\033[0m   %s\\n' "$1"; return; fi
  printf '\\033[31mfail\\033[0m %s: expected %s, got %s\\n' "$1" "$3" "$2"
  failed=1
}
DISCOUNT=0 && expect "no discount" "$(total 250 250)" 500
DISCOUNT=15 && expect "fifteen percent of three" "$(total 333 333 333)" 849
exit \${failed:-0}
END`,
  "printf '# Web shop\\n\\nRun the tests with `sh test/cart.sh`.\\n' > README.md",
];

export const discounts = [
  "The total of a discounted cart is a cent or two too low when it holds many cheap items. Find out why, fix it, and keep the tests green.",
  "SAY: I look at how the total is made, and reproduce the wrong cent first.",
  plan("active", "pending", "pending"),
  "RUN: ls -R src test && cat src/cart.sh",
  "RUN: sh test/cart.sh",
  "SAY: The test fails as described: **each item** is rounded down, so the error grows with the number of items. Rounding belongs at the end, once.",
  plan("done", "active", "pending"),
  edit("src/cart.sh", "sum=$((sum + price * (100 - DISCOUNT) / 100))", "sum=$((sum + price))"),
  edit("src/cart.sh", 'echo "$sum"', "echo $(((sum * (100 - DISCOUNT) + 50) / 100))"),
  plan("done", "done", "active"),
  "RUN: sh test/cart.sh",
  "WRITE: docs/rounding.md | # Rounding\\n\\nPrices are whole cents. A discount applies to the **sum**, which is rounded once, half up.\\n",
  plan("done", "done", "done"),
  "SAY: Fixed. The discount now applies to the sum, which is rounded once.\n",
  "SAY: - `src/cart.sh`: two lines\n",
  "SAY: - `docs/rounding.md`: documents the rule",
];

export const migration = [
  "Move the order table to the new schema and check that no row is lost.",
  "SAY: I count the rows before, then migrate a copy.",
  "RUN: seq 1 12000 | sed 's/$/,open/' > orders.csv; wc -l orders.csv",
  "RUN: echo 'applying 004_orders.sql' && echo 'ERROR: column \"currency\" of relation \"orders\" contains null values' >&2; exit 3",
  "FAIL: The migration needs a value for `currency` in 412 old orders. Say which one they get, then run me again.",
];

export const question = [
  "Rename the public function `total` of the cart to `sumOf`, everywhere.",
  "SAY: It is called from two places here, and it is part of the public interface.",
  "RUN: grep -rn 'total' src test",
  "ASK: Other services may call `total` by its old name. Shall I keep it as a deprecated alias for one release, or rename it at once?",
  "SAY: Done as you said.",
];

export const load = [
  "Run the load test against the staging cart and tell the slowest 1 %.",
  "SAY: The load test takes a while. I start with a warm-up and then go to 200 requests a second.",
  `CALL: update_plan ${JSON.stringify({
    steps: [
      { text: "Warm up", state: "done" },
      { text: "200 requests a second, ten minutes", state: "active" },
      { text: "Report the slowest 1 %", state: "pending" },
    ],
  })}`,
  'RUN: for second in 1 2 3 4 5; do echo "warm-up $second: 40 requests, p99 81 ms"; done',
  'RUN: for second in 1 2 3; do echo "$second s: 200 requests, p99 9$second ms"; done; sleep 900',
];

export const short = (said: string, command = "sh test/cart.sh || true") => [
  said,
  "SAY: I look at it.",
  `RUN: ${command}`,
  "SAY: Done.",
];

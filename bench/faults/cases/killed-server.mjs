// F01: the bench `kill` as a fault: the product killed under load, its log verified after each kill.
import { main } from "../../kill.mjs";

export async function run({ full }) {
  const crashes = full ? 1_000 : 60;
  const code = await main(["--runs", "0", "--crashes", String(crashes)]);
  return [
    {
      what: `killed under load ${crashes} times (figures above)`,
      measured: code === 0 ? "every log verifies, every answer is on record" : "see above",
      limit: "the same",
      passed: code === 0,
    },
  ];
}

// `node scorecard/fetch-descriptions.mjs`: installs and starts the real packages whose definitions goal T43 judges, and keeps what they say in the
// user's cache. A version that is there is not fetched again. Prints what each offers.
import { realOfferings, realServers } from "./support/real-descriptions.mjs";

const WITHIN_MS = 1_200_000;

for (const { name, version, offering, missing } of await realOfferings(realServers(), { withinMs: WITHIN_MS }))
  console.log(`${name}@${version}: ${missing ?? `${offering.tools.length} tools`}`);
process.exit(0);

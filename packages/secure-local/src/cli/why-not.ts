// Says why a server did not come up, with the key of the policy that grants what it lacked.
import { cleanLine, cleanText } from "../guard/cleaning/clean-text.js";
import type { ServerGrant } from "../policy/policy.js";
import { networkHint } from "../server/network-hint.js";
import { changeableIn, inOptions } from "./failure.js";
import { lackingPath, loadingHint } from "./lacking-path.js";

/** A server runs by way of this very program: of its command line a person knows nothing, and of the first question even less. */
const BY_WAY_OF_US =
  /^(?:Could not connect to [^]*?: )?(?:initialize was not answered: )?The server [^]*? (?=exited|was ended|ended)/;

/** Why a server did not come up, with the key that grants what it lacked where its words say so much. */
export function whyNot(error: unknown, grant: ServerGrant): string {
  const text = inOptions(error instanceof Error ? error.message : String(error), changeableIn(grant.name));
  const lacking = lackingPath(text);
  if (lacking !== undefined) {
    const { path, key } = lacking;
    const what = key === "readable_paths" ? "it does not see" : "it may not change";
    return cleanLine(`${what} ${path}. Grant it: servers.${grant.name}.filesystem.${key}: ["${path}"]`);
  }
  const lines = text
    .replace(/\nBefore that: [^]*$/, "")
    .replace(BY_WAY_OF_US, "it ")
    .split("\n");
  const hint = networkHint(grant, text) ?? loadingHint(grant.name, text);
  const said = [...lines.filter((each) => !STACK.test(each)), ...(hint === undefined ? [] : [hint])];
  return cleanText(said.join("\n"));
}

/** What Node prints around the words of an error: a person who did not write the server reads nothing in it. */
const STACK = /^\s*(?:at .*|node:internal.*|throw \w+;|\^+|Node\.js v[\d.]+|code: '.*',?|requireStack: .*|[{}]?)$/;

// Tries a text that may become the policy on calls that were made: what it would have decided otherwise, rate limits included.
import { ratesOf, type Rates, SlidingWindow } from "../guard/rate-limits.js";
import type { TriedCall, TriedOutcome } from "../console/console-api.js";
import { parsePolicy } from "../policy/parse-policy.js";
import { PolicyError } from "../policy/faults.js";
import type { CommandLine } from "./command-line.js";
import { type Judgement, judgeQuestion, type PolicyQuestion, VERDICTS } from "./policy-explain.js";
import { policyContext, policyFile } from "./settings.js";

/** Where the policy that is written down cannot be used, so that nothing is judged by it. */
const NOT_KNOWN = "not known, since the policy in the file has faults";

/** How a text decides calls, without what came before them. */
interface Judge {
  readonly hash: string;
  readonly rates: Rates;
  /** Undefined for what is no call of a tool, prompt or resource. `admitted`: it has taken a place of its rate limit. */
  decide(call: TriedCall): { readonly verdict: string; readonly rule: string; readonly admitted: boolean } | undefined;
}

/**
 * Both texts are tried on the calls in the order of time: what was decided when a call was made may have been another policy.
 *
 * @returns faults of `text`, or what each call would have come to
 */
export async function tryPolicy(
  line: CommandLine,
  { text, current }: { readonly text: string; readonly current: string },
  calls: readonly TriedCall[],
): Promise<string | readonly TriedOutcome[]> {
  const changed = await judgeOf(line, text);
  if (typeof changed === "string") return changed;
  const known = await judgeOf(line, current);
  const windows = { before: new Windows(), now: new Windows() };
  return calls.map((call): TriedOutcome => {
    const after = changed.decide(call);
    if (after === undefined) return { tried: false, before: "", now: "", rule: "" };
    if (typeof known === "string") {
      const over = windows.now.isOver(call, after.admitted, changed.rates);
      return {
        tried: true,
        before: NOT_KNOWN,
        ...(over ? limited(call, changed) : { now: after.verdict, rule: after.rule }),
      };
    }
    const before = known.decide(call) ?? after;
    const over = overBoth(call, { known, changed, windows, admitted: [before.admitted, after.admitted] });
    return {
      tried: true,
      before: over.before ? "denied" : before.verdict,
      ...(over.now ? limited(call, changed) : { now: after.verdict, rule: after.rule }),
    };
  });
}

interface Both {
  readonly known: Judge;
  readonly changed: Judge;
  readonly windows: { readonly before: Windows; readonly now: Windows };
  readonly admitted: readonly [before: boolean, now: boolean];
}

/** Whether a call is over its rate under both. What was decided under the policy in force is known, and says more than a count. */
function overBoth(
  call: TriedCall,
  { known, changed, windows, admitted }: Both,
): { readonly before: boolean; readonly now: boolean } {
  const counted = {
    before: windows.before.isOver(call, admitted[0], known.rates),
    now: windows.now.isOver(call, admitted[1], changed.rates),
  };
  if (call.policy === "" || !known.hash.startsWith(call.policy) || !admitted[0]) return counted;
  const [limit, other] = [known.rates.tool(call.name), changed.rates.tool(call.name)];
  const { wasLimited } = call;
  // As many places as there were, or more where it had one, or fewer where it had none: then nothing is to be counted.
  const isKnown = other === limit || (other > limit ? !wasLimited : wasLimited);
  return { before: wasLimited, now: admitted[1] && (isKnown ? wasLimited : counted.now) };
}

function limited({ name }: TriedCall, { rates }: Judge): { readonly now: string; readonly rule: string } {
  const { rule, limit } = rates.ruleOf(name);
  return { now: "denied", rule: `${rule}: ${limit} a minute` };
}

/** The places that calls of tools take in a minute, by process and caller. */
class Windows {
  readonly #windows = new Map<string, SlidingWindow>();

  isOver({ method, name, at, caller }: TriedCall, admitted: boolean, rates: Rates): boolean {
    if (!admitted || method !== "tools/call") return false;
    const key = JSON.stringify([caller, name]);
    const window = this.#windows.get(key) ?? new SlidingWindow();
    this.#windows.set(key, window);
    return window.take(rates.tool(name), at) > 0;
  }
}

/** A text is judged as the file it may become. @returns its faults where it has some */
async function judgeOf(line: CommandLine, text: string): Promise<string | Judge> {
  try {
    const policy = await parsePolicy(text, { file: policyFile(line) ?? "policy.yaml" });
    const around = await policyContext(policy, line);
    return {
      hash: policy.hash,
      rates: ratesOf(policy),
      decide(call) {
        const question = questionOf(call);
        if (question === undefined) return undefined;
        const judged = judgeQuestion(policy, question, around);
        const verdict = judged.verdict === "denied" ? "denied" : VERDICTS[judged.verdict];
        return { verdict, rule: lastRule(judged), admitted: judged.steps[0]?.decision.allowed === true };
      },
    };
  } catch (error) {
    if (error instanceof PolicyError) return error.message;
    throw error;
  }
}

function questionOf({ method, name, arguments: given }: TriedCall): PolicyQuestion | undefined {
  const args = typeof given === "object" && given !== null ? (given as Readonly<Record<string, unknown>>) : {};
  if (method === "tools/call") return { kind: "tool", name, arguments: args };
  if (method === "prompts/get") return { kind: "prompt", name, arguments: args };
  return method === "resources/read" ? { kind: "resource", name } : undefined;
}

function lastRule({ steps, need }: Judgement): string {
  return need?.rules[0]?.text ?? steps.at(-1)?.decision.rule.text ?? "";
}

// Two processes of `serve --redis` with homes of their own, as on two machines, and what is asked of them.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { prefix, startRedis, type StartedRedis, until } from "../../../mcp/test/cluster/redis-fixture.js";
import { ApprovalsInbox } from "../../src/control/control-client.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { type Reply, send, Served, toolCall } from "../serve/served.js";

export const SECRETS = ["token", "share-key"];

export interface Member {
  readonly served: Served;
  readonly home: string;
  readonly url: string;
  readonly policy: string;
  readonly audit: string;
}

export interface Fleet {
  readonly redis: StartedRedis;
  readonly prefix: string;
  readonly members: readonly Member[];
  /** Starts one more, on a machine of its own with the files of the first. */
  join(policy?: string): Promise<Member>;
  /** Ends a member as an operator does and starts it again with the files it has now. */
  restart(member: number): Promise<void>;
  /** Calls a tool of one member. */
  call(member: number, name: string, args: object): Promise<Reply>;
}

/** Starts them all; each has a home of its own, and the token and the key of the first. */
export async function startFleet(policy: string, count = 2): Promise<Fleet> {
  const redis = await startRedis("--appendonly", "yes");
  const own = prefix();
  const members: Member[] = [];
  const fleet = { redis, prefix: own, members };
  const joinOne = async (text = policy): Promise<Member> => {
    const member = await startMember({ ...fleet, first: members[0] }, text);
    members.push(member);
    return member;
  };
  for (let n = 0; n < count; n++) await joinOne();
  const call = (member: number, name: string, args: object): Promise<Reply> => {
    const { served, url } = members[member] as Member;
    return send(url, toolCall(name, args, served.bearer));
  };
  const restart = async (at: number): Promise<void> => {
    const member = members[at] as Member;
    const code = await member.served.end();
    if (code !== 0) throw new Error(member.served.stderr);
    members[at] = await serveAt(fleet, member);
  };
  return { ...fleet, join: joinOne, restart, call };
}

interface Place {
  readonly redis: StartedRedis;
  readonly prefix: string;
  readonly first: Member | undefined;
}

async function startMember(place: Place, text: string): Promise<Member> {
  return serveAt(place, machine(text, place.first));
}

async function serveAt(
  place: Pick<Place, "redis" | "prefix">,
  { home, policy, audit }: Pick<Member, "home" | "policy" | "audit">,
): Promise<Member> {
  const args = ["--policy", policy, "--audit", audit, "--redis", place.redis.url, "--prefix", place.prefix];
  const served = new Served(args, home);
  const url = await Promise.race([served.ready(), served.exited()]);
  if (typeof url !== "string") throw new Error(served.stderr);
  return { served, home, policy, audit, url };
}

/** A home with a policy, and the secrets of another one. */
export function machine(text: string, like?: Member): Pick<Member, "home" | "policy" | "audit"> {
  const home = temporaryFolder();
  const config = join(home, ".config", "mcp-secure-local");
  mkdirSync(config, { recursive: true, mode: 0o700 });
  if (like !== undefined)
    for (const name of SECRETS) cpSync(join(like.home, ".config", "mcp-secure-local", name), join(config, name));
  const policy = join(home, "policy.yaml");
  writeFileSync(policy, text, { mode: 0o600 });
  return { home, policy, audit: join(home, "logs", "audit.log") };
}

/** What is in a member's log. */
export function recordsOf({ audit }: Pick<Member, "audit">): readonly Record<string, unknown>[] {
  const lines = readFileSync(audit, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/**
 * A person at the terminal of one machine, who gives an answer to the first question there. Resolves with its text. `meanwhile`: is
 * done while it is read.
 */
export async function answerAt(
  home: string,
  answer: "approve" | "remember" | "deny",
  meanwhile?: () => Promise<void>,
): Promise<string> {
  const inbox = new ApprovalsInbox(join(home, "state", "mcp-secure-local", "run"), "terminal");
  onTestFinished(() => inbox.close());
  for (;;) {
    await until(() => {
      inbox.look();
      return inbox.open().length > 0;
    });
    const question = await inbox.next();
    await meanwhile?.();
    // One that was answered at another process may be shown here for a moment yet.
    if ((await question.answer(answer))?.counted === false) continue;
    inbox.close();
    return question.text;
  }
}

/** The text of a tool's answer, and whether it is a failure. */
export function told({ text }: Reply): { readonly text: string; readonly failed: boolean } {
  const data = /^data: (.*)$/m.exec(text)?.[1] ?? text;
  const { result, error } = JSON.parse(data) as {
    result?: { content: { text: string }[]; isError?: boolean };
    error?: { message: string };
  };
  if (error !== undefined) return { text: error.message, failed: true };
  return { text: result?.content.map((each) => each.text).join("\n") ?? "", failed: result?.isError === true };
}

// Codes and sessions of the console as time passes and as they become too many.
import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { ConsoleAccess, KEY_HEADER } from "../../src/console/console-listener.js";

const MINUTE = 60_000;

/** An access whose clock is moved by hand. */
function clocked(): { readonly access: ConsoleAccess; readonly clock: { now: number } } {
  const clock = { now: 1_000_000 };
  return { access: new ConsoleAccess("127.0.0.1:1", () => clock.now), clock };
}

/** A request of a browser that signed in. */
function requestOf(signed: { readonly cookie: string; readonly key: string } | undefined): IncomingMessage {
  const cookie = signed?.cookie.split(";")[0];
  return { headers: { cookie, [KEY_HEADER]: signed?.key } } as unknown as IncomingMessage;
}

describe("access to the console", () => {
  it("takes each of the newest four codes, once, within ten minutes", () => {
    const { access, clock } = clocked();
    const codes = Array.from({ length: 5 }, () => access.newCode());
    clock.now += 10 * MINUTE;
    for (const time of ["first", "second"])
      expect(
        codes.map((code) => access.signIn(code) !== undefined),
        time,
      ).toEqual([false, ...Array<boolean>(4).fill(time === "first")]);
    const late = access.newCode();
    clock.now += 10 * MINUTE + 1;
    expect(access.signIn(late)).toBeUndefined();
  });

  it("takes the owner's codes however often others have sent wrong ones", () => {
    const { access } = clocked();
    const codes = [access.newCode(), access.newCode()];
    const wrong = [
      "",
      "x",
      codes[0]?.slice(0, -1) ?? "",
      `${codes[0]}A`,
      ...Array.from({ length: 1_000 }, (_, at) => `${at}`),
    ];
    for (const code of wrong) expect(access.signIn(code)).toBeUndefined();
    for (const code of codes) expect(access.signIn(code)).toBeDefined();
    for (const code of codes) expect(access.signIn(code)).toBeUndefined();
  });

  it("ends a session after twelve hours", () => {
    const { access, clock } = clocked();
    const signed = access.signIn(access.newCode());
    clock.now += 12 * 60 * MINUTE;
    expect(access.refusal(requestOf(signed))).toBeUndefined();
    clock.now += 1;
    expect(access.refusal(requestOf(signed))?.status).toBe(401);
  });

  it("keeps sixteen browsers, and lets the oldest go for another", () => {
    const { access } = clocked();
    const signed = Array.from({ length: 17 }, () => access.signIn(access.newCode()));
    expect(signed.map((each) => access.refusal(requestOf(each)) === undefined)).toEqual([
      false,
      ...Array<boolean>(16).fill(true),
    ]);
  });

  it("lets no key of one session go with the cookie of another", () => {
    const { access } = clocked();
    const [a, b] = [1, 2].map(() => access.signIn(access.newCode()));
    expect(access.refusal(requestOf({ cookie: a?.cookie ?? "", key: b?.key ?? "" }))?.status).toBe(401);
  });

  it("is not taken away by a cookie of its name that somebody else has set", () => {
    const { access } = clocked();
    const signed = access.signIn(access.newCode())!;
    const own = signed.cookie.split(";")[0] ?? "";
    const [name] = own.split("=");
    const asking = (cookie: string, key: string): IncomingMessage =>
      ({ headers: { cookie, [KEY_HEADER]: key } }) as unknown as IncomingMessage;
    for (const cookie of [`${name}=x; ${own}`, `${own}; ${name}=x`, `${own}; ${own}`, `${name}=; ${name}=y; ${own}`])
      expect(access.refusal(asking(cookie, signed.key)), cookie).toBeUndefined();
    for (const cookie of [`${name}=x`, `${name}=${own}`, `${name}=x; `.repeat(40) + own])
      expect(access.refusal(asking(cookie, signed.key))?.status, cookie).toBe(401);
  });

  it("has a cookie of its own beside the console of another port", () => {
    const names = ["127.0.0.1:1", "127.0.0.1:22"].map((host) => {
      const access = new ConsoleAccess(host);
      return access.signIn(access.newCode())?.cookie.split("=", 1)[0];
    });
    expect(new Set(names).size).toBe(2);
  });
});

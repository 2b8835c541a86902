// The requests in service of one connection: counted, found by their ids, few of them and many, and forgotten at their end.
import { describe, expect, it } from "vitest";
import { IncomingTable, type InService } from "../../src/jsonrpc/message.js";

const request = (id: number | string): InService => ({ id, seat: undefined });

describe("requests in service", () => {
  it("are there until they are released, once", async () => {
    const table = new IncomingTable(2);
    const [first, second] = [request(1), request(2)];
    expect([table.add(first), table.add(second), table.add(request(3))]).toEqual([true, true, false]);
    expect(table.find(2)).toBe(second);
    expect([table.release(first), table.release(first)]).toEqual([true, false]);
    expect(table.find(1)).toBeUndefined();
    expect([table.size, table.all()]).toEqual([1, [second]]);
    let idle = false;
    const waiting = table.whenIdle().then(() => (idle = true));
    await Promise.resolve();
    expect(idle).toBe(false);
    table.release(second);
    await waiting;
    await table.whenIdle();
  });

  it("do not lose one another when seats are taken again", () => {
    const table = new IncomingTable(10);
    const requests = [1, 2, 3, 4].map(request);
    for (const one of requests) table.add(one);
    for (const one of requests.slice(1, 3)) table.release(one);
    for (const one of [5, 6, 7].map(request)) table.add(one);
    expect(table.release(requests[1] as InService)).toBe(false);
    expect(new Set(table.all().map(({ id }) => id))).toEqual(new Set([1, 4, 5, 6, 7]));
    for (const one of table.all()) table.release(one);
    expect([table.size, table.all()]).toEqual([0, []]);
  });

  it.each([1, 64, 65, 300])("finds each of %i by its id, and none that has ended", (count) => {
    const table = new IncomingTable(1_000);
    const requests = Array.from({ length: count }, (_, index) => request(index % 2 === 0 ? index : String(index)));
    for (const one of requests) table.add(one);
    for (const one of requests) {
      expect(table.find(one.id)).toBe(one);
      // The same digits as a string are another id.
      expect(table.find(typeof one.id === "number" ? String(one.id) : Number(one.id))).toBeUndefined();
    }
    const gone = requests.filter((_, index) => index % 3 === 0);
    for (const one of gone) table.release(one);
    for (const one of requests) expect(table.find(one.id)).toBe(gone.includes(one) ? undefined : one);
    for (const one of gone) table.add(one);
    for (const one of requests) expect(table.find(one.id)).toBe(one);
    for (const one of requests) table.release(one);
    for (const one of requests) expect(table.find(one.id)).toBeUndefined();
  });
});

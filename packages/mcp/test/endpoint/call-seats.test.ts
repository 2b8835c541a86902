// The calls in service: counted, found, and forgotten once they have ended.
import { describe, expect, it } from "vitest";
import type { Call } from "../../src/endpoint/call.js";
import { CallSeats } from "../../src/endpoint/in-flight.js";

const call = (id: number): Call => ({ id, seat: undefined }) as unknown as Call;
const ids = (seats: CallSeats): unknown[] => seats.all().map(({ id }) => id);

describe("calls in service", () => {
  it("are there until they are deleted, once", () => {
    const seats = new CallSeats();
    const [first, second] = [call(1), call(2)];
    const seat = seats.add(first);
    expect(seats.at(seats.add(second))).toBe(second);
    expect(seats.size).toBe(2);
    expect(seats.delete(first)).toBe(true);
    expect(seats.delete(first)).toBe(false);
    expect(seats.at(seat)).toBeUndefined();
    expect(seats.size).toBe(1);
    expect(ids(seats)).toEqual([2]);
  });

  it("do not lose one another when seats are taken again", () => {
    const seats = new CallSeats();
    const calls = [1, 2, 3, 4].map(call);
    for (const one of calls) seats.add(one);
    seats.delete(calls[1] as Call);
    seats.delete(calls[2] as Call);
    const later = [5, 6, 7].map(call);
    for (const one of later) seats.add(one);
    expect(seats.delete(calls[1] as Call)).toBe(false);
    expect(seats.size).toBe(5);
    expect(new Set(ids(seats))).toEqual(new Set([1, 4, 5, 6, 7]));
    for (const one of [...calls, ...later]) seats.delete(one);
    expect(seats.size).toBe(0);
    expect(ids(seats)).toEqual([]);
  });
});

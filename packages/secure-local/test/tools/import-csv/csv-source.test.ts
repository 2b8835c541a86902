// How far an import says it is: each hundredth of a file once, whatever its size, and nothing that was not handed over.
import { describe, expect, it } from "vitest";
import type { OpenFile } from "../../../src/capabilities/files/files.js";
import { CsvSource } from "../../../src/tools/import-csv/csv-source.js";

const HUNDREDTHS = Array.from({ length: 100 }, (_, index) => index + 1);

interface Report {
  readonly done: number;
  readonly total: number | undefined;
  readonly message: string | undefined;
  /** Rows that had been handed over by then. */
  readonly handed: number;
}

/** Reads a whole CSV text; `handed` counts rows of two columns. */
async function imported(text: string): Promise<{ reports: Report[]; handed: number; rows: number }> {
  const bytes = Buffer.from(text);
  const file = {
    size: bytes.length,
    read: (into: Uint8Array, position: number) => Promise.resolve(bytes.copy(into, 0, position)),
  } as Partial<OpenFile> as OpenFile;
  const reports: Report[] = [];
  let handed = 0;
  const progress = (done: number, total?: number, message?: string): Promise<void> => {
    reports.push({ done, total, message, handed });
    return Promise.resolve();
  };
  const source = new CsvSource(file, { progress, signal: new AbortController().signal });
  await source.begin();
  for await (const values of source.batches()) handed += values.length / 2;
  return { reports, handed, rows: source.rows };
}

const percents = (reports: readonly Report[]): number[] =>
  reports.map(({ message }) => Number(/\((\d+) %\)$/.exec(message ?? "")?.[1]));

describe("progress of an import", () => {
  it.each([1_000, 100_000])("reports each hundredth of %i rows once", async (count) => {
    const lines = Array.from({ length: count }, (_, index) => `${index},"name, ${index}"\n`);
    const text = `id,name\n${lines.join("")}`;
    const { reports, handed, rows } = await imported(text);
    expect([handed, rows]).toEqual([count, count]);
    expect(percents(reports)).toEqual(HUNDREDTHS);
    expect(reports.map(({ message }) => Number(/^Imported (\d+) rows/.exec(message ?? "")?.[1]))).toEqual(
      reports.map((report) => report.handed),
    );
    expect(new Set(reports.map(({ total }) => total))).toEqual(new Set([text.length]));
    expect(reports.every(({ done }, index) => index === 0 || done > reports[index - 1]!.done)).toBe(true);
    expect(reports.at(-1)).toMatchObject({ done: text.length, handed: count });
  });

  it("reports a hundredth only where a row ends in it", async () => {
    expect(percents((await imported("a,b\n1,2\n3,4\n")).reports)).toEqual([50, 100]);
    expect(percents((await imported("a,b\n")).reports)).toEqual([100]);
    expect(percents((await imported(`a,b\n1,${"x".repeat(200_000)}\n2,y\n\n\n`)).reports).at(-1)).toBe(100);
  });
});

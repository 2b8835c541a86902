// Where paths lead, for who judges them and for who opens them afterwards.
import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { atPlaces, isWhereJudged, passageTo, placesIn } from "../../src/capabilities/files/leads-to.js";
import { bytesOfPath } from "../../src/capabilities/files/plain-path.js";

it("what a call was judged by is all that a path of it may lead to; what is no path, or was not judged, is not its matter", () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "judged-")));
  try {
    const [file, link] = [join(folder, "file"), join(folder, "link")];
    writeFileSync(file, "");
    symlinkSync(file, link);
    const places = placesIn([{ path: link }, { path: "no path" }]);
    expect([...(places?.keys() ?? [])]).toEqual([link]);
    expect(placesIn([{ path: "no path" }])).toBeUndefined();
    const is = (path: string, found: string): boolean => atPlaces(places, () => isWhereJudged(path, found));
    expect(is(link, file)).toBe(true);
    expect(is(`${folder}//x/../link/`, file)).toBe(true);
    // Where it would be made.
    expect(is(link, link)).toBe(true);
    expect(is(link, join(folder, "other"))).toBe(false);
    for (const path of ["no path", "/nul\0", file]) expect(is(path, "/anywhere"), path).toBe(true);
    expect(isWhereJudged(link, "/anywhere")).toBe(true);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it("a way through what is no folder, or not there, goes on as if somebody made one", () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "passage-")));
  try {
    writeFileSync(join(folder, "file"), "");
    symlinkSync("file/a", join(folder, "link"));
    const long = "n".repeat(300);
    for (const [way, led] of [
      ["file/a/b", "file/a/b"],
      ["absent/a/b", "absent/a/b"],
      ["link/b", "file/a/b"],
      [`${long}/b`, `${long}/b`],
      ["file/../a", "a"],
    ] as const)
      expect(passageTo(bytesOfPath(`${folder}/${way}`)).real, way).toBe(join(folder, led));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

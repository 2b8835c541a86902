// Links whose names are no UTF-8 on the way from a protected name: whoever decodes them loses the way, and what lies at its end.
import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { place } from "./place.mjs";

export const noTextDefended = [
  {
    name: "ways by links are gone by bytes",
    steps: ["linksNoText"],
    file: "secure-local/src/capabilities/files/leads-to.ts",
    find: 'const target = readlinkSync(asked(link), { encoding: "latin1" });',
    replace: "const target = bytesOfPath(readlinkSync(asked(link)).toString());",
  },
  {
    name: "a protected link is found by the bytes of its name",
    steps: ["linksNoText"],
    file: "secure-local/src/capabilities/files/protected-links.ts",
    find: 'name: entry.name.toString("latin1"),',
    replace: "name: bytesOfPath(entry.name.toString()),",
  },
];

/** Alone, cut short, too long a form, a surrogate, beyond the last character. */
const BYTES = ["\xe4", "\x80", "\xe2\x82", "\xc0\xae", "\xed\xa0\x80", "\xf4\x90\x80\x80"];
const NAMES = [".bashrc", ".npmrc", ".env", ".vscode/tasks.json", ".config/autostart/x.desktop"];
const EVIL = new TextEncoder().encode("evil");

/** Links on the way from a protected name to `store/v1/rc`, by where they stand; `up` leads from the folder of the name to the top. */
const WAYS = {
  "a link": (name, up, bytes) => ({ [name]: `${up}l${bytes}`, [`l${bytes}`]: "store/v1/rc" }),
  "a folder link": (name, up, bytes) => ({ [name]: `${up}l${bytes}/rc`, [`l${bytes}`]: "store/v1" }),
  "two of them": (name, up, bytes) => ({
    [name]: `${up}l${bytes}`,
    [`l${bytes}`]: `m${bytes}/rc`,
    [`m${bytes}`]: "store/v1",
  }),
  "its own name": (_, __, bytes) => ({ [`.env.${bytes}`]: "store/v1/rc" }),
  "a name in a protected folder": (_, __, bytes) => ({ [`.ssh/${bytes}/x`]: "../../store/v1/rc" }),
};

export async function linksNoText(report, parts) {
  report.kind("links whose names are no UTF-8 on the way from a protected name", { found: "attack" });
  for (const bytes of BYTES)
    for (const name of NAMES)
      for (const [what, way] of Object.entries(WAYS)) {
        const at = place();
        const kept = at.put("store/v1/rc", "old");
        const beside = at.put("store/v1/beside", "old");
        const raw = (text) => Buffer.from(text, "latin1");
        for (const [link, target] of Object.entries(way(name, "../".repeat(name.split("/").length - 1), bytes))) {
          mkdirSync(raw(dirname(join(at.inside, link))), { recursive: true });
          symlinkSync(raw(target), raw(join(at.inside, link)));
        }
        const text = `version: "1.0"\nfilesystem:\n  allowed_paths: ["${at.inside}/**"]\n`;
        const policy = await parts.parsePolicy(text, { file: "/nowhere/policy.yaml" });
        const system = new parts.FileSystem(() => policy);
        const files = system.files();
        const title = `${name} by ${what} of ${Buffer.from(bytes, "latin1").toString("hex")}`;
        await report.attack(`write what it leads to: ${title}`, () =>
          files.write(kept, EVIL).then(
            () => "written",
            ({ code }) => code === "denied" || code,
          ),
        );
        await report.benign(`write beside it: ${title}`, async () => (await files.write(beside, EVIL)).size === 4);
        system.close();
        at.remove();
      }
}

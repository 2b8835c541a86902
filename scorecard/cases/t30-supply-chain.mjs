// T30: supply chain: how many packages a user gets, what runs when they are installed, and whether the lock holds them all.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const goal = { id: "T30", title: "Supply chain", atLeast: 100 };

const root = fileURLToPath(new URL("../../", import.meta.url));
const MAX_DIRECT = 15;
const MAX_TOTAL = 40;
/** Scripts that a package manager runs by itself at an installation. */
const INSTALL_SCRIPTS = ["preinstall", "install", "postinstall", "prepare"];

export async function run(report) {
  const lock = JSON.parse(readFileSync(`${root}package-lock.json`, "utf8"));
  const shipped = ["packages/mcp", "packages/secure-local"];
  const { direct, total } = runtimeOf(lock, shipped);
  const named = JSON.parse(readFileSync(`${root}packages/secure-local/package.json`, "utf8")).devDependencies;
  for (const name of bundled()) {
    // What those need in their turn is counted with all.
    if (Object.hasOwn(named, name)) direct.add(name);
    total.add(name);
  }
  await manifests(report, shipped);
  await locked(report, lock);
  report.kind("packages at run time with scripts or machine code");
  for (const name of total) await onePackage(report, lock, name);
  report.demand(
    `at most ${MAX_DIRECT} direct run-time dependencies, those rolled into the command included`,
    direct.size <= MAX_DIRECT,
    `${direct.size}`,
  );
  report.demand(
    `at most ${MAX_TOTAL} run-time packages in all`,
    total.size <= MAX_TOTAL,
    `${total.size}: ${[...total].join(", ")}`,
  );
  // Not even those that are for development alone; our own packages have to run theirs when they are packed.
  const running = Object.entries(lock.packages).filter(([, { hasInstallScript }]) => hasInstallScript === true);
  report.demand("installations here run no scripts", running.length === 0, running.map(([path]) => path).join(", "));
}

/** Names of what users install with the shipped packages, from the lock. */
function runtimeOf(lock, shipped) {
  const direct = new Set();
  const total = new Set();
  const visit = (name, from) => {
    if (name.startsWith("@secure-local/") || total.has(name)) return;
    total.add(name);
    const entry = lock.packages[`${from}/node_modules/${name}`] ?? lock.packages[`node_modules/${name}`] ?? {};
    for (const next of Object.keys({ ...entry.dependencies, ...entry.optionalDependencies }))
      visit(next, `node_modules/${name}`);
  };
  for (const folder of shipped) {
    const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
      readFileSync(`${root}${folder}/package.json`, "utf8"),
    );
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      if (!name.startsWith("@secure-local/")) direct.add(name);
      visit(name, folder);
    }
  }
  return { direct, total };
}

/** Packages whose code is rolled into the command: the build lists their licences. */
function bundled() {
  const text = readFileSync(`${root}packages/secure-local/dist/third-party-licenses.txt`, "utf8");
  return text.split(`${"-".repeat(80)}\n\n`).map((part) => part.slice(0, part.indexOf("\n")));
}

/** What we publish runs nothing when it is installed, and pins what it needs. */
async function manifests(report, shipped) {
  report.kind("what we publish runs something when it is installed, or leaves versions open");
  for (const folder of shipped) {
    const manifest = JSON.parse(readFileSync(`${root}${folder}/package.json`, "utf8"));
    for (const script of INSTALL_SCRIPTS)
      await report.attack(`${folder}: ${script}`, () => manifest.scripts?.[script] === undefined || "there is one");
    for (const [name, version] of Object.entries({ ...manifest.dependencies, ...manifest.optionalDependencies }))
      await report.attack(`${folder}: ${name}`, () => /^\d+\.\d+\.\d+$/.test(version) || `${version} is not exact`);
    await report.benign(`${folder} names its licence`, () => typeof manifest.license === "string");
  }
}

/** Everything in the lock comes from the registry, by hash; npm writes none for binaries of platforms it did not see. */
async function locked(report, lock) {
  report.kind("packages from elsewhere, or without a hash");
  const unseen = ({ dev, optional, os, integrity }) => dev && optional && os !== undefined && integrity === undefined;
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (!path.includes("node_modules/") || entry.link === true || unseen(entry)) continue;
    await report.attack(`${path} in the lock`, () => {
      if (entry.resolved !== undefined && !entry.resolved.startsWith("https://registry.npmjs.org/"))
        return entry.resolved;
      return (entry.integrity ?? "").startsWith("sha512-") || "no hash";
    });
  }
}

/** A package at run time: no install script, no machine code. */
async function onePackage(report, lock, name) {
  const entry = lock.packages[`node_modules/${name}`];
  const folder = `${root}node_modules/${name}`;
  await report.attack(`${name} runs a script`, () => entry?.hasInstallScript !== true);
  await report.attack(`${name} has machine code`, () => {
    const files = readdirSync(folder, { recursive: true }).map(String);
    return !files.some((file) => /\.node$|binding\.gyp$/.test(file)) || "it has";
  });
}

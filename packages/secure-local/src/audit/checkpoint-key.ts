// Keeps the key that checkpoints are signed with: made once, for its owner's eyes only, its public half beside it.
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import * as fs from "node:fs";
import { dirname } from "node:path";
import { AuditError } from "./audit-event.js";
import { publicKeyPath } from "./checkpoint.js";
import { makeFolder } from "./make-folder.js";

/**
 * The key in a file; one is made where there is none.
 *
 * @throws AuditError (`io`) when it cannot be read or made, or others may read it.
 */
export function checkpointKey(keyFile: string): KeyObject {
  try {
    if (!fs.existsSync(keyFile)) makeKey(keyFile);
    if (process.platform !== "win32" && (fs.statSync(keyFile).mode & 0o077) !== 0)
      throw new Error("others may read it; take their rights away and think of it as known");
    const key = createPrivateKey(fs.readFileSync(keyFile));
    if (key.asymmetricKeyType !== "ed25519") throw new Error("it is no Ed25519 key");
    keepPublicKey(keyFile, key);
    return key;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new AuditError("io", keyFile, `the key for checkpoints cannot be used (${why}).`, { cause: error });
  }
}

/** The link makes the name appear with the whole key, and for one of several servers that start together only. */
function makeKey(keyFile: string): void {
  makeFolder(dirname(keyFile));
  const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" });
  const temporary = `${keyFile}.${process.pid}`;
  fs.rmSync(temporary, { force: true });
  fs.writeFileSync(temporary, pem, { mode: 0o600, flag: "wx", flush: true });
  try {
    fs.linkSync(temporary, keyFile);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    fs.rmSync(temporary, { force: true });
  }
}

/** Whoever made the key may have been ended before its public half was whole. */
function keepPublicKey(keyFile: string, key: KeyObject): void {
  const path = publicKeyPath(keyFile);
  const pem = createPublicKey(key).export({ type: "spki", format: "pem" });
  if (fs.existsSync(path) && fs.readFileSync(path, "utf8") === pem) return;
  const temporary = `${path}.${process.pid}`;
  fs.rmSync(temporary, { force: true });
  fs.writeFileSync(temporary, pem, { mode: 0o644, flag: "wx", flush: true });
  fs.renameSync(temporary, path);
}

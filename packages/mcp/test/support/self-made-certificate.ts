// A key and a certificate for this machine, made for one test run.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface KeyAndCertificate {
  readonly key: string;
  readonly cert: string;
}

/** Undefined where there is no openssl. */
export function selfMadeCertificate(): KeyAndCertificate | undefined {
  const folder = mkdtempSync(join(tmpdir(), "mcp-tls-"));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const names = "subjectAltName=IP:127.0.0.1,DNS:localhost";
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const about = ["-subj", "/CN=localhost", "-addext", names, "-days", "2"];
  try {
    execFileSync("openssl", ["req", "-x509", ...curve, ...about, "-keyout", key, "-out", cert], { stdio: "ignore" });
    return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  } catch (error) {
    if (process.env["CI"] || (error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    console.log("skipped: there is no openssl to make a certificate with");
    return undefined;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

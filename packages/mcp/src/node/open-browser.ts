// Opens a web page in the user's browser, without a shell and without anything but web pages.
import { spawn } from "node:child_process";
import { LocalError } from "../jsonrpc/local-error.js";

export interface OpenBrowserOptions {
  /** Default: that of this machine. */
  readonly platform?: NodeJS.Platform;
  /** Starts the program. Default: as a process of its own that outlives this one. Rejects when it cannot be started. */
  readonly start?: (command: string, args: readonly string[]) => Promise<void>;
}

/** Each is given the URL as its last argument and hands it to whatever the user has set up for web pages. */
const OPENERS: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};
const OTHER_OPENER = ["xdg-open"] as const;

/** Longest wait for the opener to fail. */
const GRACE_MS = 3_000;

/** Characters that are text to every opener and every script one of them may be. */
const PLAIN = /[^A-Za-z0-9\-._~:/?#[\]@!&*+,;=%]/g;

/** Rejects with `AUTH_BROWSER` for other URLs than http(s), and where no browser can be started. */
export async function openBrowser(url: string, options: OpenBrowserOptions = {}): Promise<void> {
  const { platform = process.platform, start = startDetached } = options;
  const [command, ...args] = OPENERS[platform] ?? OTHER_OPENER;
  const page = checkPage(url);
  try {
    await start(command, [...args, page]);
  } catch (error) {
    throw new LocalError(
      "AUTH_BROWSER",
      `No browser could be opened by ${command}: show the user the address (option show), or have them paste the answer (pastedRedirect)`,
      {
        cause: error,
      },
    );
  }
}

function checkPage(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "https:" || url?.protocol === "http:") {
    return url.href.replaceAll(PLAIN, (character) => escape(character));
  }
  throw new LocalError("AUTH_BROWSER", "Only http and https pages are opened in the browser; this address was not");
}

/** What a URL still spells plainly is one byte; the rest was escaped when it was parsed. */
function escape(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}

/** An opener that fails does so at once; one that waits for its browser to be closed has succeeded. */
function startDetached(command: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { shell: false, detached: true, stdio: "ignore", windowsHide: true });
    let grace: NodeJS.Timeout | undefined;
    child.on("spawn", () => {
      child.unref();
      grace = setTimeout(resolve, GRACE_MS);
    });
    child.on("error", reject);
    child.on("exit", (code) => {
      clearTimeout(grace);
      if (code === 0) resolve();
      else reject(new Error(`${command} ended with status ${code ?? "none"}`));
    });
  });
}

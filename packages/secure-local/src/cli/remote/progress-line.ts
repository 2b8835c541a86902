// Shows a call's progress on one line of the terminal, which is gone when the call ends.
import type { Progress } from "@secure-local/mcp/client";
import { cleanLine } from "../../guard/cleaning/clean-text.js";

const WIDTH = 24;
const MESSAGE = 50;
const CLEAR_LINE = "\r\u001b[K";

export interface ProgressLine {
  readonly show: (progress: Progress) => void;
  readonly end: () => void;
}

/** Nothing is shown where stderr is no terminal. */
export function progressLine(stream: Pick<NodeJS.WriteStream, "isTTY" | "write"> = process.stderr): ProgressLine {
  let shown = false;
  return {
    show(progress) {
      if (!stream.isTTY) return;
      shown = true;
      stream.write(`${CLEAR_LINE}${progressText(progress)}`);
    },
    end() {
      if (shown) stream.write(CLEAR_LINE);
      shown = false;
    },
  };
}

export function progressText({ progress, total, message }: Progress): string {
  const said = message === undefined ? "" : ` ${cleanLine(message).slice(0, MESSAGE)}`;
  if (total === undefined || !(total > 0)) return `… ${progress}${said}`;
  const share = Math.min(1, Math.max(0, progress / total));
  const full = Math.round(share * WIDTH);
  const percent = String(Math.floor(share * 100)).padStart(3);
  return `[${"#".repeat(full)}${"-".repeat(WIDTH - full)}] ${percent}%${said}`;
}

// Reports on how far a running request has come.
import type { Meta } from "../meta.js";

/** Chosen by the sender of the request; an integer when it is a number. */
export type ProgressToken = string | number;

export interface ProgressNotificationParams {
  progressToken: ProgressToken;
  /** Grows with every report; need not be an integer. */
  progress: number;
  total?: number;
  /** Since 2025-03-26. */
  message?: string;
  _meta?: Meta;
}

// Giving up on a request that is still running.
import type { RequestId } from "../../jsonrpc/message.js";
import type { Meta } from "../meta.js";

export interface CancelledNotificationParams {
  requestId: RequestId;
  reason?: string;
  _meta?: Meta;
}

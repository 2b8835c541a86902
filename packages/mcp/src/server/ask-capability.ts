// Whether the client can be asked something: it must have declared it, and its revision must have it.
import type { Call } from "../endpoint/call.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import type { ClientCapabilities } from "../protocol/capabilities.js";
import { McpErrorCode } from "../protocol/error-codes.js";
import { LocalError } from "../jsonrpc/local-error.js";
import { peerWords } from "../jsonrpc/visible-text.js";
import { isWebAddress } from "../protocol/params-check.js";

/**
 * Throws -32021 with `data.requiredCapabilities` where the caller did not declare what a question needs, or where its
 * revision does not have the question; INVALID_URL for a page that is none. The codecs say it to older peers in their own words.
 */
export function requireCapability(call: Call, method: string, params: unknown): void {
  checkPage(method, params as { readonly mode?: unknown; readonly url?: unknown } | undefined);
  const required = neededFor(method, params as { readonly mode?: unknown; readonly tools?: unknown } | undefined);
  const { codec, capabilities } = call.caller;
  if (codec.revision.serverRequests.has(method) && declares(codec.revision.elicitation.url, capabilities, required))
    return;
  const names = Object.entries(required).map(([name, settings]) =>
    [name, ...Object.keys(settings as object)].join("."),
  );
  const what = `This needs a client that can be asked: the capability ${names.join(", ")} was not declared`;
  throw new RpcError(McpErrorCode.MissingRequiredClientCapability, what, { requiredCapabilities: required });
}

/** Throws INVALID_URL for a page no browser should be sent to. */
function checkPage(method: string, params: { readonly mode?: unknown; readonly url?: unknown } | undefined): void {
  if (method !== "elicitation/create" || params?.mode !== "url" || isWebAddress(params.url)) return;
  const what = `The page to open is ${peerWords(params.url)}, which is no web address: write it like https://host/page`;
  throw new LocalError("INVALID_URL", what);
}

function neededFor(
  method: string,
  params: { readonly mode?: unknown; readonly tools?: unknown } | undefined,
): ClientCapabilities {
  if (method === "roots/list") return { roots: {} };
  if (method === "sampling/createMessage") return { sampling: params?.tools === undefined ? {} : { tools: {} } };
  return { elicitation: params?.mode === "url" ? { url: {} } : { form: {} } };
}

function declares(urls: boolean, declared: ClientCapabilities, required: ClientCapabilities): boolean {
  if (required.roots !== undefined) return declared.roots !== undefined;
  if (required.sampling !== undefined) {
    return (
      declared.sampling !== undefined &&
      (required.sampling.tools === undefined || declared.sampling.tools !== undefined)
    );
  }
  const { elicitation } = declared;
  if (elicitation === undefined) return false;
  if (required.elicitation?.url !== undefined) return urls && elicitation.url !== undefined;
  // `{}` means forms only; naming url alone means no forms.
  return elicitation.form !== undefined || elicitation.url === undefined;
}

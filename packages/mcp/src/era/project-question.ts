// Projects what a server asks its client: forms, pages to open, completions of the client's model, roots.
import { LocalError } from "../jsonrpc/local-error.js";
import type {
  ElicitRequestFormParams,
  ElicitRequestParams,
  ElicitRequestURLParams,
} from "../protocol/features/elicitation.js";
import type { CreateMessageRequestParams } from "../protocol/features/sampling.js";
import type { Revision } from "../protocol/revisions/revision.js";
import { projectForm } from "./project-form.js";
import { projectSampling } from "./project-sampling.js";

/** Params of a question. Throws a LocalError with code `NOT_EXPRESSIBLE` when the revision cannot put it. */
export function projectQuestion(revision: Revision, method: string, params: object): object {
  if (!revision.serverRequests.has(method)) throw notExpressible(revision, `there is no ${method}`);
  switch (method) {
    case "elicitation/create":
      return projectElicitation(revision, params as ElicitRequestParams);
    case "sampling/createMessage":
      return projectSampling(revision, params as CreateMessageRequestParams);
    default:
      return params;
  }
}

function projectElicitation(revision: Revision, params: ElicitRequestParams): object {
  return params.mode === "url" ? projectUrl(revision, params) : projectFormParams(revision, params);
}

function projectUrl(revision: Revision, params: ElicitRequestURLParams): object {
  if (!revision.elicitation.url) throw notExpressible(revision, "a person cannot be sent to a page");
  const { elicitationId, ...rest } = params;
  return revision.elicitation.elicitationId ? { ...rest, elicitationId: elicitationId ?? crypto.randomUUID() } : rest;
}

function projectFormParams({ elicitation }: Revision, params: ElicitRequestFormParams): object {
  const { mode, ...rest } = params;
  const requestedSchema = projectForm(elicitation, params.requestedSchema);
  return elicitation.mode && mode !== undefined ? { mode, ...rest, requestedSchema } : { ...rest, requestedSchema };
}

function notExpressible({ date }: Revision, what: string): LocalError {
  return new LocalError("NOT_EXPRESSIBLE", `The client speaks ${date}, in which ${what}`);
}

/** What the rules for Gemini share: the error bodies, the model and the contents of a request. */
import { type Json, record, records } from './json-shapes.ts';
import type { Refusal, StrictRequest } from './strict-server.ts';

/**
 * https://ai.google.dev/gemini-api/docs/troubleshooting: `{"error":{"code","message","status","details"}}`.
 */
export function geminiError(code: number, status: string, message: string, details: readonly object[] = []): Refusal {
  return { status: code, body: { error: { code, message, status, ...(details.length === 0 ? {} : { details }) } } };
}

export function invalidArgument(message: string, details: readonly object[] = []): Refusal {
  return geminiError(400, 'INVALID_ARGUMENT', message, details);
}

/** How the API names a broken rule of its message types. */
export function invalidField(path: string, rule: string): Refusal {
  return invalidArgument(`* GenerateContentRequest.${path}: ${rule}\n`);
}

/** A field that the message type does not have. */
export function unknownField(name: string, path: string, rule = 'Cannot find field.'): Refusal {
  const description = `Invalid JSON payload received. Unknown name "${name}"${path === '' ? '' : ` at '${path}'`}: ${rule}`;
  const details = { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field: path, description }] };
  return invalidArgument(description, [details]);
}

/** Refusals that a script orders: they depend on the account or the moment, not on the request. */
export const geminiTrouble = {
  /** The wait stands in the body only: https://github.com/continuedev/continue/issues/10560 */
  rateLimit: (seconds: number): Refusal =>
    geminiError(429, 'RESOURCE_EXHAUSTED', 'Resource has been exhausted (e.g. check quota).', [
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${seconds}s` },
    ]),
  overloaded: (): Refusal => geminiError(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'),
  server: (): Refusal => geminiError(500, 'INTERNAL', 'An internal error has occurred. Please retry or report.'),
};

/** `POST /v1beta/models/<model>:<method>` */
export function target({ path }: StrictRequest): { readonly model: string; readonly method: string } | undefined {
  const [, model, method] = /^\/v1beta\/models\/([^/:]+):(\w+)$/.exec(path) ?? [];
  return model === undefined || method === undefined ? undefined : { model, method };
}

export function modelOf(request: StrictRequest): string {
  return target(request)?.model ?? '';
}

export interface Content {
  readonly role: unknown;
  readonly parts: readonly Json[];
}

export function contentsOf({ body }: StrictRequest): readonly Content[] {
  return records(body['contents']).map(({ role, parts }) => ({ role, parts: records(parts) }));
}

export function callsIn({ parts }: Content): readonly Json[] {
  return parts.filter(({ functionCall }) => functionCall !== undefined);
}

export function responsesIn({ parts }: Content): readonly Json[] {
  return parts
    .map(({ functionResponse }) => functionResponse)
    .filter((response) => response !== undefined)
    .map(record);
}

import type { JsonObject } from './wire.ts';

/**
 * Ends a call as the Bot API refuses one: `status` is both the HTTP status and the `error_code` of the
 * answer.
 */
export class Refusal extends Error {
  readonly status: number;
  /** `retry_after` and the like. */
  readonly parameters: JsonObject | undefined;

  constructor(status: number, description: string, parameters?: JsonObject) {
    super(description);
    this.status = status;
    this.parameters = parameters;
  }
}

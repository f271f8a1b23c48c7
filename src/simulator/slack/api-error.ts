/** A refusal: `ok: false` with this word, and the scope that was needed. */
export class ApiError extends Error {
  readonly needed: string | undefined;

  constructor(error: string, needed?: string) {
    super(error);
    this.needed = needed;
  }
}

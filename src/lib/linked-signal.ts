interface LinkedSignal extends Disposable {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
}

/**
 * A signal that aborts with the first of `parents`, for their reason, or by `abort`. Dispose it when the work
 * is over: then no parent knows of it any more. Of `AbortSignal.any` a parent that lives long keeps every
 * signal on which some listener was left, with all that the listener holds.
 *
 * @example
 * using either = linkedSignal(stop, signal);
 * await clock.sleep(ms, either.signal);
 */
export function linkedSignal(...parents: readonly AbortSignal[]): LinkedSignal {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(parents.find(({ aborted }) => aborted)?.reason);
  for (const parent of parents) parent.addEventListener('abort', onAbort, { once: true });
  if (parents.some(({ aborted }) => aborted)) onAbort();
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    [Symbol.dispose]: () => {
      for (const parent of parents) parent.removeEventListener('abort', onAbort);
    },
  };
}

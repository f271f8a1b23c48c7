/** Aborts with the first of the signals. Dispose it: else a long-lived signal keeps all it was linked to. */
export function linked(...signals: readonly AbortSignal[]): { readonly controller: AbortController } & Disposable {
  const controller = new AbortController();
  const listeners = signals.map((signal) => {
    const onAbort = (): void => controller.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    return () => signal.removeEventListener('abort', onAbort);
  });
  return {
    controller,
    [Symbol.dispose]: () => {
      for (const remove of listeners) remove();
    },
  };
}

/** Resolves when the signal aborts; for one that surely does. */
export function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });
}

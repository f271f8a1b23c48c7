/** Ends with either signal. Dispose it: a long-lived signal would keep everything that was ever linked to it. */
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

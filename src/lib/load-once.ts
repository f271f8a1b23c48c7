/**
 * Loads at the first call and keeps what was loaded. A failure is not kept: the next call loads again, since
 * what could not be read for a moment may be read then.
 */
export function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
}

/**
 * Loads at the first call and keeps what was loaded. A failure is not kept: the next call loads again,
 * because the cause may be gone by then, such as a shortage of file descriptors. Of an `import()` Node itself
 * keeps one failure until the process ends: that of a CommonJS file which a package requires while it is
 * evaluated.
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

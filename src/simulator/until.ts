/**
 * Polls until `check` returns something truthy; fails with `what` after `timeoutMs`. For real-time tests
 * only. The longer it has waited the less often it looks (every 5 ms at first, every 50 ms after half a
 * second): a look at another process costs both of them.
 */
export async function until<T>(what: string, check: () => T | Promise<T>, timeoutMs = 60_000): Promise<NonNullable<T>> {
  const start = performance.now();
  for (;;) {
    const value = await check();
    if (value) return value as NonNullable<T>;
    const waitedMs = performance.now() - start;
    if (waitedMs > timeoutMs) throw new Error(`timed out waiting until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, Math.min(50, 5 + waitedMs / 10)));
  }
}

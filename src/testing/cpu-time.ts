/** CPU time this thread has used, ms. It bounds work, as the clock on the wall also counts that of others. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/**
 * The least CPU time of up to five rounds, ms; ends with the first below `limit`. The first rounds pay for
 * the compiler, and other processes work on the same cores.
 */
export function leastCpuMs(limit: number, task: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5 && least > limit; round += 1) {
    const before = cpuMs();
    task();
    least = Math.min(least, cpuMs() - before);
  }
  return least;
}

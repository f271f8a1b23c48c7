/** CPU time this thread has used, ms: what a bound on work is held against, since the clock on the wall also counts what others do. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

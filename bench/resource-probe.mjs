// Loaded in front of the program under test (`node --import`). It answers each message from the benchmark
// with what this process holds. `after-gc` first collects garbage (`--expose-gc`), so that only what is still
// referenced counts.
import { readdirSync } from 'node:fs';

process.on('message', (question) => {
  if (question === 'after-gc') globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  const handles = {};
  for (const name of process.getActiveResourcesInfo()) handles[name] = (handles[name] ?? 0) + 1;
  const { user, system } = process.cpuUsage();
  process.send?.({ rss, heapUsed, handles, descriptors: descriptors(), cpuMs: (user + system) / 1_000 });
});
// Neither the listener nor the channel may keep the program running.
process.channel?.unref();

function descriptors() {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return -1;
  }
}

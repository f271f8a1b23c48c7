// Loaded in front of the program under test (`node --import`): `watch` begins to measure how long the event
// loop is held up, `tell` answers with what was seen since, in ms.
import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 1;
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

process.on('message', (question) => {
  if (question === 'watch') {
    delay.reset();
    delay.enable();
    process.send?.({});
  } else {
    delay.disable();
    // The histogram counts from one tick to the next: the interval itself is no delay.
    const ms = (share) => Math.max(0, delay.percentile(share) / 1e6 - RESOLUTION_MS);
    process.send?.({ p50: ms(50), p99: ms(99), max: delay.max / 1e6 });
  }
});
// Neither the listener nor the channel may keep the program running.
process.channel?.unref();

/**
 * Runs in a namespace of process ids of its own, where an id can be given twice: a program is recorded, ends,
 * and another one gets its id. Prints what reaping the records of both came to, as JSON.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { systemClock } from '../lib/clock.ts';
import { startOf } from '../sandbox/kernel-process.ts';
import { reapProcess } from '../sandbox/reap.ts';

const ID = 4_711;

/** The kernel gives the next process the id behind this one (proc(5), ns_last_pid). */
async function sleeperWithId(): Promise<ChildProcess> {
  for (;;) {
    await writeFile('/proc/sys/kernel/ns_last_pid', String(ID - 1));
    const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
    if (child.pid === ID) return child;
    // A thread of this process was quicker.
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
}

async function end(child: ChildProcess): Promise<void> {
  const ended = child.exitCode ?? child.signalCode ?? once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

const first = await sleeperWithId();
const started = (await startOf(ID)) ?? '';
await end(first);
// The kernel counts in hundredths of a second.
await systemClock.sleep(20);
const other = await sleeperWithId();
const ofTheFirst = await reapProcess({ id: 'first', program: 'sleep', pgid: ID, started }, systemClock);
const isSpared = (await startOf(ID)) !== undefined;
const ofTheOther = await reapProcess(
  { id: 'other', program: 'sleep', pgid: ID, started: (await startOf(ID)) ?? '' },
  systemClock,
);
const isEnded = (await startOf(ID)) === undefined;
await end(other);
process.stdout.write(JSON.stringify({ ofTheFirst, isSpared, ofTheOther, isEnded }));

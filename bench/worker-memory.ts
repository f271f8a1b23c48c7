// What the tool worker and the programs in it cost in memory: nothing before the first program, and how much
// at most while 200 turns at once run one each.
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { descendantsOf } from '../src/sandbox/kernel-process.ts';
import { callPieces, messagesOf, stream, textPieces } from '../src/testing/model-server.ts';
import { telegramScene } from '../src/testing/telegram/scene.ts';
import type { Figure } from './figure.ts';

const bench = 'worker-memory';
const TURNS = 200;
const LOOK_MS = 20;
const READ = { name: 'list_dir', arguments: { path: '.' } };
const RUN = { name: 'shell', arguments: { command: 'seq 1 1000 > a.txt; wc -l a.txt; sleep 0.2' } };

export async function measureWorkerMemory(): Promise<Figure[]> {
  const ids = Array.from({ length: TURNS }, (_, n) => n + 1);
  let call: { readonly name: string; readonly arguments: Record<string, unknown> } = READ;
  await using at = await telegramScene({
    entry: { allowed_senders: ids.map(String) },
    gateway: {
      max_concurrent_sessions: TURNS,
      owner: [{ channel: 'telegram', chat_id: '1', sender_ids: ids.map(String) }],
    },
    config: { sandbox: {}, tool_policy: { mode: 'full' } },
    script: (request) => {
      const told = messagesOf(request);
      // Of this message, not of the one before.
      const isDone = told.findLastIndex(({ role }) => role === 'tool') > told.findLastIndex(({ role }) => role === 'user');
      return isDone ? stream(textPieces(`done: ${told.at(-1)?.content}`)) : stream(callPieces(call));
    },
  });
  await using daemon = await at.spawn();
  const { pid } = await daemon.ready();
  const ask = (): void => {
    for (const id of ids) at.platform.inject({ chat_id: id, from: { id }, text: 'work' });
  };
  ask();
  await daemon.settled(TURNS);
  const before = await memoryOf(pid);
  call = RUN;
  ask();
  const settled = daemon.settled(2 * TURNS).then(() => 'settled' as const);
  let [most, atOnce] = [0, 0];
  while ((await Promise.race([settled, sleep(LOOK_MS, 'look' as const)])) === 'look') {
    const { mb, processes } = await memoryOf(pid);
    [most, atOnce] = [Math.max(most, mb), Math.max(atOnce, processes)];
  }
  const ran = at.texts().filter((text) => text.includes('1000 a.txt')).length;
  if (ran < TURNS) throw new Error(`${TURNS - ran} of ${TURNS} programs did not run`);
  return [
    {
      ...{ bench, name: 'worker before its first program', value: before.mb, unit: 'MB', limit: { atMost: 0 } },
      note: `after ${TURNS} turns with a tool that needs none; ${before.processes} processes below the daemon`,
    },
    {
      ...{ bench, name: 'worker and its programs, peak', value: most, unit: 'MB', limit: { atMost: 150 } },
      note: `${TURNS} turns at once with a program each; at most ${atOnce} processes`,
    },
  ];
}

/** Resident, of all processes below this one; a page that several share counts once. */
async function memoryOf(pid: number): Promise<{ readonly mb: number; readonly processes: number }> {
  const below = await descendantsOf(pid);
  const sizes = await Promise.all(below.map(residentMb));
  return { mb: sizes.reduce((sum, mb) => sum + mb, 0), processes: below.length };
}

/** Its share of each page (proc(5), Pss). 0 = it has ended meanwhile. */
async function residentMb(pid: number): Promise<number> {
  const memory = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
  return Number(/^Pss:\s+(\d+) kB/m.exec(memory)?.[1] ?? 0) / 1_000;
}

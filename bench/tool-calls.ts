// What a call of a tool costs beside the model's answer and its own work: loop, policy, sanitize, journal.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { callPieces, messagesOf, stream, textPieces } from '../src/testing/model-server.ts';
import { telegramScene } from '../src/testing/telegram/scene.ts';
import type { Figure } from './figure.ts';
import { median } from './statistics.ts';

const bench = 'tool-calls';
const CALLS = 40;
const TURNS = 8;
/** The first turns load what a tool needs. */
const WARM_UP = 2;

/** The unchanged daemon, one person, turns of forty calls one by one. Times: its record's, in whole ms. */
export async function measureToolCalls(): Promise<Figure[]> {
  await using at = await telegramScene({
    entry: { allowed_senders: ['7'] },
    gateway: { owner: [{ channel: 'telegram', chat_id: '7', sender_ids: ['7'] }] },
    config: { tool_policy: { mode: 'full' }, max_iterations: CALLS + 2 },
    script: (request) => {
      const messages = messagesOf(request);
      const asked = messages.findLastIndex(({ role }) => role === 'user');
      const n = messages.slice(asked).filter(({ role }) => role === 'tool').length;
      if (n === CALLS) return stream(textPieces('done'));
      const read = { name: 'read_file', arguments: { path: 'a.txt', start_line: n, end_line: n + 3 } };
      const write = { name: 'write_file', arguments: { path: 'a.txt', content: 'a line\n'.repeat(1_000) } };
      return stream(callPieces(n === 0 ? write : read));
    },
  });
  await using daemon = await at.spawn();
  await daemon.ready();
  const say = (text: string): void => void at.platform.inject({ chat_id: 7, from: { id: 7 }, text });
  for (let turn = 1; turn <= TURNS; turn += 1) {
    say('/new');
    say('work');
    await daemon.settled(2 * turn);
  }
  await daemon.stop();
  const turns = besideIn(join(daemon.dataDir, 'journal.db')).slice(WARM_UP);
  const all = turns.flat();
  const p50 = median(all);
  const mean = all.reduce((sum, ms) => sum + ms, 0) / all.length;
  const note = `${all.length} calls, mean ${mean.toFixed(1)} ms; the journal is on the disk of TMPDIR`;
  return [{ bench, name: 'beside model and tool, p50', value: p50, unit: 'ms', limit: { atMost: 3 }, note }];
}

type Event = readonly [type: string, offset: number, data?: { readonly ms?: number }];

/** Of each turn the ms between an answer of the model and the next call of it, without those of the tool. */
function besideIn(path: string): readonly (readonly number[])[] {
  using db = new DatabaseSync(path, { readOnly: true });
  const rows = db.prepare("SELECT run, at, data FROM event WHERE type = 'batch' ORDER BY run, seq").all();
  return [...Map.groupBy(rows, ({ run }) => run).values()]
    .map((batches) => {
      const found: number[] = [];
      let [answered, tool] = [Number.NaN, 0];
      for (const { at, data } of batches) {
        for (const [type, offset, about] of JSON.parse(String(data)) as Event[]) {
          const time = Number(at) + offset;
          if (type === 'model.done') answered = time;
          if (type === 'tool.done') tool = about?.ms ?? 0;
          if (type === 'model.started' && !Number.isNaN(answered)) found.push(time - answered - tool);
        }
      }
      return found;
    })
    .filter((times) => times.length > 0);
}

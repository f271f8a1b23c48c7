import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { callPieces, messagesOf, stream, textPieces } from '../testing/model-server.ts';
import { needs } from '../testing/needs.ts';
import { type TelegramSceneOptions, telegramScene } from '../testing/telegram/scene.ts';

/** Slower than all that the daemon does meanwhile: what did not wait for the disk would be first. ms. */
const SYNC_MS = 60;

interface Order {
  /** A system call that acts on it. */
  readonly before: RegExp;
  /** In the write to the log that has to be on disk by then: the newest of them, or the first. */
  readonly word: string;
  readonly isFirst?: true;
}

/**
 * For each call that matches: whether that write was synced before it, by a sync that began after the write.
 */
function isSynced(trace: readonly string[], { before, word, isFirst }: Order): readonly boolean[] {
  const begun = new Map<string, number>(); // by thread: how many writes there were when its sync began
  const seen: boolean[] = [];
  let [written, holding, covered] = [0, 0, 0];
  for (const line of trace) {
    const [thread = ''] = line.split(' ', 1);
    if (/ pwrite64\(\d+<[^>]*journal\.db-wal>/.test(line)) {
      written += 1;
      if (line.includes(word) && !(isFirst && holding > 0)) holding = written;
    }
    if (/ fdatasync\(\d+<[^>]*journal\.db-wal>/.test(line)) begun.set(thread, written);
    const from = begun.get(thread);
    if (from !== undefined && /fdatasync(?:\(| resumed>).*= 0(?: \(DELAYED\))?$/.test(line)) {
      covered = Math.max(covered, from);
      begun.delete(thread);
    }
    if (before.test(line)) seen.push(holding > 0 && covered >= holding);
  }
  return seen;
}

/** The system calls of a daemon on a slow disk that answers so many questions. */
async function traceOf(context: TestContext, questions: number, options?: TelegramSceneOptions): Promise<readonly string[]> {
  const calls = ['-e', 'trace=write,writev,sendto,sendmsg,pwrite64,fdatasync'];
  const slow = ['-e', `inject=fdatasync:delay_exit=${SYNC_MS * 1_000}`];
  needs(context, 'strace', '--seccomp-bpf', '-f', '-o', '/dev/null', ...calls, 'true');
  await using at = await telegramScene({ entry: { allowed_senders: ['42'] }, ...options });
  const file = join(at.dir, 'trace');
  {
    const traced = ['strace', '--seccomp-bpf', '-f', '-y', '-s', '8192', '-o', file, ...calls, ...slow];
    await using daemon = await at.spawn({ wrapper: traced });
    for (let n = 1; n <= questions; n += 1) {
      at.platform.inject({ text: `question ${n}`, chat_id: 42, from: { id: 42 } });
      await daemon.settled(n);
    }
  }
  return (await readFile(file, 'utf8')).split('\n');
}

test('F12 on a slow disk a model is asked, and an answer sent, only once all that leads to it is on disk', async (context) => {
  const trace = await traceOf(context, 5);
  const all = [true, true, true, true, true];
  expect(isSynced(trace, { before: /"POST \/v1\/chat\/completions/, word: 'RUNNING' })).toEqual(all);
  expect(isSynced(trace, { before: /"POST \/bot\S+\/sendMessage/, word: 'SENDING' })).toEqual(all);
});

test('F12 on a slow disk a message is confirmed, and a tool changes something, only once that is on disk', async (context) => {
  const writes = callPieces({ name: 'write_file', arguments: { path: 'out.txt', content: 'the effect' } });
  const trace = await traceOf(context, 1, {
    script: (request) => stream(messagesOf(request).some(({ role }) => role === 'tool') ? textPieces('written') : writes),
  });
  const orders: readonly Order[] = [
    { before: /\/getUpdates .*\\"offset\\":2,/, word: 'question 1', isFirst: true },
    { before: /\/workspaces\/[^>]*>, "the effect"/, word: 'STARTED' },
  ];
  const unsynced = trace.filter((line) => !line.includes('fdatasync'));
  for (const order of orders) {
    expect(isSynced(trace, order)[0]).toBe(true);
    expect(isSynced(unsynced, order)[0]).toBe(false);
  }
});

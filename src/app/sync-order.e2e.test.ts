import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { needs } from '../testing/needs.ts';
import { telegramScene } from '../testing/telegram/scene.ts';

/** Slower than all that the daemon does meanwhile: what did not wait for the disk would be first. ms. */
const SYNC_MS = 60;

/**
 * For each request that matches: whether the newest write to the log that holds the word was synced before
 * it, by a sync that began after that write.
 */
function isSynced(trace: readonly string[], request: RegExp, word: string): readonly boolean[] {
  const begun = new Map<string, number>(); // by thread: how many writes there were when its sync began
  const seen: boolean[] = [];
  let [written, holding, covered] = [0, 0, 0];
  for (const line of trace) {
    const [thread = ''] = line.split(' ', 1);
    if (/ pwrite64\(\d+<[^>]*journal\.db-wal>/.test(line)) {
      written += 1;
      if (line.includes(word)) holding = written;
    }
    if (/ fdatasync\(\d+<[^>]*journal\.db-wal>/.test(line)) begun.set(thread, written);
    const from = begun.get(thread);
    if (from !== undefined && /fdatasync(?:\(| resumed>).*= 0(?: \(DELAYED\))?$/.test(line)) {
      covered = Math.max(covered, from);
      begun.delete(thread);
    }
    if (request.test(line)) seen.push(holding > 0 && covered >= holding);
  }
  return seen;
}

test('F12 on a slow disk a model is asked, and an answer sent, only once all that leads to it is on disk', async (context) => {
  const calls = ['-e', 'trace=write,writev,sendto,sendmsg,pwrite64,fdatasync'];
  const slow = ['-e', `inject=fdatasync:delay_exit=${SYNC_MS * 1_000}`];
  needs(context, 'strace', '--seccomp-bpf', '-f', '-o', '/dev/null', ...calls, 'true');
  await using at = await telegramScene();
  const file = join(at.dir, 'trace');
  {
    const traced = ['strace', '--seccomp-bpf', '-f', '-y', '-s', '8192', '-o', file, ...calls, ...slow];
    await using daemon = await at.spawn({ wrapper: traced });
    for (let n = 1; n <= 5; n += 1) {
      at.platform.inject({ text: `question ${n}` });
      await daemon.settled(n);
    }
  }
  const trace = (await readFile(file, 'utf8')).split('\n');
  const all = [true, true, true, true, true];
  expect(isSynced(trace, /"POST \/v1\/chat\/completions/, 'RUNNING')).toEqual(all);
  expect(isSynced(trace, /"POST \/bot\S+\/sendMessage/, 'SENDING')).toEqual(all);
});

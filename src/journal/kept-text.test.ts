import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FakeClock, outbound, tempDir } from '../testing/fakes.ts';
import { BOUNDS } from '../testing/journal-harness.ts';
import { LANE, part } from '../testing/journal-rows.ts';
import { openJournal } from './open.ts';

async function setup() {
  const dir = await tempDir();
  const clock = new FakeClock();
  const open = () => openJournal({ dir: dir.path, clock });
  const opened = await open();
  return {
    ...{ path: join(dir.path, 'journal.db'), open, ...opened },
    // As the end of a process: the log is copied into the file.
    close: () => opened[Symbol.asyncDispose](),
    [Symbol.asyncDispose]: async () => {
      await opened[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test.each(['sent', 'unknown', 'dead', 'expired'] as const)(
  'S13 a text that holds a secret is taken out once the part is %s, also after a kill in the middle of its send',
  async (kind) => {
    await using at = await setup();
    const secret = part('secret', { part: outbound({ key: 'secret', text: 'the code is ABCD', keptAs: 'the code is ****' }) });
    await at.journal.enqueue([secret]);
    const [row] = await at.journal.pending(LANE, 1);
    expect(row?.part.text).toBe('the code is ABCD');
    await at.journal.sending(row?.seq ?? 0);
    await using next = await at.open();
    const { sending } = await next.journal.recover(BOUNDS, () => []);
    expect(sending[0]?.part.text).toBe('the code is ABCD');
    const reason = { reason: 'killed' };
    const settlement = kind === 'sent' ? { kind, platformId: 'p' } : kind === 'expired' ? { kind } : { kind, ...reason };
    await next.journal.settle(row?.seq ?? 0, { kind: 'retry', notBefore: 0, reason: 'once more' });
    expect((await next.journal.part('secret'))?.part.text).toBe('the code is ABCD');
    await next.journal.settle(row?.seq ?? 0, settlement);
    expect((await next.journal.part('secret'))?.part.text).toBe('the code is ****');
  },
);

test('S13 a secret that was too old at the start is taken out too', async () => {
  await using at = await setup();
  const secret = part('secret', { expiresAt: 1, part: outbound({ key: 'secret', text: 'ABCD', keptAs: '****' }) });
  await at.journal.enqueue([secret, part('other', { expiresAt: 1 })]);
  await at.journal.recover(BOUNDS, () => []);
  expect((await at.journal.part('secret'))?.part.text).toBe('****');
  expect((await at.journal.part('other'))?.part.text).toBe('part other');
});

test('S13 once they were sent no byte of such texts is left in the file', async () => {
  await using at = await setup();
  for (let n = 0; n < 20; n += 1) {
    const text = (code: string) => `${'x'.repeat(n * 7)} the code is ${code}`;
    const key = `secret-${n}`;
    const secret = part(key, { part: outbound({ key, text: text(`CODE${n}`), keptAs: text('*****') }) });
    await at.journal.enqueue([secret, part(`other-${n}`)]);
    for (const { seq } of await at.journal.pending(LANE, 2)) {
      await at.journal.sending(seq);
      await at.journal.settle(seq, { kind: 'sent', platformId: `p${seq}` });
    }
  }
  await at.close();
  const file = (await readFile(at.path)).toString('latin1');
  expect(file.match(/CODE\d+/g)).toBeNull();
  expect(file).toContain('the code is *****');
});

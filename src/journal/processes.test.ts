import { expect, test } from 'vitest';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { openJournal } from './open.ts';

test('processes that run are left to the next boot, those that ended are not', async () => {
  await using dir = await tempDir();
  const options = { dir: dir.path, clock: new FakeClock() };
  const owner = { run: 'telegram:1:7', callId: 'c1' };
  const row = { pgid: 71, started: 'boot/pid:[1]/99', program: 'rg' };
  {
    await using at = await openJournal(options);
    await at.journal.commit([{ kind: 'process', process: { id: 'a', owner, ...row } }]);
    await at.journal.commit([{ kind: 'process', process: { id: 'b', ...row } }]);
    await at.journal.commit([{ kind: 'process', process: { id: 'c', ...row } }]);
    await at.journal.commit([{ kind: 'process', process: { gone: 'b' } }]);
    expect(await at.journal.processes.left()).toEqual([]);
  }
  await using next = await openJournal(options);
  expect(await next.journal.processes.left()).toEqual([
    { id: 'a', owner, ...row },
    { id: 'c', ...row },
  ]);
});

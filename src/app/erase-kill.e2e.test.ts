// An erasure is killed at its writes, and done again.
import { spawnSync } from 'node:child_process';
import { cp } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { filesHolding } from '../testing/bytes-on-disk.ts';
import { tempDir } from '../testing/fakes.ts';
import { isFullLoad } from '../testing/full-load.ts';
import { needs } from '../testing/needs.ts';
import { peopleCli, peopleRig } from '../testing/people-rig.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const EVE = { senderId: '4242424242', senderName: 'Eve Example' };
const ADA = { senderId: 'ada', senderName: 'Ada' };
const GROUP = { chatId: 'group', isGroup: true, mentionsBot: true };
/** In the archive as hers, and in the session as others repeat it. */
const REPEATED = 'the code of the front door is 4711';
const WORDS = [REPEATED, 'CANARYPRIVATE', 'CANARYGROUP', 'CANARYARCHIVE', 'CANARYUPLOAD', EVE.senderId, EVE.senderName];
/** At which of its writes of a kind it is killed; the last lies behind its end. */
const KILLS: readonly (readonly [call: string, step: number, most: number])[] = isFullLoad()
  ? [
      ['pwrite64', 1, 400],
      ['rename', 1, 20],
      ['unlink', 1, 20],
    ]
  : [
      ['pwrite64', 19, 40],
      ['rename', 1, 2],
      ['unlink', 1, 1],
    ];

/** The same as the command does, in a process that has loaded nothing else. */
const CHILD = `
  const [dir] = process.argv.slice(1);
  const { openJournal } = await import('${ROOT}/src/journal/open.ts');
  const { systemClock: clock } = await import('${ROOT}/src/lib/clock.ts');
  const { remainsFor } = await import('${ROOT}/src/app/compose/store.ts');
  const { eraseAlone } = await import('${ROOT}/src/app/erase-alone.ts');
  const opened = await openJournal({ dir, clock, checks: false, sync: 'in-commit', remains: remainsFor({ clock }) });
  const who = { channel: 'test', senderId: '${EVE.senderId}' };
  await opened.journal.commit([{ kind: 'erase', who, by: 'cli' }]);
  const { signal } = new AbortController();
  await eraseAlone(dir, { erasures: opened.people.erasures, clock, signal, onLeft: () => undefined });
  process.exit(7);
`;

test('killed at any write, an erasure is finished by the next call, and leaves nothing', {
  timeout: 3_600_000,
}, async (context) => {
  needs(context, 'strace', '-V');
  await using dir = await tempDir();
  {
    const owner = [{ channel: 'test', chat_id: 'ada', sender_ids: ['ada'] }];
    await using at = await peopleRig({ dir: join(dir.path, 'full'), gateway: { owner } });
    at.channels.test.files.set('f', Buffer.from('CANARYUPLOAD'));
    await at.ask('test', { ...EVE, chatId: EVE.senderId, text: 'CANARYARCHIVE' });
    await at.ask('test', { ...EVE, chatId: EVE.senderId, text: '/new --keep 0' });
    await at.ask('test', { ...EVE, chatId: EVE.senderId, text: 'CANARYPRIVATE' });
    await at.ask('test', { ...EVE, ...GROUP, text: REPEATED });
    await at.ask('test', { ...ADA, ...GROUP, text: '/new --keep 0' });
    await at.ask('test', { ...ADA, ...GROUP, text: `she says ${REPEATED}` });
    await at.ask('test', { ...EVE, ...GROUP, text: 'CANARYGROUP', media: [{ kind: 'document', ref: 'f' }] });
    await at.ask('test', { ...ADA, ...GROUP, text: 'words of Ada' });
    await at.settled();
    await at.stop();
  }
  const seen = { begun: 0, ended: 0 };
  for (const [call, step, most] of KILLS) {
    for (let when = 1; when <= most; when += step) {
      const home = join(dir.path, `${call}-${when}`);
      await cp(join(dir.path, 'full'), home, { recursive: true });
      const kill = ['-f', '-qq', '-o', '/dev/null', '-e', `trace=${call}`, '-e', `inject=${call}:signal=SIGKILL:when=${when}`];
      const data = join(home, 'data');
      const { status } = spawnSync('strace', [...kill, process.execPath, '--input-type=module', '-e', CHILD, data]);
      const cli = peopleCli(home);
      const again = await cli('people', 'erase', 'test:4242424242', '--yes');
      // Where it was over before the kill, nothing is stored any more.
      if (again.code !== 0) expect(again.stderr).toContain('GH1003');
      else if (again.stderr.includes('an earlier erasure')) seen.begun += 1;
      if (status === 7) seen.ended += 1;
      expect([call, when, await filesHolding(data, WORDS)]).toEqual([call, when, []]);
      expect(await filesHolding(data, ['words of Ada'])).not.toEqual([]);
      expect((await cli('people', 'audit', '--verify')).code).toBe(0);
      if (status === 7) break;
    }
  }
  expect(seen.begun).toBeGreaterThan(1);
});

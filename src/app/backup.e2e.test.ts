// What `gatehouse backup` copies while the daemon answers, and a daemon started on the copy.
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, readdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { openJournal } from '../journal/open.ts';
import { systemClock } from '../lib/clock.ts';
import { programLine } from '../testing/child-daemon.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { userText } from '../testing/model-server.ts';
import { telegramScene } from '../testing/telegram/scene.ts';

const ADA = 7;

/** A data directory with a journal, and the command line that copies it. */
async function stopped() {
  const dir = await tempDir();
  const dataDir = join(dir.path, 'data');
  await (await openJournal({ dir: dataDir, clock: systemClock }))[Symbol.asyncDispose]();
  await mkdir(join(dir.path, 'copies'));
  await mkdir(join(dataDir, 'chat'), { mode: 0o700 });
  const line = programLine(dir.path, 'backup', join(dir.path, 'copies/today'), '--data-dir', dataDir);
  return { dir: dir.path, dataDir, ...line, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

test.each(['SIGINT', 'SIGTERM'] as const)('a backup that %s stops leaves nothing', async (signal) => {
  await using at = await stopped();
  // Gigabytes of zeros, which take no room, and seconds to read.
  for (let n = 0; n < 60; n += 1) {
    await writeFile(join(at.dataDir, `history-${n}`), '');
    await truncate(join(at.dataDir, `history-${n}`), 2 ** 30);
  }
  const child = spawn(at.command, at.args, { cwd: at.dir, env: at.env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said += String(chunk);
  });
  await until('it copies', () => said.includes('copying files'));
  child.kill(signal);
  await once(child, 'close');
  expect([child.exitCode, said]).toEqual([130, expect.stringContaining(`GH1010 ${signal} stopped the backup`)]);
  expect(await readdir(join(at.dir, 'copies'))).toEqual([]);
});

test.each(['.', 'chat'])('a backup by a user who may not look into %s of the data directory names whose it is', async (part) => {
  await using at = await stopped();
  const isRoot = process.getuid?.() === 0;
  const nobody = 65_534;
  await chmod(at.dir, 0o755);
  if (isRoot) for (const path of ['copies', 'data', 'data/journal.db']) await chown(join(at.dir, path), nobody, nobody);
  const closed = join(at.dataDir, part);
  if (isRoot) await chown(closed, 0, 0);
  await chmod(closed, isRoot ? 0o700 : 0);
  const user = isRoot ? { uid: nobody, gid: nobody } : {};
  const { status, stderr } = spawnSync(at.command, at.args, { cwd: at.dir, env: at.env, ...user, encoding: 'utf8' });
  await chmod(closed, 0o700);
  expect([status, stderr]).toEqual([
    1,
    expect.stringMatching(/GH1202 this user may not use .*journal\.db[\s\S]*(run this as|chmod)/),
  ]);
  expect(await readdir(join(at.dir, 'copies'))).toEqual([]);
});

test('a backup made under load stops no answer; a daemon started on it knows the conversation and answers nothing twice', async () => {
  await using at = await telegramScene();
  await using elsewhere = await tempDir();
  const copy = join(elsewhere.path, 'data');
  const say = (id: number, text: string) => at.platform.inject({ from: { id, first_name: `P${id}` }, text });
  let asked = 0;
  {
    await using daemon = await at.spawn();
    say(ADA, 'the word is mountain');
    asked += 1;
    await daemon.settled(asked);
    const load = setInterval(() => {
      for (let id = 100; id < 110; id += 1) say(id, `question ${asked + id}`);
      asked += 10;
    }, 50);
    const { command, args, env } = programLine(at.dir, 'backup', copy, '--json', '--data-dir', daemon.dataDir);
    const { stdout } = await promisify(execFile)(command, args, { cwd: at.dir, env });
    clearInterval(load);
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, path: copy, left: [] });
    await daemon.settled(asked);
    await daemon.stop();
  }
  const before = at.texts();
  expect([before.length, new Set(before).size, asked > 20]).toEqual([asked, asked, true]);

  await using restored = await at.spawn({ dir: elsewhere.path });
  say(ADA, 'what was the word?');
  await until('it is answered', () => at.texts().length > before.length);
  // Twice the time that the platform's poll takes: a message that it offers again would have been answered.
  await sleep(2_000);
  await restored.stop();
  const last = at.model.requests.at(-1);
  expect(last && userText(last)).toContain('what was the word?');
  expect(JSON.stringify(last?.body)).toContain('the word is mountain');
  expect(at.texts().slice(before.length)).toHaveLength(1);
});

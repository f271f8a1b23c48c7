// What `gatehouse backup` copies while the daemon answers, and a daemon started on the copy.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { programLine } from '../testing/child-daemon.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { userText } from '../testing/model-server.ts';
import { telegramScene } from '../testing/telegram/scene.ts';

const ADA = 7;

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

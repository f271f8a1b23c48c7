// The daemon as a process: signals, a second one, a message that kills it.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ChildDaemon } from '../testing/child-daemon.ts';
import { gate, until } from '../testing/fakes.ts';
import { callPieces, stream, textPieces, userText } from '../testing/model-server.ts';
import { telegramScene } from '../testing/telegram/scene.ts';

/**
 * Whatever is waited for at the end takes 5 s or more. The process itself takes a while on a busy machine.
 */
const AT_ONCE_MS = 4_500;

test.concurrent('F41 SIGTERM while idle: exit 0 at once, and nothing of this run stays behind', async () => {
  await using at = await telegramScene();
  await using daemon = await at.spawn();
  await daemon.ready();
  const begun = performance.now();
  expect(await daemon.stop()).toEqual({ code: 0, signal: null });
  expect(performance.now() - begun).toBeLessThan(AT_ONCE_MS);
  for (const name of ['daemon.json', 'lock.json']) await expect(readFile(join(daemon.dataDir, name))).rejects.toThrow('ENOENT');
});

test.concurrent('memory that only the start needed is given back once no turn runs', async () => {
  await using at = await telegramScene();
  // Within the process, where the collector comes from: nothing else asks V8 for one.
  const observer = `
    import { syncBuiltinESMExports } from 'node:module';
    import vm from 'node:vm';
    const { runInNewContext } = vm;
    vm.runInNewContext = (code) => {
      const collect = runInNewContext(code);
      return (options) => (collect(options), console.error('collected', code, JSON.stringify(options)));
    };
    syncBuiltinESMExports();
  `;
  const preload = `data:text/javascript;base64,${Buffer.from(observer).toString('base64')}`;
  await using daemon = await at.spawn({ env: { NODE_OPTIONS: `--import=${preload}` } });
  await daemon.ready();
  await until('all garbage is collected', () => daemon.stderr().includes('collected gc {"type":"major"'));
});

test.concurrent('F41 SIGTERM while a channel is still starting: exit 0 without waiting for it', async () => {
  await using at = await telegramScene();
  at.platform.fault({ kind: 'hang', method: 'getMe' });
  await using daemon = await at.spawn();
  await until('the channel waits for the platform', () => at.platform.calls.includes('getMe'));
  const begun = performance.now();
  expect(await daemon.stop()).toEqual({ code: 0, signal: null });
  expect(performance.now() - begun).toBeLessThan(AT_ONCE_MS);
});

test.concurrent('F41 SIGTERM in a turn: it parks after the step under way, exit 0, and resumes without asking again', async () => {
  const held = gate();
  const asks = callPieces({ name: 'list_dir', arguments: { path: '.' } });
  await using at = await telegramScene({
    script: (_request, index) => (index === 0 ? stream(asks, { held: { before: 0, until: held.opened } }) : undefined),
  });
  at.platform.inject({ text: 'look' });
  {
    await using first = await at.spawn();
    await until('the model is asked', () => at.model.requests.length === 1);
    const ended = first.stop();
    await until('it is stopping', () => first.stderr().includes('"stopping"'));
    held.open();
    expect(await ended).toEqual({ code: 0, signal: null });
  }
  expect(at.platform.sends).toEqual([]);
  expect(at.model.requests).toHaveLength(1);
  await using second = await at.start();
  await second.settled(1);
  expect(at.texts()).toEqual(['echo: look']);
  // One call per leg: the first one was not paid for twice.
  expect(at.model.requests).toHaveLength(2);
});

test.concurrent('F41 SIGTERM in a send: the send is finished and recorded before the exit', async () => {
  await using at = await telegramScene();
  const held = gate();
  at.platform.fault({ kind: 'hold', method: 'sendMessage', until: held.opened });
  at.platform.inject({ text: 'hello' });
  {
    await using first = await at.spawn();
    await until('the send is under way', () => at.platform.calls.includes('sendMessage'));
    const ended = first.stop();
    await until('it is stopping', () => first.stderr().includes('"stopping"'));
    held.open();
    expect(await ended).toEqual({ code: 0, signal: null });
  }
  expect(at.texts()).toEqual(['echo: hello']);
  await using second = await at.start();
  const { journal } = await second.settled(1);
  expect(journal.outbox).toMatchObject({ SENT: 1, UNKNOWN: 0 });
  expect(at.platform.sends).toHaveLength(1);
});

test.concurrent('F41 a second SIGTERM ends at once, and what was under way is answered after the next start', async () => {
  await using at = await telegramScene({ script: (_request, index) => (index === 0 ? stream([], { end: 'hang' }) : undefined) });
  at.platform.inject({ text: 'hello' });
  {
    await using first = await at.spawn();
    await until('the model is asked', () => at.model.requests.length === 1);
    first.process.kill('SIGTERM');
    await until('it is stopping', () => first.stderr().includes('"stopping"'));
    const begun = performance.now();
    expect((await first.stop()).code).toBe(1);
    expect(performance.now() - begun).toBeLessThan(AT_ONCE_MS);
  }
  await using second = await at.start();
  await second.settled(1);
  expect(at.texts()).toEqual(['echo: hello']);
});

test.concurrent('SIGHUP without a terminal reads the config again: the channel is replaced in the middle of a turn, and nothing is lost or said twice', async () => {
  await using at = await telegramScene({
    script: (request) => {
      const text = userText(request);
      return text === 'slow' ? stream(textPieces(`echo: ${text}`), { latencyMs: 300 }) : undefined;
    },
  });
  await using daemon = await at.spawn();
  await daemon.ready();
  const entry = {
    type: 'telegram',
    allowed_senders: ['*'],
    settings: { api_root: at.platform.url, poll_timeout_secs: 2, rate_limits: false },
  };
  const config = { ...at.config, model: 'n', gateway: { channels: [entry], http: { port: 1 } } };
  const writeAndHangUp = async (content: object): Promise<void> => {
    await writeFile(join(at.dir, 'config.json'), JSON.stringify(content));
    daemon.process.kill('SIGHUP');
  };
  at.platform.inject({ text: 'slow' });
  await until('the model is asked', () => at.model.requests.length === 1);
  await writeAndHangUp(config);
  await until('the change is told', () => daemon.stderr().includes('"event":"config.applied"'));
  at.platform.inject({ text: 'after it' });
  const status = await daemon.settled(2);
  expect(at.texts()).toEqual(['echo: slow', 'echo: after it']);
  expect(at.model.requests.map(({ body }) => body['model'])).toEqual(['m', 'n']);
  expect(status.config).toMatchObject({
    needsRestart: ['gateway.http.port'],
    applied: {
      changes: [
        { key: 'model', cost: 'live' },
        { key: 'gateway.channels.telegram', cost: 'restart-part', lost: 0 },
        { key: 'gateway.http.port', cost: 'restart-daemon' },
      ],
    },
  });
  expect(await daemon.stop()).toEqual({ code: 0, signal: null });
});

test.concurrent('F42 a second daemon on the same data directory is refused with pid and age, exit 1, and the first goes on', async () => {
  await using at = await telegramScene();
  await using first = await at.spawn();
  const { pid } = await first.ready();
  await using second = await at.spawn();
  expect(await second.ended).toEqual({ code: 1, signal: null });
  expect(second.stderr()).toMatch(
    new RegExp(`^✗ GH1201 another gatehouse \\(pid ${pid}, running for \\d+ s\\) uses \\S+\\n  → .+\\n$`),
  );
  at.platform.inject({ text: 'still there?' });
  await first.settled(1);
  expect(at.texts()).toEqual(['echo: still there?']);
});

test.concurrent('F38 a message that kills the process three times is given up and its sender told; the lane and other chats go on', async () => {
  let running: ChildDaemon | undefined;
  await using at = await telegramScene({
    script: (request) => {
      const text = userText(request);
      if (text === 'POISON') {
        setTimeout(() => running?.process.kill('SIGKILL'), 100);
        return stream([], { end: 'hang' });
      }
      // Slower than the kill, so that it is under way each time.
      return text === 'innocent' ? stream(textPieces(`echo: ${text}`), { latencyMs: 250 }) : undefined;
    },
  });
  at.platform.inject({ chat_id: 1, from: { id: 1 }, text: 'POISON' });
  at.platform.inject({ chat_id: 1, from: { id: 1 }, text: 'after it' });
  at.platform.inject({ chat_id: 2, from: { id: 2 }, text: 'innocent' });
  let starts = 0;
  let ended: Awaited<ChildDaemon['ended']> | undefined;
  while (starts < 8) {
    starts += 1;
    running = await at.spawn();
    // A start that is killed ends its own polling too.
    const settled = running.settled(3).then(
      () => undefined,
      () => running?.ended,
    );
    ended = await Promise.race([running.ended, settled]);
    if (!ended) break;
    expect(ended.signal).toBe('SIGKILL');
  }
  await using last = running;
  expect(starts).toBe(4);
  expect(at.texts(1)).toEqual([expect.stringMatching(/gave up after 3 attempts \(GH2002\)/), 'echo: after it']);
  expect(at.texts(2)).toEqual(['echo: innocent']);
  expect((await last?.status())?.journal.inbox).toMatchObject({ DONE: 2, DEAD: 1 });
});

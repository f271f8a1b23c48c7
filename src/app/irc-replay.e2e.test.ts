/**
 * A daemon behind a bouncer that shows its last lines again, killed and cut off: it answers each question
 * once.
 */
import { expect, test } from 'vitest';
import { Bouncer } from '../simulator/irc/bouncer.ts';
import { tempDir } from '../simulator/temp-dir.ts';
import { startChild } from '../testing/child-daemon.ts';
import { until } from '../testing/fakes.ts';
import { startModelServer } from '../testing/model-server.ts';

test.concurrent('F33 what a bouncer shows again after a kill is answered once, and what was missed is answered', async () => {
  await using bouncer = await new Bouncer({ replays: 'all', caps: ['batch', 'server-time', 'message-tags'] }).listen();
  await using model = await startModelServer({});
  await using dir = await tempDir();
  const settings = { host: '127.0.0.1', port: bouncer.port, tls: false, nick: 'bot' };
  const config = {
    ...{ provider: 'openai', model: 'm', base_url: `${model.url}/v1`, api_key_env: 'TEST_KEY' },
    security: { accept: ['open-without-budget'] },
    gateway: { channels: [{ type: 'irc', allowed_senders: ['*'], settings }], http: { port: 0 } },
  };
  const start = () => startChild({ dir: dir.path, config, env: { TEST_KEY: 'sk-test' } });
  let count = 0;
  const say = (text: string) => {
    count += 1;
    bouncer.say({ from: 'Ada!~ada@home.example', target: 'bot', text, at: Date.now(), msgid: `m${count}` });
  };
  const answers = (text: string) => bouncer.answers.filter((line) => line.endsWith(`echo: ${text}`)).length;
  {
    await using daemon = await start();
    await until('it is in', () => bouncer.connections === 1);
    say('one');
    await until('it is answered', () => answers('one') === 1);
    await daemon.settled(1);
    await daemon.stop('SIGKILL');
  }
  await until('it is gone', () => bouncer.connections === 0);
  say('two');
  {
    await using daemon = await start();
    await until('what was missed is answered', () => answers('two') === 1);
    await daemon.settled(1);
    bouncer.cut();
    await until('it is gone', () => bouncer.connections === 0);
    await until('it is back', () => bouncer.connections === 1);
    say('three');
    await until('the last is answered', () => answers('three') === 1);
    const { journal } = await daemon.settled(2);
    expect(journal.outbox).toMatchObject({ UNKNOWN: 0 });
  }
  expect(['one', 'two', 'three'].map(answers)).toEqual([1, 1, 1]);
  expect(model.requests).toHaveLength(3);
  expect(bouncer.complaints).toEqual([]);
});

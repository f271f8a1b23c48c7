/** Answers where the platform takes no reply, against the simulated platform. */
import { rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { discordSetup } from '../../../src/testing/discord/setup.ts';
import { tempDir } from '../../../src/testing/fakes.ts';
import { UNREADABLE_NOW } from '../../../src/testing/unreadable-file.ts';
import { channel as descriptor } from '../index.ts';

const options = { plain: false, signal: new AbortController().signal };

test('without Read Message History an answer is a message of its own, and so are those behind it', async () => {
  await using at = await discordSetup(descriptor);
  const { channel, proxy, room, say, partOf, sent } = at;
  const question = await say('hello');
  proxy.withoutHistory.add(room);
  expect(await channel.send(partOf(question), options)).toMatchObject({ kind: 'retry', scope: 'part', afterMs: 0 });
  await sent(channel.send(partOf(question), options));
  await sent(channel.send(partOf(await say('and now?'), { key: 'next#0' }), options));
  const bodies = proxy.calls.flatMap(({ call, body }) => (call === `POST /channels/${room}/messages` ? [body] : []));
  expect(bodies.map((body) => 'message_reference' in body)).toEqual([true, false, false]);
  expect(bodies[0]).toMatchObject({ message_reference: { message_id: question.platformId } });
});

test('a file that cannot be read now is sent later, and one that is gone or never can be is refused', async () => {
  await using at = await discordSetup(descriptor);
  await using dir = await tempDir();
  const path = join(dir.path, 'copy');
  await symlink(UNREADABLE_NOW, path);
  const file = { path, name: 'a.txt', mime: 'text/plain', kind: 'document', bytes: 5 } as const;
  const part = at.partOf(await at.say('hello'), { file });
  expect(await at.channel.send(part, options)).toMatchObject({ kind: 'retry', scope: 'part' });
  await rm(path);
  expect(await at.channel.send(part, options)).toMatchObject({ kind: 'refused', reason: 'invalid' });
  await symlink('copy', path);
  expect(await at.channel.send(part, options)).toMatchObject({ kind: 'refused', reason: 'invalid' });
});

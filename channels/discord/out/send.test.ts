/** Answers where the platform takes no reply, against the simulated platform. */
import { expect, test } from 'vitest';
import { discordSetup } from '../../../src/testing/discord/setup.ts';
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

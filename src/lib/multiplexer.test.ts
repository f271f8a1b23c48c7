import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { until } from '../testing/fakes.ts';
import { Multiplexer } from './multiplexer.ts';

/** Two sides, whose bytes arrive in pieces of `size`. */
function pair({ size = 7, maxStreams = 4 } = {}) {
  const messages: string[] = [];
  const streams: Duplex[] = [];
  const broken: string[] = [];
  let under = 0;
  let sent = 0;
  const pieces = (to: () => Multiplexer) => (bytes: Buffer) => {
    under += bytes.length;
    sent += bytes.length;
    setImmediate(() => {
      under -= bytes.length;
      for (let at = 0; at < bytes.length; at += size) to().receive(bytes.subarray(at, at + size));
    });
  };
  const onBroken = (error: Error) => void broken.push(error.message);
  const near: Multiplexer = new Multiplexer({ send: pieces(() => far), onMessage: () => undefined, maxStreams: 0, onBroken });
  const far: Multiplexer = new Multiplexer({
    ...{ send: pieces(() => near), onMessage: (said) => void messages.push(said), maxStreams, onBroken },
    onStream: (stream) => void streams.push(stream),
  });
  return { near, far, messages, streams, broken, underWay: () => under, sent: () => sent };
}

test('messages and streams arrive whole, in any pieces, in both directions', async () => {
  const { near, messages, streams } = pair();
  const stream = near.open();
  near.message('{"größe":1}');
  stream.end('x'.repeat(300_000));
  const answer = text(stream);
  await until('it is open', () => streams.length === 1);
  const [other] = streams;
  expect(await text(other as Duplex)).toHaveLength(300_000);
  other?.end('thank you');
  expect(await answer).toBe('thank you');
  expect(messages).toEqual(['{"größe":1}']);
});

test('a stream that is not read stops with its window, and stops no other', async () => {
  const { near, streams, underWay, sent } = pair({ size: 65_536 });
  const stuck = near.open();
  stuck.end(Buffer.alloc(2_000_000));
  await until('nothing moves', () => underWay() === 0 && sent() > 200_000);
  expect(sent()).toBeLessThan(300_000);
  const other = near.open();
  other.end('quick');
  await until('the other is open', () => streams.length === 2);
  expect(await text(streams[1] as Duplex)).toBe('quick');
  const [first] = streams;
  first?.end();
  expect(await text(first as Duplex)).toHaveLength(2_000_000);
  stuck.resume();
  await until('both sides are done with it', () => stuck.destroyed && first?.destroyed === true);
});

test('a stream that one side leaves is left by the other', async () => {
  const { near, streams } = pair();
  const stream = near.open();
  await until('it is open', () => streams.length === 1);
  stream.destroy();
  await until('the other side hears of it', () => streams[0]?.destroyed === true);
});

test('a side that opens one refused stream after the other is broken off', () => {
  const broken: string[] = [];
  const sent: Buffer[] = [];
  const far = new Multiplexer({
    ...{ send: (bytes) => void sent.push(bytes), onMessage: () => undefined, maxStreams: 1, onStream: () => undefined },
    onBroken: (error) => void broken.push(error.message),
  });
  for (let id = 1; id < 100_000; id += 1) far.receive(frame(1, id, Buffer.alloc(0)));
  expect(broken).toEqual(['too many streams were opened']);
  expect(sent.length).toBeLessThan(1_000);
});

test('one stream too many is closed, and the others stay', async () => {
  const { near, streams, broken } = pair({ maxStreams: 1 });
  const [first, second] = [near.open(), near.open()];
  await until('it is closed', () => second.destroyed);
  first.end('here');
  expect(await text(streams[0] as Duplex)).toBe('here');
  expect(broken).toEqual([]);
});

const frame = (type: number, id: number, payload: Buffer, length = payload.length): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUInt8(type, 0);
  head.writeUInt32BE(id, 1);
  head.writeUInt32BE(length, 5);
  return Buffer.concat([head, payload]);
};

test.each([
  ['a frame of no type', [frame(9, 1, Buffer.alloc(0))], 'of no known type'],
  ['a message that is too long', [frame(0, 0, Buffer.alloc(0), 9 * 1024 ** 2)], 'too long'],
  [
    'more than the window',
    [frame(1, 1, Buffer.alloc(0)), ...Array.from({ length: 9 }, () => frame(2, 1, Buffer.alloc(65_536)))],
    'more than it may',
  ],
  ['a stream twice', [frame(1, 1, Buffer.alloc(0)), frame(1, 1, Buffer.alloc(0))], 'must not be'],
])('%s ends the connection', async (_, frames, reason) => {
  const { far, streams, broken, messages } = pair();
  for (const one of frames) far.receive(one);
  far.receive(frame(0, 0, Buffer.from('later')));
  expect(broken).toEqual([expect.stringContaining(reason)]);
  expect(messages).toEqual([]);
  for (const stream of streams) expect(stream.destroyed).toBe(true);
});

test('a side that may open no streams is not made to have one', () => {
  const { near, broken } = pair();
  near.receive(frame(1, 1, Buffer.alloc(0)));
  expect(broken).toEqual(['a stream was opened that must not be']);
});

/** What a well kept IMAP server cannot be made to do, against one that does it on command. */
import { expect, test } from 'vitest';
import type { Channel } from '../../src/core/channel.ts';
import type { Clock } from '../../src/core/ports.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { TestHost } from '../../src/testing/channel-host.ts';
import { MemoryLogger, outbound } from '../../src/testing/fakes.ts';
import { type ImapServer, startImapServer } from '../../src/testing/imap-server.ts';
import { channel as descriptor } from './index.ts';
import { ownMessageId } from './thread.ts';

const signal = new AbortController().signal;

async function create(
  server: ImapServer,
  settings: Record<string, unknown> = {},
  { clock = systemClock, logger = new MemoryLogger() }: { clock?: Clock; logger?: MemoryLogger } = {},
): Promise<Channel & AsyncDisposable> {
  const parsed = descriptor.settings.parse({
    ...{ imap_host: '127.0.0.1', imap_port: server.port, imap_tls: 'none' },
    ...{ smtp_host: '127.0.0.1', smtp_port: 1, smtp_tls: 'none' },
    ...{ from_address: 'bot@example.test', trust_from: true, find_grace_secs: 0, ...settings },
  });
  const channel = await descriptor.create(parsed, { ...channelDeps(), name: 'email', clock, logger });
  return Object.assign(channel, { [Symbol.asyncDispose]: () => channel.stop() });
}

const PART = outbound({ channel: 'email', account: 'bot@example.test', chatId: 'alice@example.test' });

test('a folder that is not to be had now was not searched: find cannot say', async () => {
  await using server = await startImapServer();
  await using channel = await create(server);
  expect(await channel.find?.(PART, signal)).toBe('absent');
  for (const code of ['[UNAVAILABLE] ', '']) {
    server.refuse = (command) => (command.startsWith('EXAMINE') && looksAgain(server) ? `NO ${code}try later` : undefined);
    expect(await channel.find?.(PART, signal)).toBeUndefined();
  }
});

/** Opening the connection examines the mailbox once; the look after it is the one that counts. */
function looksAgain(server: ImapServer): boolean {
  return (
    server.commands
      .slice(server.commands.findLastIndex((command) => command.startsWith('LOGIN')))
      .filter((command) => command.startsWith('EXAMINE')).length > 1
  );
}

test('a misspelt sent_mailbox is reported at start, and makes no doubt a send that never was', async () => {
  await using server = await startImapServer();
  server.mailboxes.set('Sent', []);
  const host = new TestHost();
  await using channel = await create(server, { sent_mailbox: 'Snet', bcc_self: false });
  await channel.start(host, signal);
  expect(host.states.at(-1)).toEqual({ state: 'degraded', detail: expect.stringMatching(/"Snet".*sent_mailbox/) });
  expect(await channel.find?.(PART, signal)).toBeUndefined();

  const right = new TestHost();
  await using spelt = await create(server, { sent_mailbox: 'Sent', bcc_self: false });
  await spelt.start(right, signal);
  expect(right.state).toBe('healthy');
  expect(await spelt.find?.(PART, signal)).toBe('absent');
  const id = ownMessageId(PART, 'bot@example.test');
  server.mailboxes.set('Sent', [{ uid: 1, raw: `Message-ID: ${id}\r\n\r\nx` }]);
  expect(await spelt.find?.(PART, signal)).toEqual({ platformId: id });
});

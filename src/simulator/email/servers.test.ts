import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { freePorts } from '../free-port.ts';
import type { MailPorts } from './config.ts';
import { mailServersMissing, startMailServers } from './servers.ts';

const NAMES = ['imap', 'imaps', 'lmtp', 'sasl', 'smtp', 'smtps'] as const;

it.skipIf(mailServersMissing())('mail servers that find a port taken start on others', { timeout: 30_000 }, async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const address = taken.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const chosen: MailPorts[] = [];
  const choosePorts = async () => {
    const ports = await freePorts(NAMES);
    chosen.push(chosen.length === 0 ? { ...ports, sasl: address.port } : ports);
    return chosen.at(-1) as MailPorts;
  };
  try {
    await using servers = await startMailServers({ choosePorts });
    expect(servers.imapPort).toBe(chosen[1]?.imap);
    await servers.deliver('From: a@example.test\r\nTo: bot@example.test\r\nSubject: x\r\n\r\nhello\r\n');
    expect(await servers.mailbox('bot')).toHaveLength(1);
  } finally {
    taken.close();
  }
});

it.skipIf(mailServersMissing())('mail servers that never start say what dovecot wrote', { timeout: 60_000 }, async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const address = taken.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const choosePorts = async () => ({ ...(await freePorts(NAMES)), imap: address.port });
  try {
    await expect(startMailServers({ choosePorts })).rejects.toThrow(/Address already in use/);
  } finally {
    taken.close();
  }
});

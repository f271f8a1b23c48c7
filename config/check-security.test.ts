import { expect, test } from 'vitest';
import { checkSecurity } from './check-security.ts';
import { configSchema } from './schema.ts';

function found(config: object): readonly (readonly [severity: string, path: string, id: string])[] {
  return checkSecurity(configSchema.parse(config)).map(({ severity, path, message }) => [
    severity,
    path.join('.'),
    /\[(.+)\]$/.exec(message)?.[1] ?? '',
  ]);
}

const channel = (entry: object, more: object = {}) => found({ ...more, gateway: { channels: [entry] } });

test('a key that would cross the internet in the clear is an error, on every model that the config names', () => {
  const base_url = 'http://api.example.org/v1';
  const config = {
    base_url,
    fallback_models: [{ provider: 'openai', base_url }],
    models: { fast: { provider: 'openai', model: 'm', base_url } },
  };
  expect(found(config)).toEqual([
    ['error', 'base_url', 'model-in-clear'],
    ['error', 'fallback_models.0.base_url', 'model-in-clear'],
    ['error', 'models.fast.base_url', 'model-in-clear'],
  ]);
  const own = [
    'http://127.0.0.1:8000/v1',
    'http://0.0.0.0:8000/v1',
    'http://[::]:8000/v1',
    'http://192.168.1.5/v1',
    'http://gpu:8000',
    'http://[fd00::1]/v1',
    'http://box.lan/v1',
  ];
  for (const url of [...own, 'https://api.example.org/v1']) expect(found({ base_url: url })).toEqual([]);
  for (const url of ['http://8.8.8.8/v1', 'http://172.32.0.1/v1', 'HTTP://API.example.org', 'http://[2001:db8::1]/v1'])
    expect(found({ base_url: url })).toHaveLength(1);
});

test('a login in the clear, and a certificate that nothing checks, are errors outside of one’s own networks', () => {
  const mail = { imap_host: 'imap.example.org', smtp_host: 'smtp.example.org' };
  const settings = { ...mail, imap_tls: 'none', smtp_tls: 'none', tls_reject_unauthorized: false };
  expect(channel({ type: 'email', settings }).map(([severity, path]) => [severity, path])).toEqual([
    ['error', 'gateway.channels.0.settings.imap_tls'],
    ['error', 'gateway.channels.0.settings.smtp_tls'],
    ['error', 'gateway.channels.0.settings.tls_reject_unauthorized'],
  ]);
  expect(channel({ type: 'email', settings: { ...settings, imap_host: '127.0.0.1', smtp_host: 'mail.internal' } })).toEqual([]);
  const irc = { host: 'irc.example.org', tls: false };
  expect(channel({ type: 'irc', settings: irc })).toEqual([]);
  expect(channel({ type: 'irc', settings: { ...irc, password_env: 'IRC_PASSWORD' } })).toHaveLength(1);
});

test('a bot for everyone without a limit on spending is warned of, one with a limit is not', () => {
  const open = { type: 'telegram', allowed_senders: ['1', '*'] };
  const at = 'gateway.channels.0.allowed_senders.1';
  expect(channel(open)).toEqual([['warning', at, 'open-without-budget']]);
  expect(channel(open, { budget: { session_usd: 1 } })).toHaveLength(1);
  expect(channel(open, { budget: { sender_usd: 1 } })).toEqual([]);
  expect(channel(open, { security: { accept: ['open-without-budget'] } })).toEqual([]);
});

test('an entry of an allow-list that no id can match is warned of', () => {
  const lists: Record<string, readonly string[]> = {
    telegram: ['123456789', '@ada', 'ada'],
    discord: ['201000000000000001', 'ada#1234', '<@201000000000000001>'],
    slack: ['U012AB3CD', '@ada', 'ada'],
    email: ['ada@example.org', '@example.org', 'Ada@example.org', 'example.org'],
    twilio: ['+15551234567', '12345', '15551234567', '(555) 123-4567'],
    irc: ['any thing'],
  };
  const wrong = Object.entries(lists).map(([type, allowed_senders]) => channel({ type, allowed_senders }).length);
  expect(wrong).toEqual([2, 2, 2, 3, 2, 0]);
});

test('programs without a sandbox, a policy that asks nothing, and webhooks on every network are warned of', () => {
  const config = {
    sandbox: { mode: 'none' },
    tool_policy: { mode: 'full' },
    gateway: { webhooks: { host: '::', port: 1 } },
  };
  const ids = ['programs-bare', 'mode-full', 'listens-everywhere'] as const;
  expect(found(config).map(([severity, , id]) => [severity, id])).toEqual(ids.map((id) => ['warning', id]));
  expect(found({ ...config, security: { accept: ids } })).toEqual([]);
});

test('a finding says how to mend it, and an error how to mean it', () => {
  const [finding] = checkSecurity(configSchema.parse({ base_url: 'http://api.example.org/v1' }));
  expect(finding?.hint).toBe('write https://; if it is meant, add "model-in-clear" to "security": { "accept": [] }');
});

/**
 * What of a valid config is dangerous. `critical` findings are errors, with which a start ends (exit code
 * 78): a secret would cross the internet in the clear, where every router on its way reads it. An operator
 * who means it names the id in `security.accept`; the others are warnings, and go as well where they are
 * named there.
 */
import { isLoopbackName } from '../src/lib/loopback-name.ts';
import type { Finding } from './problem.ts';
import type { Config } from './schema.ts';
import { RISKS, type RiskId } from './sections/security.ts';

type Entry = Config['gateway']['channels'][number];

interface Risk {
  readonly id: RiskId;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly hint: string;
}

/** By the parsed config with the settings of its channels; each finding has its place in the file. */
export function checkSecurity(config: Config): readonly Finding[] {
  const accepted = new Set<string>(config.security.accept);
  const risks = [...modelRisks(config), ...config.gateway.channels.flatMap(channelRisks(config)), ...policyRisks(config)];
  const found = risks.filter(({ id }) => !accepted.has(id));
  return found.map(({ id, path, message, hint }) => ({
    severity: RISKS[id].stopsStart ? 'error' : 'warning',
    path,
    message: `${message} [${id}]`,
    hint: RISKS[id].stopsStart ? `${hint}; if it is meant, add "${id}" to "security": { "accept": [] }` : hint,
  }));
}

/** Addresses at which keys of models go out. */
function modelRisks(config: Config): readonly Risk[] {
  const { fallback_models: spare, models, embedding, transcription } = config;
  const places: readonly (readonly [readonly PropertyKey[], { readonly base_url?: string | undefined } | undefined])[] = [
    [[], config],
    ...spare.map((entry, at) => [['fallback_models', at], entry] as const),
    ...Object.entries(models).map(([name, entry]) => [['models', name], entry] as const),
    [['embedding'], embedding],
    [['transcription'], transcription && 'base_url' in transcription ? transcription : undefined],
  ];
  return places.flatMap(([at, entry]): Risk[] => {
    const url = entry?.base_url;
    if (url === undefined || !/^http:/i.test(url) || !isPublic(hostOf(url))) return [];
    const path = [...at, 'base_url'];
    const message = `sends the key and all that is said unencrypted to ${hostOf(url)}`;
    return [{ id: 'model-in-clear', path, message, hint: 'write https://' }];
  });
}

function channelRisks(config: Config): (entry: Entry, index: number) => readonly Risk[] {
  return (entry, index) => {
    const at = ['gateway', 'channels', index];
    return [...openRisk(entry, at, config), ...clearRisks(entry, at), ...neverMatching(entry, at)];
  };
}

/** A stranger who finds the bot spends the operator's money. */
function openRisk({ allowed_senders: allowed }: Entry, at: readonly PropertyKey[], { budget }: Config): readonly Risk[] {
  const everyone = allowed.indexOf('*');
  if (everyone < 0 || budget?.daily_usd !== undefined || budget?.sender_usd !== undefined) return [];
  const message = 'lets everyone in, and no limit on spending is set';
  const hint = 'set "budget": { "daily_usd": 2 }, or name who may write';
  return [{ id: 'open-without-budget', path: [...at, 'allowed_senders', everyone], message, hint }];
}

/** Passwords that leave this machine and its network without encryption. */
function clearRisks({ type, settings }: Entry, at: readonly PropertyKey[]): readonly Risk[] {
  const risk = (key: string, host: unknown, message: string, hint: string): readonly Risk[] =>
    typeof host === 'string' && isPublic(host)
      ? [{ id: 'login-in-clear', path: [...at, 'settings', key], message: `${message} to ${host}`, hint }]
      : [];
  const { imap_host: imap, smtp_host: smtp, host } = settings;
  const clear = 'sends the login and every mail unencrypted';
  if (type === 'email')
    return [
      ...(settings['imap_tls'] === 'none' ? risk('imap_tls', imap, clear, 'write "implicit" or "starttls"') : []),
      ...(settings['smtp_tls'] === 'none' ? risk('smtp_tls', smtp, clear, 'write "implicit" or "starttls"') : []),
      ...(settings['tls_reject_unauthorized'] === false
        ? risk('tls_reject_unauthorized', imap, 'gives the login to any machine that says it is the server,', TRUST_CA)
        : []),
    ];
  const hasLogin = ['password_env', 'server_password_env', 'nickserv_password_env'].some((key) => settings[key] !== undefined);
  if (type !== 'irc' || settings['tls'] !== false || !hasLogin) return [];
  return risk('tls', host, 'sends the password unencrypted', 'remove it, and use the port with TLS (6697)');
}

const TRUST_CA = 'remove it, and name the authority of a private certificate in "tls_ca_file"';

/** Ids as these platforms write them. A name in the list looks as if its person were let in. */
const SENDER_IDS: Readonly<Record<string, readonly [RegExp, string]>> = {
  telegram: [/^\d{1,20}$/, 'a number such as 123456789'],
  discord: [/^\d{15,22}$/, 'a number such as 201000000000000001'],
  slack: [/^[UWBA][A-Z0-9]{6,}$/, 'a member id such as U012AB3CD'],
  email: [/^[^\s@A-Z]+@[^\s@A-Z]+$/, 'a whole address in small letters, such as ada@example.org'],
  // A short code has no plus.
  twilio: [/^(?:\+\d{5,15}|\d{3,6}|[a-z]+:.+)$/, 'a number such as +15551234567'],
};

function neverMatching({ type, allowed_senders: allowed }: Entry, at: readonly PropertyKey[]): readonly Risk[] {
  const [pattern, form] = SENDER_IDS[type] ?? [];
  if (!pattern || form === undefined) return [];
  return allowed.flatMap((sender, index): Risk[] => {
    if (sender === '*' || pattern.test(sender)) return [];
    const path = [...at, 'allowed_senders', index];
    const message = 'lets no one in: it is not how this platform writes ids';
    return [{ id: 'sender-never-matches', path, message, hint: `write ${form}` }];
  });
}

function policyRisks({ sandbox, tool_policy: policy, gateway: { webhooks } }: Config): readonly Risk[] {
  const bare: readonly Risk[] =
    sandbox?.mode !== 'none'
      ? []
      : [
          {
            ...{ id: 'programs-bare', path: ['sandbox', 'mode'] },
            message: 'programs of the agent run with all that the user of the daemon may do',
            hint: 'write "auto", and install bubblewrap',
          },
        ];
  const open: readonly Risk[] =
    webhooks.host !== '0.0.0.0' && webhooks.host !== '::'
      ? []
      : [
          {
            ...{ id: 'listens-everywhere', path: ['gateway', 'webhooks', 'host'] },
            message: 'the webhooks can be reached from every network of this machine, without TLS',
            hint: 'write "127.0.0.1", and put a reverse proxy with TLS before it',
          },
        ];
  const full: readonly Risk[] =
    policy.mode !== 'full'
      ? []
      : [
          {
            ...{ id: 'mode-full', path: ['tool_policy', 'mode'] },
            message: 'no tool call of yours is asked about any more',
            hint: 'write "guarded" or "workspace"',
          },
        ];
  return [...bare, ...full, ...open];
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : '';
}

/**
 * Whether what is sent there leaves the networks of the operator. A name without a dot is one of their own.
 */
function isPublic(hostname: string): boolean {
  const host = hostname.toLowerCase().replace(/^\[|\]$/g, '');
  // An address to listen on, copied from what a server prints, leads to this machine.
  if (host === '' || isLoopbackName(host) || ['::1', '0.0.0.0', '::'].includes(host)) return false;
  if (/^(?:10\.|192\.168\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.)/.test(host))
    return false;
  if (host.includes(':')) return !/^(?:fc|fd|fe80)/.test(host);
  return host.includes('.') && !/\.(?:local|internal|lan|home\.arpa|test|localhost)$/.test(host);
}

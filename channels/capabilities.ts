/** What people expect of a channel, a row each. An adapter plays it, or says why its platform has none. */
export const CAPABILITIES = [
  'text in',
  'text out',
  'photo in',
  'photo out',
  'voice in',
  'voice out',
  'audio in',
  'audio out',
  'document in',
  'document out',
  'album in',
  'thread in',
  'thread out',
  'threads of its own',
  'reply in',
  'reply out',
  'earlier messages',
  'reaction in',
  'reaction out',
  'edit in',
  'delete in',
  'edit out',
  'typing',
  'buttons',
  'select menu',
  'command in',
  'command answers for one person',
  'mention in a group',
  'assistant pane',
  'shortcuts',
  'catch-up after a disconnect',
  'second key',
  'proof of a send',
] as const;

export type Capability = (typeof CAPABILITIES)[number];

/**
 * A function plays the row against the platform's peer with a fresh adapter and throws when it does not hold.
 * A string is the platform's reason for having no such thing, e.g. 'SMS has no threads'.
 */
export type CapabilityCases = Readonly<Record<Capability, (() => Promise<void>) | string>> & {
  /** Ends what the cases share, after the last one. */
  readonly close?: () => Promise<void>;
  /** Why the platform's peer cannot be played on this machine, e.g. `not installed: /usr/sbin/postfix`. */
  readonly missing?: string | undefined;
};

/** What delivery makes of the rows above on every channel; played by `contract.ts`. */
const DERIVED: readonly (readonly [row: string, of: Capability | undefined])[] = [
  ['answers grow while they are written', 'edit out'],
  ['choices typed', undefined],
];

/** The table of all channels, and under it why the platform of a channel has no such thing. Markdown. */
export function capabilityTable(channels: Readonly<Record<string, CapabilityCases>>): string {
  const names = Object.keys(channels);
  const mark = (row: Capability | undefined, name: string): string =>
    row !== undefined && typeof channels[name]?.[row] === 'string' ? '-' : '✓';
  const played = CAPABILITIES.map((row) => [row, row] as const);
  const rows = [...played, ...DERIVED].map(([title, row]) => [title, ...names.map((name) => mark(row, name))]);
  const table = [['', ...names], ['---', ...names.map(() => ':-:')], ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return [...table, '', ...names.map((name) => reasonsOf(name, channels[name]))].join('\n');
}

function reasonsOf(name: string, cases: CapabilityCases | undefined): string {
  const rows = new Map<string, Capability[]>();
  for (const row of CAPABILITIES) {
    const reason = cases?.[row];
    if (typeof reason === 'string') rows.set(reason, [...(rows.get(reason) ?? []), row]);
  }
  return `- **${name}**: ${[...rows].map(([reason, which]) => `${which.join(', ')}: ${reason}`).join('; ') || 'everything'}.`;
}

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { CHANNELS } from '../../channels/registry.ts';
import type { AnyChannelDescriptor, ChannelGuarantee } from '../core/channel.ts';
import { COMMAND_MENU } from '../gateway/commands/index.ts';

/** A page with its generated tables as they should be. */
export interface ChannelPage {
  /** From the package's root. */
  readonly path: string;
  readonly text: string;
}

/**
 * The pages whose tables come from the channels' descriptors: the list of channels in channels/README.md, and
 * in the page of a channel its settings, if it has any, and its commands, where its manifest has them.
 * Rejects for a page without the marks that say where its table goes.
 */
export async function renderChannelPages(root: string): Promise<readonly ChannelPage[]> {
  const descriptors = await Promise.all(Object.values(CHANNELS).map((load) => load()));
  const pages = [await page(root, 'channels/README.md', 'channels', channelTable(descriptors))];
  for (const { type, settings, manifest } of descriptors) {
    const path = `channels/${type}/README.md`;
    const table = settingsTable(settings);
    const settled = table === undefined ? undefined : await page(root, path, 'settings', table);
    const told = manifest ? withCommands(settled ?? (await unchanged(root, path)), manifest(COMMAND_MENU)) : settled;
    if (told) pages.push(told);
  }
  return pages;
}

async function unchanged(root: string, path: string): Promise<ChannelPage> {
  return { path, text: await readFile(join(root, path), 'utf8') };
}

async function page(root: string, path: string, mark: string, table: string): Promise<ChannelPage> {
  return filled(await unchanged(root, path), [`<!-- ${mark} -->`, `<!-- /${mark} -->`], table);
}

/** Within a manifest, where a comment of Markdown would be shown; as deep as the marks stand there. */
function withCommands(before: ChannelPage, commands: string): ChannelPage {
  const [mark, indent = ''] = /^( *)# commands$/m.exec(before.text) ?? ['# commands'];
  return filled(before, [mark, `${indent}# /commands`], commands.replace(/^/gm, indent));
}

/** Throws where the page has no such marks. */
function filled({ path, text }: ChannelPage, [from, to]: readonly [string, string], table: string): ChannelPage {
  const [start, end] = [text.indexOf(`${from}\n`), text.indexOf(to)];
  if (start < 0 || end < start) throw new Error(`${path} does not say where its table goes: ${from.trim()} ${to.trim()}`);
  return { path, text: `${text.slice(0, start)}${from}\n${table}\n${text.slice(end)}` };
}

function channelTable(descriptors: readonly AnyChannelDescriptor[]): string {
  const rows = descriptors.map(({ type, guarantee }) => [`[${type}](${type}/README.md)`, ...guaranteeCells(guarantee)]);
  return toTable(['channel', 'inbound class', 'send class', 'what a crash can cost'], rows);
}

function guaranteeCells({ inbound, inboundHow, send, sendHow, loss }: ChannelGuarantee): string[] {
  return [`${inbound}: ${inboundHow}`, sendHow === undefined ? send : `${send}: ${sendHow}`, loss];
}

/** What of a key's JSON Schema the table shows. */
interface SettingSchema {
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  /** Of a key that holds keys of its own. */
  readonly properties?: Readonly<Record<string, SettingSchema>>;
  readonly required?: readonly string[];
}

/** Undefined for a channel without settings. */
function settingsTable(settings: z.ZodType): string | undefined {
  const rows = settingRows(z.toJSONSchema(settings, { io: 'input', unrepresentable: 'any' }) as SettingSchema);
  return rows.length === 0 ? undefined : toTable(['key', 'default', 'meaning'], rows);
}

/** One per key; below a key that holds others theirs, as `key.other`. */
function settingRows({ properties = {}, required = [] }: SettingSchema, before = ''): string[][] {
  return Object.entries(properties).flatMap(([key, schema]) => {
    const value = required.includes(key) ? 'required' : schema.default === undefined ? '' : code(schema.default);
    const meaning = `${(schema.description ?? '').replace(/\.$/, '')}${bounds(schema)}`;
    return [[`\`${before}${key}\``, value, meaning], ...settingRows(schema, `${before}${key}.`)];
  });
}

function code(value: unknown): string {
  if (Array.isArray(value)) return value.map(code).join(', ') || 'none';
  return value === '' ? 'empty' : `\`${String(value)}\``;
}

/** What a value must be, where the words do not say so already. */
function bounds({ description = '', enum: choices = [], minimum, maximum }: SettingSchema): string {
  if (choices.length > 0) {
    const codes = choices.map(code);
    return codes.every((choice) => description.includes(choice)) ? '' : ` (${codes.join(', ')})`;
  }
  const [from, to] = [minimum, maximum].map((bound) => (Math.abs(bound ?? UNBOUNDED) < UNBOUNDED ? bound : undefined));
  if (from === undefined) return to === undefined ? '' : ` (at most ${to})`;
  return to === undefined ? ` (at least ${from})` : ` (${from} to ${to})`;
}

/** What zod states for an integer without a bound. */
const UNBOUNDED = Number.MAX_SAFE_INTEGER;

function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')))];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/**
 * What of a plugin was approved. Each yes is a row of its own and counts for the digest that it was given
 * for: `NAME` the plugin; `NAME/network` and `NAME/effects` what it may do beside; `NAME/server/X` and
 * `NAME/hook/N` what it starts outside the sandbox; `NAME/off` that it is turned off.
 */
import type { Commits, Write } from '../../core/commit.ts';
import type { Pin, Pins } from '../../core/pin.ts';
import type { PluginCode } from './code.ts';

export interface Approval {
  readonly digest: string;
  readonly network: boolean;
  /** The operator believes what the manifest says of the effects of its tools. */
  readonly effects: boolean;
  readonly off: boolean;
  readonly servers: ReadonlySet<string>;
  /** Numbers of hooks in the manifest, from 0. */
  readonly hooks: ReadonlySet<number>;
}

const FLAGS = ['network', 'effects', 'off'] as const;

export type Flag = (typeof FLAGS)[number];

/** A server or a hook of a plugin: `server/files`, `hook/0`. */
export type Part = `server/${string}` | `hook/${number}`;

/** By name of the plugin. */
export async function approvalsOf(pins: Pins): Promise<ReadonlyMap<string, Approval>> {
  const all = await pins.of('plugin');
  const whole = all.filter(({ name }) => !name.includes('/'));
  return new Map(whole.map(({ name, digest }) => [name, approvalOf(name, digest, all)]));
}

function approvalOf(name: string, digest: string, all: readonly Pin[]): Approval {
  // What was said of other bytes says nothing of these.
  const said = all.flatMap((pin) =>
    pin.name.startsWith(`${name}/`) && pin.digest === digest ? [pin.name.slice(name.length + 1)] : [],
  );
  const after = (prefix: string): string[] => said.flatMap((one) => (one.startsWith(prefix) ? [one.slice(prefix.length)] : []));
  return {
    ...{ digest, network: said.includes('network'), effects: said.includes('effects'), off: said.includes('off') },
    servers: new Set(after('server/')),
    hooks: new Set(after('hook/').map(Number)),
  };
}

interface Given {
  readonly flags: readonly Exclude<Flag, 'off'>[];
  readonly by: string;
}

/**
 * Approves the plugin as it is now, in place of what was approved of it before; what was approved of its
 * servers and hooks stays where its bytes are the same.
 */
export async function approvePlugin(
  { journal, pins }: { readonly journal: Commits; readonly pins: Pins },
  { manifest, digest }: PluginCode,
  { flags, by }: Given,
): Promise<void> {
  const { name, version } = manifest;
  const isKept = (pin: Pin): boolean => pin.digest === digest && isPart(pin.name.slice(name.length + 1));
  const gone = (await pins.of('plugin')).filter((pin) => pin.name.startsWith(`${name}/`) && !isKept(pin));
  const given = [name, ...flags.map((flag) => `${name}/${flag}`)];
  const data = {
    digest,
    version,
    tools: manifest.tools.length,
    env: manifest.env,
    ...(flags.length === 0 ? {} : { granted: flags }),
  };
  await journal.commit([
    ...gone.map((pin): Write => ({ kind: 'pin', gone: { kind: 'plugin', name: pin.name } })),
    ...given.map((pin): Write => ({ kind: 'pin', pin: { kind: 'plugin', name: pin, digest, by } })),
    { kind: 'audit', entry: { kind: 'plugin.approved', subject: `plugin:${name}`, by, data } },
  ]);
}

function isPart(said: string): boolean {
  return said.startsWith('server/') || said.startsWith('hook/');
}

/** Approves one server or hook of an approved plugin, or turns the plugin off. */
export async function approvePart(
  journal: Commits,
  { name, digest }: { readonly name: string; readonly digest: string },
  part: Part | 'off',
  by: string,
): Promise<void> {
  const kind = part === 'off' ? 'plugin.disabled' : 'plugin.approved';
  await journal.commit([
    { kind: 'pin', pin: { kind: 'plugin', name: `${name}/${part}`, digest, by } },
    { kind: 'audit', entry: { kind, subject: `plugin:${name}`, by, data: { digest, ...(part === 'off' ? {} : { part }) } } },
  ]);
}

/** Takes one of those back. */
export async function forgetPart(
  journal: Commits,
  { name, digest }: { readonly name: string; readonly digest: string },
  part: Part | 'off',
  by: string,
): Promise<void> {
  const kind = part === 'off' ? 'plugin.enabled' : 'plugin.disabled';
  await journal.commit([
    { kind: 'pin', gone: { kind: 'plugin', name: `${name}/${part}` } },
    { kind: 'audit', entry: { kind, subject: `plugin:${name}`, by, data: { digest, ...(part === 'off' ? {} : { part }) } } },
  ]);
}

/** Takes back every approval of a plugin. Returns whether there was one. */
export async function forgetPlugin(
  { journal, pins }: { readonly journal: Commits; readonly pins: Pins },
  name: string,
  by: string,
): Promise<boolean> {
  const all = (await pins.of('plugin')).filter((pin) => pin.name === name || pin.name.startsWith(`${name}/`));
  if (all.length === 0) return false;
  await journal.commit([
    ...all.map((pin): Write => ({ kind: 'pin', gone: { kind: 'plugin', name: pin.name } })),
    { kind: 'audit', entry: { kind: 'plugin.removed', subject: `plugin:${name}`, by, data: { approvals: all.length } } },
  ]);
  return true;
}

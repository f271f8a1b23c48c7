// directory, approvals -> what of a plugin may be used now, and why the rest may not

import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText, isGatehouseError } from '../../core/errors.ts';
import { isErrno } from '../../lib/errno.ts';
import { oneLine } from '../../lib/one-line.ts';
import { PROGRAM_PATH } from '../../sandbox/probe.ts';
import { type PluginCode, readPlugin } from './code.ts';
import { approvedHooks } from './manifest.ts';
import type { Approval } from './pin.ts';
import { copyDirectory, pluginDirectory, pluginNames } from './store.ts';
import { readTree } from './tree.ts';

const MAX_DETAIL = 500;

/** new: never approved. changed: its files are not those that were approved. */
export type PluginStanding = 'enabled' | 'disabled' | 'new' | 'changed' | 'broken';

export interface PluginState {
  /** Of its directory. */
  readonly name: string;
  readonly standing: PluginStanding;
  /** Why it is broken. */
  readonly detail?: string;
  /** As its directory is now. Absent = that is no plugin. */
  readonly code?: PluginCode;
  readonly approval?: Approval;
  /** The directory that is run. Of an enabled one alone. */
  readonly home?: string;
  /**
   * The hooks of what was approved, and where it lies. Also of one that changed or is broken since, or that
   * this version refuses: a hook may be there to refuse, and must not end because a file was touched.
   * Absent = it is off, or the copy is not whole.
   */
  readonly kept?: { readonly hooks: ReturnType<typeof approvedHooks>; readonly home: string };
}

/** Every directory in `plugins/`, and what was approved and is there no more. */
export async function pluginStates(dataDir: string, approvals: ReadonlyMap<string, Approval>): Promise<readonly PluginState[]> {
  const states: PluginState[] = [];
  for (const name of await knownPlugins(dataDir, approvals)) states.push(await pluginState(dataDir, name, approvals.get(name)));
  return states;
}

export async function knownPlugins(dataDir: string, approvals: ReadonlyMap<string, Approval>): Promise<readonly string[]> {
  return [...new Set([...(await pluginNames(dataDir)), ...approvals.keys()])].toSorted();
}

/** Never rejects for what is wrong with the plugin, only where the machine has too little left to read it. */
export async function pluginState(dataDir: string, name: string, approval: Approval | undefined): Promise<PluginState> {
  const copy = approval && !approval.off ? await readCopy(dataDir, { name, digest: approval.digest }) : undefined;
  const kept = copy && 'home' in copy ? { kept: copy } : {};
  const known = { name, ...(approval ? { approval } : {}), ...kept };
  const broken = (detail: string): PluginState => ({ ...known, standing: 'broken', detail: oneLine(detail, MAX_DETAIL) });
  let code: PluginCode;
  try {
    code = await readPlugin(pluginDirectory(dataDir, name));
  } catch (error) {
    if (isShortage(error)) throw error;
    return broken(reasonOf(error));
  }
  if (code.manifest.name !== name) return broken(`its manifest calls it ${code.manifest.name}, its directory ${name}`);
  const read = { ...known, code };
  if (!approval) return { ...read, standing: 'new' };
  if (approval.digest !== code.digest) return { ...read, standing: 'changed' };
  if (approval.off) return { ...read, standing: 'disabled' };
  const problem = copy && 'problem' in copy ? copy.problem : await missingProgram(code);
  if (problem !== undefined) return { ...broken(problem), code };
  return { ...read, standing: 'enabled', home: copyDirectory(dataDir, { name, digest: code.digest }) };
}

/** What is run must be what was approved, also where the copy was touched. */
async function readCopy(
  dataDir: string,
  about: { readonly name: string; readonly digest: string },
): Promise<NonNullable<PluginState['kept']> | { readonly problem: string }> {
  const home = copyDirectory(dataDir, about);
  const mend = `approve it again with \`gatehouse plugins enable ${about.name}\``;
  try {
    const { digest, manifest } = await readTree(home);
    if (manifest && digest === about.digest) return { hooks: approvedHooks(manifest), home };
    return { problem: `the copy that would be run is not what was approved; ${mend}` };
  } catch (error) {
    if (isShortage(error)) throw error;
    return { problem: `the copy that would be run cannot be read (${reasonOf(error)}); ${mend}` };
  }
}

/** Why its tools would not work, in words that follow its name; undefined = they may. */
export async function missingProgram({ manifest: { binaries } }: PluginCode): Promise<string | undefined> {
  for (const name of binaries) if (!(await isInstalled(name))) return `it needs the program ${name}, which is not installed`;
  return undefined;
}

async function isInstalled(name: string): Promise<boolean> {
  for (const directory of PROGRAM_PATH.split(':')) {
    const found = await access(join(directory, name), constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return true;
  }
  return false;
}

/** It says nothing about the plugin. */
function isShortage(error: unknown): boolean {
  return isErrno(error, 'EMFILE', 'ENFILE', 'ENOMEM');
}

function reasonOf(error: unknown): string {
  return isGatehouseError(error) ? error.message : errorText(error);
}

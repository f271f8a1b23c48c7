import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { configCandidates, type PathOptions } from './paths.ts';

/** Larger files are not read, as `loadConfig` does not. Bytes. */
const MAX_BYTES = 4_000_000;

/**
 * The names of the channels as the config file has them, unchecked. This is for completions, where the schema
 * would cost most of the time that a person waits. A name that is made from a variable is left out. Rejects
 * where no file can be read, or it is no JSON.
 */
export async function channelNamesIn(
  options: Pick<PathOptions, 'cwd' | 'home'> & { readonly file?: string; readonly last?: string | undefined },
): Promise<string[]> {
  const { file, last, cwd } = options;
  const places = [...configCandidates(options), ...(last === undefined ? [] : [last])];
  const text = await firstOf(file === undefined ? places : [resolve(cwd, file)]);
  const config = JSON.parse(text) as { gateway?: { channels?: unknown } } | null;
  const channels = config?.gateway?.channels;
  if (!Array.isArray(channels)) return [];
  const names = channels.map((one: { name?: unknown; type?: unknown } | null) => one?.name ?? one?.type);
  return names.filter((name): name is string => typeof name === 'string' && !name.includes('$'));
}

async function firstOf([file, ...others]: readonly string[]): Promise<string> {
  try {
    if (file === undefined || (await stat(file)).size > MAX_BYTES) return '{}';
    return await readFile(file, 'utf8');
  } catch (error) {
    if (others.length === 0) throw error;
    return await firstOf(others);
  }
}

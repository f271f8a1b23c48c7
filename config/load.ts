import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { GatehouseError } from '../src/core/errors.ts';
import { readFailureText } from '../src/lib/errno.ts';
import { type ChannelSchemas, checkChannels, hintMisplacedSetting } from './check-channels.ts';
import { checkModels } from './check-models.ts';
import { checkSecurity } from './check-security.ts';
import { checkTools } from './check-tools.ts';
import { checkValue, describeChoice, valueAt } from './check-value.ts';
import { excerptAt } from './excerpt.ts';
import { expandVariables } from './expand.ts';
import { JsonSyntaxError, locate, type ParsedJson, parseJson } from './json-positions.ts';
import { migrate } from './migrate.ts';
import { configCandidates, type PathOptions } from './paths.ts';
import { ConfigError, type Finding, formatPath, type Problem } from './problem.ts';
import { type Config, configSchema } from './schema.ts';

export interface LoadOptions extends PathOptions, ChannelSchemas {
  /** `--config`: used alone, and must exist. Relative to `cwd`. */
  readonly file?: string;
  /** Absolute; looked for after all other places. Without effect beside `file`. */
  readonly last?: string | undefined;
  /** What `file` holds, where it was read already. */
  readonly bytes?: Uint8Array;
  /** Names `provider` may have, in small letters, each with the provider's own; absent: any name is taken. */
  readonly providers?: ReadonlyMap<string, string>;
  /**
   * Looks at a config without errors for what its form does not tell; what it finds is given its place in the
   * file.
   */
  readonly judge?: (config: Config) => readonly Finding[] | Promise<readonly Finding[]>;
}

export interface LoadedConfig {
  readonly config: Config;
  /** Absolute; absent when there is no file and the defaults apply. */
  readonly file?: string;
  /** SHA-256 of the file as read, hex: what `ConfigWatch` compares with. */
  readonly hash?: string;
  readonly warnings: readonly Problem[];
}

/** A larger file is refused before it is parsed. */
export const MAX_BYTES = 4_000_000;

/** Bounds of spec F2 that are clamped with a warning instead of refused. */
const CLAMPED = [{ path: ['gateway', 'max_history'], min: 1, max: 1000 }] as const;

/**
 * Finds, reads and checks the config. Rejects with GH1102 when the file cannot be read (or `file`
 * does not exist), and with `ConfigError` (GH1101) that carries every problem at once. No file at all
 * gives the defaults.
 */
export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  const source = await readSource(options);
  const { file, bytes } = source ?? { file: undefined, bytes: Buffer.from('{}') };
  const text = decode(bytes, file);
  const parsed = parse(text, file);
  const { data, findings } = await check(parsed, options);
  const all = [...duplicateProblems(parsed, text, file), ...findings.map((finding) => toProblem(finding, parsed, text, file))];
  // A wrong `settings` object fails the schema of the file and that of its channel: say it once.
  const problems = all.filter((problem, index) => all.findIndex((other) => isSame(problem, other)) === index);
  problems.sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.col ?? 0) - (b.col ?? 0));
  if (!data || problems.some((problem) => problem.severity === 'error')) throw new ConfigError(problems, file);
  if (file === undefined) return { config: data, warnings: [...problems, ...goneProblems(options.last)] };
  return { config: data, file, hash: hashOf(bytes), warnings: problems };
}

/** Where no config is found, though the daemon had one: a bot without its channels would answer no one. */
function goneProblems(last: string | undefined): readonly Problem[] {
  if (last === undefined) return [];
  const message = `the config of the last start is not there any more, and the defaults apply: ${last}`;
  return [
    {
      severity: 'warning',
      path: '',
      message,
      hint: 'put it back, name another with --config, or write one with `gatehouse init`',
    },
  ];
}

function isSame(left: Problem, right: Problem): boolean {
  return left.path === right.path && left.line === right.line && left.col === right.col && left.message === right.message;
}

/** SHA-256 in hex. */
export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

async function readSource(options: LoadOptions): Promise<{ file: string; bytes: Uint8Array } | undefined> {
  const explicit = options.file === undefined ? undefined : resolve(options.cwd, options.file);
  const { last } = options;
  const places = [...configCandidates(options), ...(last === undefined ? [] : [last])];
  for (const file of explicit === undefined ? places : [explicit]) {
    try {
      const bytes = options.bytes ?? (await readFile(file));
      if (bytes.length > MAX_BYTES) throw new GatehouseError('GH1102', `it has more than ${MAX_BYTES} bytes`);
      return { file, bytes };
    } catch (error) {
      const absent = error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
      if (absent && explicit === undefined) continue;
      throw new GatehouseError(
        'GH1102',
        absent ? `there is no file ${file}` : `${file} cannot be read: ${readFailureText(error)}`,
        {
          cause: error,
        },
      );
    }
  }
  return undefined;
}

function decode(bytes: Uint8Array, file: string | undefined): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new ConfigError(
      [withFile({ severity: 'error', path: '', message: 'the file is not valid UTF-8', hint: 'save it as UTF-8' }, file)],
      file,
    );
  }
}

function parse(text: string, file: string | undefined): ParsedJson {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const place = excerptAt(text, { start: error.offset, end: error.offset + 1 });
    const problem: Problem = { severity: 'error', path: '', message: error.message, ...place };
    throw new ConfigError([withFile(error.hint === undefined ? problem : { ...problem, hint: error.hint }, file)], file);
  }
}

interface CheckResult {
  readonly data: Config | undefined;
  readonly findings: readonly Finding[];
}

async function check(parsed: ParsedJson, options: LoadOptions): Promise<CheckResult> {
  const original = parsed.root.value;
  const migrated = migrate(original);
  if (migrated.kind === 'refused') {
    return {
      data: undefined,
      findings: [{ severity: 'error', path: ['version'], message: migrated.message, hint: migrated.hint }],
    };
  }
  const expanded = expandVariables(migrated.value, options.env);
  const findings: Finding[] = expanded.unset.map(({ path, variable }) => ({
    severity: 'warning',
    path,
    message: `the environment variable ${variable} is not set; this is empty now`,
    hint: `export ${variable}=…, or write \${${variable}:-default}`,
  }));
  const { value, clamped } = clamp(expanded.value);
  const checked = checkValue(configSchema, value, migrated.value, true);
  for (const finding of checked.findings) findings.push(await hintMisplacedSetting(finding, value, options));
  findings.push(...clamped, ...checkProviders(migrated.value, value, options.providers), ...checkModels(value, migrated.value));
  const channels = await checkChannels(value, migrated.value, options);
  findings.push(
    ...channels.findings,
    ...checkTools(value, migrated.value, { types: channels.types, providers: options.providers, used: usedProviders(value) }),
  );
  if (!checked.data) return { data: undefined, findings };
  const { gateway } = checked.data;
  const entries = gateway.channels.map((entry, index) => ({ ...entry, settings: channels.settings[index] ?? {} }));
  const data = { ...checked.data, gateway: { ...gateway, channels: entries } };
  if (findings.every(({ severity }) => severity === 'warning')) findings.push(...((await options.judge?.(data)) ?? []));
  return { data, findings: [...findings, ...checkSecurity(data)] };
}

function clamp(value: unknown): { value: unknown; clamped: readonly Finding[] } {
  const copy = structuredClone(value);
  const clamped: Finding[] = [];
  for (const { path, min, max } of CLAMPED) {
    const [section, key] = path;
    const holder = valueAt(copy, [section]);
    const given = valueAt(copy, path);
    if (typeof given !== 'number' || (given >= min && given <= max) || typeof holder !== 'object' || holder === null) continue;
    const used = Math.min(max, Math.max(min, given));
    Reflect.set(holder, key, used);
    clamped.push({ severity: 'warning', path, message: `must be between ${min} and ${max}; ${used} is used` });
  }
  return { value: copy, clamped };
}

/** The names of providers: of the main model, those that stand by, and the named ones. */
function checkProviders(original: unknown, value: unknown, providers: LoadOptions['providers']): readonly Finding[] {
  if (providers === undefined) return [];
  return providerPlaces(value).flatMap((path): Finding[] => {
    const provider = valueAt(value, path);
    if (typeof provider !== 'string' || providers.has(provider.trim().toLowerCase())) return [];
    return [{ severity: 'error', path, ...describeChoice([...providers.keys()], valueAt(original, path)) }];
  });
}

/** As they are written, in lower case. */
function usedProviders(value: unknown): readonly string[] {
  const names = providerPlaces(value).map((path) => valueAt(value, path));
  return names.flatMap((name) => (typeof name === 'string' ? [name.trim().toLowerCase()] : []));
}

function providerPlaces(value: unknown): readonly (readonly PropertyKey[])[] {
  const spare = valueAt(value, ['fallback_models']);
  const named = valueAt(value, ['models']);
  const entries: PropertyKey[][] = [
    [],
    ...(Array.isArray(spare) ? spare.map((_, at): PropertyKey[] => ['fallback_models', at]) : []),
    ...(typeof named === 'object' && named !== null ? Object.keys(named).map((name): PropertyKey[] => ['models', name]) : []),
  ];
  return entries.map((entry) => [...entry, 'provider']);
}

function toProblem(finding: Finding, parsed: ParsedJson, text: string, file: string | undefined): Problem {
  const { node, depth } = locate(parsed.root, finding.path);
  const exact = depth === finding.path.length;
  let span = node.span;
  if (finding.atKey) span = locate(parsed.root, finding.path.slice(0, -1)).node.keys?.get(String(finding.path.at(-1))) ?? span;
  // Something is missing here: point at the bracket that opens the place, not at the whole object.
  else if (!exact || node.children) span = { start: span.start, end: span.start + 1 };
  const problem = { severity: finding.severity, path: formatPath(finding.path), message: finding.message };
  const hinted = finding.hint === undefined ? problem : { ...problem, hint: finding.hint };
  // What is wrong in place of a variable's name may be the secret.
  const hidden = !finding.atKey && finding.path.some((step) => /(?:^|_)envs?$/.test(String(step)));
  return file === undefined ? hinted : { ...hinted, file, ...excerptAt(text, span, hidden) };
}

function duplicateProblems(parsed: ParsedJson, text: string, file: string | undefined): readonly Problem[] {
  return parsed.duplicates.map(({ key, span }) =>
    withFile(
      {
        severity: 'error',
        path: '',
        message: `the key "${key}" is written twice in this object`,
        hint: 'keep one',
        ...excerptAt(text, span),
      },
      file,
    ),
  );
}

function withFile(problem: Problem, file: string | undefined): Problem {
  return file === undefined ? problem : { ...problem, file };
}

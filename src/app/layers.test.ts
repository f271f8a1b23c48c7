import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');

/** Imports go only downwards, and units of one rank do not import each other (design.md 2). */
const RANKS: readonly (readonly string[])[] = [
  ['src/core', 'src/lib'],
  [
    ...['channels', 'config', 'sessions', 'src/bus', 'src/egress', 'src/journal', 'src/llm', 'src/delivery', 'src/workspace'],
    'src/sandbox',
  ],
  ['src/media'],
  ['src/tools', 'src/operator'],
  ['src/agent'],
  ['src/runs'],
  ['src/gateway', 'src/schedule', 'src/tasks'],
  ['src/http'],
  ['src/app'],
  ['src/simulator'],
  ['src/cli'],
];
const RANK = new Map(RANKS.flatMap((units, rank) => units.map((unit) => [unit, rank] as const)));
/** One role, one file name in every channel; behind each name are those that it must not go by. */
const ROLES: Readonly<Record<string, readonly string[]>> = {
  channel: ['adapter', 'bot'],
  client: ['api', 'calls'],
  transport: ['http', 'fetch'],
  failure: ['call-error', 'error', 'errors', 'failures', 'fault', 'faults', 'refusal', 'refusals'],
  ids: ['id', 'jid', 'snowflake', 'wire'],
  connect: ['connection', 'session', 'socket', 'socket-mode'],
  receive: ['listen', 'loop', 'poll', 'receiver'],
  webhook: ['callbacks', 'hook', 'http-mode'],
  request: ['callback', 'signature', 'verify'],
  intake: ['queue'],
  cursor: ['offset', 'position'],
  'catch-up': ['backlog', 'history'],
  albums: ['album'],
  download: ['fetch-file', 'files'],
  send: ['sender', 'sending'],
  find: ['finder', 'lookup'],
  format: ['markdown', 'render'],
};
/**
 * What lies on top of every channel's folder. From a dozen files on, the rest lies in `in`, `out` and `wire`.
 */
const TOP = ['index', 'settings', 'channel', 'login', 'logout'];
const DOZEN = 12;
/** Data, which needs no sorting and counts for none. */
const FACTS = 'platform-limits.ts';
/** Tests of a channel as a whole; every other one stands beside the file that it tests. */
const WHOLE_CHANNEL = ['contract', 'crabline', 'mutated', 'openapi', 'streaming'];
const FILE_CEILING = 300;
const TEST_CEILING = 600;
const COMMENT_COLUMNS = 110;

function sources(dir: string): string[] {
  return readdirSync(join(ROOT, dir), { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) return entry.name === 'fixtures' ? [] : sources(path);
    return /\.(ts|mjs)$/.test(entry.name) ? [path] : [];
  });
}

const ALL = ['src', 'channels', 'config', 'sessions'].flatMap(sources);
const isSuite = (file: string) => /(?:\.test|[/-]contract|\/capability-cases|\/bench-case)\.ts$/.test(file);
const isTest = (file: string) => isSuite(file) || file.startsWith('src/testing/');
const SHIPPED = ALL.filter((file) => !isTest(file));

/**
 * `gatehouse simulate` plays the platforms. Only an import on demand brings it in, so that no other command
 * loads any of it.
 */
const SIMULATOR = { from: 'src/cli/wiring.ts', to: 'src/simulator/run.ts' };

/** Relative imports of a file, type-only and dynamic ones included, as paths from the root. */
function imports(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const found = [...text.matchAll(/(?:from\s+|import\s*\(\s*|^import\s+)'(\.[^']+)'/gm)].map((match) => match[1] ?? '');
  return found.map((specifier) => relative(ROOT, resolve(ROOT, dirname(file), specifier)));
}

function linesOf(file: string): number {
  return readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1;
}

function unit(file: string): string {
  const [first = '', second = ''] = file.split('/');
  return first === 'src' ? `src/${second}` : first;
}

/** Of a file in the folder of a channel; undefined for the kit and what all share. */
function channelOf(file: string): string | undefined {
  const [, name] = /^channels\/([^/]+)\//.exec(file) ?? [];
  return name === 'kit' ? undefined : name;
}

const channelFiles = () => ALL.filter((file) => channelOf(file) !== undefined);

describe('the architecture', () => {
  it('knows the rank of every folder that ships', () => {
    expect(SHIPPED.map(unit).filter((name) => !RANK.has(name))).toEqual([]);
  });

  it('imports only downwards, and no sibling', () => {
    const wrong = SHIPPED.flatMap((file) =>
      imports(file)
        .filter(
          (target) =>
            unit(target) !== unit(file) && !((RANK.get(unit(target)) ?? Number.POSITIVE_INFINITY) < (RANK.get(unit(file)) ?? 0)),
        )
        // The ports of rank 0 may use what wraps the platform, and the other way round.
        .filter((target) => !(RANK.get(unit(target)) === 0 && RANK.get(unit(file)) === 0))
        .map((target) => `${file} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('imports src/testing nowhere, and the simulator in one place only, and there on demand', () => {
    const all = SHIPPED.flatMap((from) => imports(from).map((to) => ({ from, to })));
    expect(all.filter(({ to }) => to.startsWith('src/testing/'))).toEqual([]);
    const players = all.filter(({ from, to }) => to.startsWith('src/simulator/') && !from.startsWith('src/simulator/'));
    expect(players.filter(({ to }) => to !== 'src/simulator/options.ts')).toEqual([SIMULATOR]);
    expect(readFileSync(join(ROOT, SIMULATOR.from), 'utf8')).toMatch(/await import\('\.\.\/simulator\/run\.ts'\)/);
  });

  it('has no import cycle', () => {
    const graph = new Map(SHIPPED.map((file) => [file, imports(file)]));
    const state = new Map<string, 'open' | 'done'>();
    const cycles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (state.get(file) === 'done') return;
      if (state.get(file) === 'open') {
        cycles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
        return;
      }
      state.set(file, 'open');
      for (const target of graph.get(file) ?? []) visit(target, [...path, file]);
      state.set(file, 'done');
    };
    for (const file of SHIPPED) visit(file, []);
    expect(cycles).toEqual([]);
  });

  it('gives every channel the same files', () => {
    const folders = readdirSync(join(ROOT, 'channels')).filter(
      (name) => name !== 'kit' && statSync(join(ROOT, 'channels', name)).isDirectory(),
    );
    const registry = readFileSync(join(ROOT, 'channels/registry.ts'), 'utf8');
    for (const name of folders) {
      const has = (file: string) => existsSync(join(ROOT, 'channels', name, file));
      const required = ['index.ts', 'settings.ts', 'channel.ts', 'README.md', `${name}.test.ts`, 'contract.test.ts'];
      const missing = required.filter((file) => !has(file));
      if (!has('inbound.ts') && !has('in/inbound.ts')) missing.push('inbound.ts');
      if (!has('outbound.ts') && !has('out/outbound.ts')) missing.push('outbound.ts');
      expect({ name, missing }).toEqual({ name, missing: [] });
      expect(registry).toContain(`./${name}/index.ts`);
    }
  });

  it('gives a role the same file name in every channel', () => {
    const other = new Map(Object.entries(ROLES).flatMap(([role, names]) => names.map((name) => [name, role] as const)));
    const wrong = channelFiles().flatMap((file) => {
      const role = other.get(basename(file).replace(/(\.test)?\.ts$/, ''));
      return role === undefined ? [] : [`${file}: its role is called ${role}`];
    });
    expect(wrong).toEqual([]);
  });

  it('sorts the files of a channel into in, out and wire from a dozen on, and each role always into the same', () => {
    const shipped = Map.groupBy(
      channelFiles().filter((file) => !isSuite(file) && basename(file) !== FACTS),
      channelOf,
    );
    const below = (file: string) => !TOP.includes(basename(file, '.ts'));
    const wrong = [...shipped].flatMap(([channel = '', files]) => {
      const form = files.length < DOZEN ? /^[^/]+$/ : /^(in|out|wire)\/[^/]+$/;
      return files.filter((file) => below(file) && !form.test(relative(`channels/${channel}`, file)));
    });
    expect(wrong).toEqual([]);
    const sorted = [...shipped.values()].flat().filter((file) => file.split('/').length === 4);
    const places = [...Map.groupBy(sorted, (file) => basename(file))].map(
      ([name, files]) => `${name}: ${[...new Set(files.map((file) => file.split('/')[2]))].join(' and ')}`,
    );
    expect(places.filter((place) => place.includes(' and '))).toEqual([]);
  });

  it('puts the tests of a channel beside the files that they test', () => {
    const alone = channelFiles().filter((file) => {
      const [, channel = '', name = ''] = /^channels\/([^/]+)\/.*?([^/]+)\.test\.ts$/.exec(file) ?? [];
      if (name === '' || [channel, ...WHOLE_CHANNEL].includes(name)) return false;
      return !existsSync(join(ROOT, dirname(file), `${name}.ts`));
    });
    expect(alone).toEqual([]);
  });

  it('imports no channel into another', () => {
    const wrong = channelFiles().flatMap((file) =>
      imports(file)
        .filter((target) => channelOf(target) !== undefined && channelOf(target) !== channelOf(file))
        .map((target) => `${file} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('keeps files small', () => {
    const long = ALL.map((file) => ({ file, lines: linesOf(file) }))
      .filter(({ file, lines }) => lines > (isSuite(file) ? TEST_CEILING : FILE_CEILING))
      .map(({ file, lines }) => `${file}: ${lines}`);
    expect(long).toEqual([]);
  });

  it('keeps comments narrow, but for an address', () => {
    const wide = ALL.flatMap((file) =>
      readFileSync(join(ROOT, file), 'utf8')
        .split('\n')
        .map((line, index) => ({ line, at: `${file}:${index + 1}` }))
        .filter(({ line }) => line.length > COMMENT_COLUMNS && /^ *(\/\/|\/\*|\* )/.test(line) && !line.includes('https://'))
        .map(({ at }) => at),
    );
    expect(wide).toEqual([]);
  });

  it('keeps the model layer small: src/llm and src/lib/auth together, without tests, contracts and JSON', () => {
    const lines = SHIPPED.filter((file) => /^src\/(llm|lib\/auth)\//.test(file)).map((file) => ({ file, lines: linesOf(file) }));
    expect(lines.filter((one) => one.lines > 300)).toEqual([]);
    expect(lines.reduce((sum, one) => sum + one.lines, 0)).toBeLessThanOrEqual(9_200);
  });

  it('keeps the composition in daemon.ts and the way of a message through src/gateway small, without tests', () => {
    expect(linesOf('src/app/daemon.ts')).toBeLessThanOrEqual(150);
    // The commands of a chat are a table beside that way: a new one adds a file and changes no step of it.
    const gateway = SHIPPED.filter((file) => file.startsWith('src/gateway/') && !file.startsWith('src/gateway/commands/'));
    expect(gateway.reduce((sum, file) => sum + linesOf(file), 0)).toBeLessThanOrEqual(1_500);
  });

  it('is described by the table in the README', () => {
    const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
    const table = readme.split('## Where a message goes')[1]?.split('\n## ')[0] ?? '';
    const named = [...table.matchAll(/\| `([a-z/]+)\/` \|/g)].map((match) => match[1] ?? '');
    const folders = RANKS.flat().filter((name) => existsSync(join(ROOT, name)));
    expect([...named].sort()).toEqual([...folders].sort());
  });

  it('imports each package in one file only', () => {
    const users = new Map<string, Set<string>>();
    for (const file of SHIPPED) {
      const text = readFileSync(join(ROOT, file), 'utf8');
      for (const match of text.matchAll(/^(import\s+(?!type\b)[^;]*?from|.*\bimport\s*\()\s*'([^'.][^']*)'/gm)) {
        const name = match[2] ?? '';
        if (name.startsWith('node:')) continue;
        users.set(name, (users.get(name) ?? new Set()).add(file));
      }
    }
    // The simulator plays the other side: what it is built with is no part of the daemon.
    for (const [name, files] of users) {
      users.set(name, new Set([...files].filter((file) => !file.startsWith('src/simulator/'))));
    }
    // zod is the language schemas are written in, not a part behind a wrapper.
    users.delete('zod');
    expect([...users].filter(([, files]) => files.size > 1).map(([name, files]) => `${name}: ${[...files].join(', ')}`)).toEqual(
      [],
    );
  });

  it('reads the environment and prints only where the process begins', () => {
    const allowed = /^(src\/(cli|app)|config)\//;
    const offenders = SHIPPED.filter((file) => !allowed.test(file)).filter((file) =>
      /process\.env|console\.(log|error|warn|info)/.test(readFileSync(join(ROOT, file), 'utf8')),
    );
    expect(offenders).toEqual([]);
  });

  it('runs on Node 24', () => {
    expect(process.versions.node).toMatch(/^24\./);
  });
});
